package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/poller"
)

// The kinds of cursors of a source that reads by snapshots: a position between rows, and a row's own.
const (
	snapshotKind    = "snapshot+pk"
	transactionKind = "xid8+pk"
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

// decodeWindow reads a stored position and holds it against the settings. A position of a row, or of a cursor value, is
// understood too (source__start, an operator's reset, a document from before the mode was exact): all transactions below
// the row's are behind it, so that at most the rows of that one come again.
func (p *plan) decodeWindow(c change.Cursor) (window, error) {
	if c.IsStart() {
		return window{}, nil
	}
	w, err := p.decodeWindowParts(c)
	if err != nil {
		return window{}, fmt.Errorf("%w: the stored cursor %s does not fit the settings (snapshots over %q, key %v): %w; "+
			"correct source__cursor, source__key and source__late_commits, or start again with: %s", poller.ErrConfig,
			c, p.sel.order[0].Name, columnNames(pick(p.sel.columns, p.key)), err, startAgain)
	}
	w.begun = true
	return w, nil
}

func (p *plan) decodeWindowParts(c change.Cursor) (w window, err error) {
	var tag struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(c, &tag); err != nil {
		return w, fmt.Errorf("read it: %w", err)
	}
	if tag.Kind != snapshotKind {
		w.ofRow = true
		w.seen, err = p.snapshotOfRow(c)
		return w, err
	}
	var s storedWindow
	dec := json.NewDecoder(bytes.NewReader(c))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return w, fmt.Errorf("read it: %w", err)
	}
	switch {
	case s.Scan != nil && s.S1 == nil && s.S2 == nil:
		w.scanning, w.seen = true, *s.Scan
		if s.After == nil {
			return w, nil
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(s.After, &members); err != nil {
			return w, fmt.Errorf("read its place: %w", err)
		}
		w.after, err = p.keyPosition(nil, members, pick(p.sel.columns, p.key))
		return w, err
	case s.Scan != nil || s.S1 == nil || (s.S2 == nil) != (s.After == nil):
		return w, errors.New("it is no snapshot, no window between two, and no scan")
	}
	w.seen = *s.S1
	if s.S2 == nil {
		return w, nil
	}
	w.open, w.upTo = true, *s.S2
	var place rowPlace
	if err := json.Unmarshal(s.After, &place); err != nil {
		return w, fmt.Errorf("read its place: %w", err)
	}
	w.after, err = p.keyPosition(position{place.Value}, place.Tiebreaker, p.sel.order[1:])
	return w, err
}

// keyPosition appends the key's members to a position, in the order of columns.
func (p *plan) keyPosition(pos position, members map[string]json.RawMessage, columns []engine.Column) (position, error) {
	if len(members) != len(p.key) {
		return nil, fmt.Errorf("its key has %d members, not %d", len(members), len(p.key))
	}
	for _, col := range columns {
		pos = append(pos, members[col.Name])
	}
	for _, v := range pos {
		if len(v) == 0 || bytes.Equal(v, null) || v[0] == '{' || v[0] == '[' {
			return nil, fmt.Errorf("its place has no stored value for one of %v", columnNames(columns))
		}
	}
	return pos, nil
}

// snapshotOfRow is the snapshot behind a position of another kind: that of a row, or after all rows of a value.
func (p *plan) snapshotOfRow(c change.Cursor) (snapshot, error) {
	var s storedCursor
	if err := json.Unmarshal(c, &s); err != nil {
		return snapshot{}, fmt.Errorf("read it: %w", err)
	}
	if s.Kind != transactionKind && s.Kind != kindOfCursor(engine.KindInteger) {
		return snapshot{}, fmt.Errorf("its kind is %q, not %q", s.Kind, snapshotKind)
	}
	xid, err := transactionOf(s.Value)
	if err != nil {
		return snapshot{}, fmt.Errorf("read its value: %w", err)
	}
	if s.Tiebreaker == nil {
		xid++ // behind all rows of the value
	}
	return everythingBelow(xid)
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
