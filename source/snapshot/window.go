package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// The kinds of cursors of a source that reads by snapshots: a position between rows, and a row's own.
const (
	positionKind    = "snapshot+pk"
	TransactionKind = "xid8+pk"
	integerKind     = "integer+pk" // a row's, before the mode was exact
)

// Window is a decoded position of a source that reads by snapshots. It is one of
//
//	{"kind":"snapshot+pk","scan":S,"after":key}           the scan phase: the rows that S saw, by key
//	{"kind":"snapshot+pk","s1":S}                         everything that S saw came before it
//	{"kind":"snapshot+pk","s1":S1,"s2":S2,"after":{…}}    within the rows that S2 saw and S1 did not, by (xid, key)
//
// with after absent at the begin of a scan. The zero window is the beginning: a scan whose snapshot is not taken yet.
type Window struct {
	// Begun says that it is not the beginning, scanning that it is the scan phase.
	Begun, Scanning bool
	// OfRow says that seen is not a snapshot that was taken, but all transactions below a row's: of those, what is open
	// when the position is first used has to be left out (beginWindow).
	OfRow bool
	// Seen is the scan's snapshot, or the one that the window begins with.
	Seen Snapshot
	// upTo is the snapshot that the window ends with, where one is open.
	Open bool
	UpTo Snapshot
	// After is the last row: its key when scanning, otherwise its transaction and key in the plan's order. Nil for none.
	After keyset.Position
	// Told is, of a change table, the first transaction whose inserts may not have been told: windows of several pages
	// came before, and a row of such a window that was written again before its page was read has left it. 0 where all
	// were told.
	Told uint64
}

// storedWindow is a window as a checkpoint holds it.
type storedWindow struct {
	Kind  string          `json:"kind"`
	Scan  *Snapshot       `json:"scan"`
	S1    *Snapshot       `json:"s1"`
	S2    *Snapshot       `json:"s2"`
	After json.RawMessage `json:"after"`
	Told  uint64          `json:"told,string"`
}

// rowPosition is a row's place within a window.
type rowPosition struct {
	Value      json.RawMessage            `json:"value"`
	Tiebreaker map[string]json.RawMessage `json:"tiebreaker"`
}

// transactionOf reads a transaction's id as a row has it.
func transactionOf(value json.RawMessage) (uint64, error) {
	text, err := scalar.Text(value)
	if err != nil {
		return 0, err
	}
	xid, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, errors.New("it is no transaction's id")
	}
	return xid, nil
}

// After is the position after everything that a snapshot saw.
func After(s Snapshot) change.Cursor {
	return append(strconv.AppendQuote([]byte(`{"kind":"`+positionKind+`","s1":`), s.String()), '}')
}

// Continued is After at the end of a scan or a window of several pages.
func (w *Window) Continued(s Snapshot) change.Cursor {
	told := w.Told
	switch {
	case w.Scanning || !w.Begun:
		told = 1
	case told == 0:
		told = w.Seen.XMin
	}
	return withTold(After(s), told)
}

// withTold adds the member to a position.
func withTold(at change.Cursor, told uint64) change.Cursor {
	if told == 0 {
		return at
	}
	at = append(at[:len(at)-1], `,"told":"`...)
	return append(strconv.AppendUint(at, told, 10), `"}`...)
}

// ScanFrom is the position at the begin of a scan.
func ScanFrom(s Snapshot) change.Cursor {
	return append(strconv.AppendQuote([]byte(`{"kind":"`+positionKind+`","scan":`), s.String()), '}')
}

// Place gives each event its position: the window with the event's own place in it. They share a few buffers.
func (w *Window) Place(events []change.Event) {
	begin := string(withTold(After(w.Seen), w.Told))
	begin = begin[:len(begin)-1] + `,"s2":"` + w.UpTo.String() + `","after":{`
	if w.Scanning {
		begin = string(ScanFrom(w.Seen))
		begin = begin[:len(begin)-1] + `,"after":`
	}
	var chunk []byte
	for i := range events {
		e := &events[i]
		// The row's own cursor is its place, but for the kind: {"kind":"xid8+pk","value":…,"tiebreaker":{…}}.
		place := []byte(e.Cursor[len(`{"kind":"`+TransactionKind+`",`):])
		if w.Scanning {
			place = e.Key
		}
		n := len(begin) + len(place) + 1
		if cap(chunk)-len(chunk) < n {
			chunk = make([]byte, 0, n*min(len(events)-i, placesOfChunk))
		}
		at := len(chunk)
		chunk = append(append(append(chunk, begin...), place...), '}')
		e.At = chunk[at:len(chunk):len(chunk)]
	}
}

// placesOfChunk is how many positions share a buffer, which lives as long as one of them.
const placesOfChunk = 64

// Lasting is what of a window's end a crash of the server cannot take back: up to the transaction of the last row of
// the page, or up to head, where the highest transaction of all rows is known.
func (w *Window) Lasting(end Snapshot, last *change.Event, head string) (Snapshot, error) {
	value := json.RawMessage(head)
	if head == "" {
		var s keyset.StoredCursor
		if err := json.Unmarshal(last.Cursor, &s); err != nil {
			return end, fmt.Errorf("read a row's transaction: %w", err)
		}
		value = s.Value
	}
	xid, err := transactionOf(value)
	if err != nil {
		return end, fmt.Errorf("read a row's transaction: %w", err)
	}
	return end.Below(max(w.Seen.XMax, Following(xid))), nil
}

// With is the window as it is once its snapshot is taken.
func (w Window) With(upTo Snapshot) *Window {
	if !w.Scanning {
		w.Open, w.UpTo = true, upTo
	}
	return &w
}
