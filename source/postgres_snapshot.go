package source

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// snapshot is PostgreSQL's pg_snapshot: it sees every transaction below xmax but for those in xip, which were open (and
// those below xmin, which had all ended). Its text is xmin:xmax:xip,xip,…
type snapshot struct {
	xmin, xmax uint64
	xip        []uint64 // ascending, within xmin and xmax
}

// maxOpen bounds the open transactions of a snapshot that is stored. A document of 64 KiB may hold eight of them: two of the
// position, and of a backfill those of its place and of both its ends; with up to 20 digits for each transaction they
// are 50 KB.
const maxOpen = 300

func parseSnapshot(text string) (snapshot, error) {
	fault := fmt.Errorf("%.80q is no snapshot, as in 746:750:747,749", text)
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return snapshot{}, fault
	}
	var s snapshot
	var err1, err2 error
	s.xmin, err1 = strconv.ParseUint(parts[0], 10, 64)
	s.xmax, err2 = strconv.ParseUint(parts[1], 10, 64)
	if err1 != nil || err2 != nil || s.xmin == 0 || s.xmin > s.xmax {
		return snapshot{}, fault
	}
	if parts[2] == "" {
		return s, nil
	}
	last := s.xmin
	for part := range strings.SplitSeq(parts[2], ",") {
		xid, err := strconv.ParseUint(part, 10, 64)
		if err != nil || xid < last || xid >= s.xmax {
			return snapshot{}, fault
		}
		s.xip = append(s.xip, xid)
		last = xid
	}
	return s, nil
}

// String is the text that PostgreSQL reads and writes.
func (s snapshot) String() string {
	b := strconv.AppendUint(nil, s.xmin, 10)
	b = append(b, ':')
	b = strconv.AppendUint(b, s.xmax, 10)
	b = append(b, ':')
	for i, xid := range s.xip {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, xid, 10)
	}
	return string(b)
}

// UnmarshalText reads what String writes.
func (s *snapshot) UnmarshalText(text []byte) (err error) {
	*s, err = parseSnapshot(string(text))
	return err
}

func (s snapshot) equal(t snapshot) bool { return s.xmax == t.xmax && slices.Equal(s.xip, t.xip) }

// atMost is the snapshot with at most n open transactions: one that saw less, up to the next that was open. What it does
// not see comes with the next window.
func (s snapshot) atMost(n int) snapshot {
	if len(s.xip) <= n {
		return s
	}
	return snapshot{xmin: s.xmin, xmax: s.xip[n], xip: s.xip[:n]}
}

// below is the snapshot that sees only what this one sees of the transactions below xid.
func (s snapshot) below(xid uint64) snapshot {
	if xid >= s.xmax {
		return s
	}
	n, _ := slices.BinarySearch(s.xip, xid)
	return snapshot{xmin: min(s.xmin, xid), xmax: xid, xip: s.xip[:n]}
}

// everythingBelow is the snapshot that sees all transactions below xid.
func everythingBelow(xid uint64) (snapshot, error) {
	if xid == 0 {
		return snapshot{}, errors.New("0 is no transaction's id")
	}
	return snapshot{xmin: xid, xmax: xid}, nil
}
