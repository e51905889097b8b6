package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/poller"
)

// The kinds of cursors of a source that reads by snapshots: a position between rows, and a row's own.
const (
	snapshotKind    = "snapshot+pk"
	transactionKind = "xid8+pk"
	integerKind     = "integer+pk" // a row's, before the mode was exact
)

// window is a decoded position of a source that reads by snapshots (facts/late-commits.md, PgQ's way). It is one of
//
//	{"kind":"snapshot+pk","scan":S,"after":key}           the scan phase: the rows that S saw, by key
//	{"kind":"snapshot+pk","s1":S}                         everything that S saw is behind it
//	{"kind":"snapshot+pk","s1":S1,"s2":S2,"after":{…}}    within the rows that S2 saw and S1 did not, by (xid, key)
//
// with after absent at the begin of a scan. The zero window is the beginning: a scan whose snapshot is not taken yet.
type window struct {
	// begun says that it is not the beginning, scanning that it is the scan phase.
	begun, scanning bool
	// ofRow says that seen is not a snapshot that was taken, but all transactions below a row's: of those, what is open when
	// the position is first used has to be left out (beginWindow).
	ofRow bool
	// seen is the scan's snapshot, or the one that the window begins with.
	seen snapshot
	// upTo is the snapshot that the window ends with, where one is open.
	open bool
	upTo snapshot
	// after is the last row: its key when scanning, otherwise its transaction and key in the plan's order. Nil for none.
	after position
}

// storedWindow is a window as a checkpoint holds it.
type storedWindow struct {
	Kind  string          `json:"kind"`
	Scan  *snapshot       `json:"scan"`
	S1    *snapshot       `json:"s1"`
	S2    *snapshot       `json:"s2"`
	After json.RawMessage `json:"after"`
}

// rowPlace is a row's place within a window.
type rowPlace struct {
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

// behind is the position at which everything that a snapshot saw is behind.
func behind(s snapshot) change.Cursor {
	return append(strconv.AppendQuote([]byte(`{"kind":"`+snapshotKind+`","s1":`), s.String()), '}')
}

// scanFrom is the position at the begin of a scan.
func scanFrom(s snapshot) change.Cursor {
	return append(strconv.AppendQuote([]byte(`{"kind":"`+snapshotKind+`","scan":`), s.String()), '}')
}

// places returns a function that gives each event its position: the window with the event's own place in it.
func (w *window) places() func(*change.Event) change.Cursor {
	if w.scanning {
		begin := string(scanFrom(w.seen))
		begin = begin[:len(begin)-1] + `,"after":`
		return func(e *change.Event) change.Cursor {
			at := make(change.Cursor, 0, len(begin)+len(e.Key)+1)
			return append(append(append(at, begin...), e.Key...), '}')
		}
	}
	begin := string(behind(w.seen))
	begin = begin[:len(begin)-1] + `,"s2":"` + w.upTo.String() + `","after":{`
	skip := len(`{"kind":"` + transactionKind + `",`)
	return func(e *change.Event) change.Cursor {
		// The row's own cursor is its place, but for the kind: {"kind":"xid8+pk","value":…,"tiebreaker":{…}}.
		at := make(change.Cursor, 0, len(begin)+len(e.Cursor)-skip+1)
		return append(append(append(at, begin...), e.Cursor[skip:]...), '}')
	}
}

// lasting is what of a window's end a crash of the server cannot take back: up to the transaction of the last row.
func (w *window) lasting(end snapshot, last *change.Event) (snapshot, error) {
	var s storedCursor
	if err := json.Unmarshal(last.Cursor, &s); err != nil {
		return end, fmt.Errorf("read a row's transaction: %w", err)
	}
	xid, err := transactionOf(s.Value)
	if err != nil {
		return end, fmt.Errorf("read a row's transaction: %w", err)
	}
	return end.below(max(w.seen.xmax, xid+1)), nil
}

// with is the window as it is once its snapshot is taken.
func (w window) with(upTo snapshot) *window {
	if !w.scanning {
		w.open, w.upTo = true, upTo
	}
	return &w
}

// hold reads what the server said of its snapshots.
func hold(heard [3]string) (upTo, now snapshot, err error) {
	if heard[2] != "false" {
		return upTo, now, fmt.Errorf("%w: source__late_commits=exact: the server that answered is a standby, whose snapshots leave out open transactions, so that rows would be lost: "+
			"connect to the primary (target_session_attrs=read-write), or use overlap", poller.ErrConfig)
	}
	if upTo, err = parseSnapshot(heard[0]); err != nil {
		return upTo, now, fmt.Errorf("read the snapshot: %w", err)
	}
	if now, err = parseSnapshot(heard[1]); err != nil {
		return upTo, now, fmt.Errorf("read the present snapshot: %w", err)
	}
	return upTo, now, nil
}
