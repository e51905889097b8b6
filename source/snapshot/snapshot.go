// Package snapshot is about reading a table by PostgreSQL's snapshots. A position is a window between two of them: what
// the later saw and the earlier did not was committed in between, however its transactions overlapped.
//
// A [Snapshot] is pg_snapshot's value. A [Window] is a position, decoded. A [Reader] decodes positions, and makes the
// statements. How the pages follow each other, package source says.
package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Snapshot is PostgreSQL's pg_snapshot: it sees every transaction below xmax but for those in xip, which were open (and
// those below xmin, which had all ended). Its text is xmin:xmax:xip,xip,…
type Snapshot struct {
	XMin, XMax uint64
	XIP        []uint64 // ascending, within xmin and xmax
}

// MaxOpen bounds the open transactions of a snapshot that is stored. A document of 64 KiB may hold eight of them: two
// of the position, and of a backfill those of its place and of both its ends; with up to 20 digits for each transaction
// they are 50 KB.
const MaxOpen = 300

// Parse reads what String writes, and what PostgreSQL does.
func Parse(text string) (Snapshot, error) {
	fault := fmt.Errorf("%.80q is no snapshot, as in 746:750:747,749", text)
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return Snapshot{}, fault
	}
	var s Snapshot
	var err1, err2 error
	s.XMin, err1 = strconv.ParseUint(parts[0], 10, 64)
	s.XMax, err2 = strconv.ParseUint(parts[1], 10, 64)
	if err1 != nil || err2 != nil || s.XMin == 0 || s.XMin > s.XMax {
		return Snapshot{}, fault
	}
	if parts[2] == "" {
		return s, nil
	}
	last := s.XMin
	for part := range strings.SplitSeq(parts[2], ",") {
		xid, err := strconv.ParseUint(part, 10, 64)
		if err != nil || xid < last || xid >= s.XMax {
			return Snapshot{}, fault
		}
		s.XIP = append(s.XIP, xid)
		last = xid
	}
	return s, nil
}

// String is the text that PostgreSQL reads and writes.
func (s Snapshot) String() string {
	b := strconv.AppendUint(nil, s.XMin, 10)
	b = append(b, ':')
	b = strconv.AppendUint(b, s.XMax, 10)
	b = append(b, ':')
	for i, xid := range s.XIP {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, xid, 10)
	}
	return string(b)
}

// UnmarshalText reads what String writes.
func (s *Snapshot) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}

// Equal reports whether two snapshots see the same.
func (s Snapshot) Equal(t Snapshot) bool { return s.XMax == t.XMax && slices.Equal(s.XIP, t.XIP) }

// Sees reports whether the snapshot sees a transaction that was committed.
func (s Snapshot) Sees(xid uint64) bool {
	_, open := slices.BinarySearch(s.XIP, xid)
	return xid < s.XMax && !open
}

// Whole is the transaction below which it sees all.
func (s Snapshot) Whole() uint64 {
	if len(s.XIP) > 0 {
		return s.XIP[0]
	}
	return s.XMax
}

// AtMost is the snapshot with at most n open transactions: one that saw less, up to the next that was open. What it
// does not see comes with the next window.
func (s Snapshot) AtMost(n int) Snapshot {
	if len(s.XIP) <= n {
		return s
	}
	return Snapshot{XMin: s.XMin, XMax: s.XIP[n], XIP: s.XIP[:n]}
}

// Below is the snapshot that sees only what this one sees of the transactions below xid.
func (s Snapshot) Below(xid uint64) Snapshot {
	if xid >= s.XMax {
		return s
	}
	n, _ := slices.BinarySearch(s.XIP, xid)
	return Snapshot{XMin: min(s.XMin, xid), XMax: xid, XIP: s.XIP[:n]}
}

// Following is the transaction after one. The last number that there is, which only a row can carry, stands for itself.
func Following(xid uint64) uint64 { return max(xid, xid+1) }

// everythingBelow is the snapshot that sees all transactions below xid.
func everythingBelow(xid uint64) (Snapshot, error) {
	if xid == 0 {
		return Snapshot{}, errors.New("0 is no transaction's id")
	}
	return Snapshot{XMin: xid, XMax: xid}, nil
}
