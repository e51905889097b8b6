package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// Reader reads positions of a plan, and makes its statements.
type Reader struct {
	Dialect engine.Dialect
	Sel     *keyset.Selection
	Key     []engine.Column
	// Table, Head and Floor are the expressions that Heard tells of; "" for none.
	Table, Head, Floor string
}

// DecodeRange reads a range's begin, and the snapshot that it ends with: "" where it has no end.
func (p Reader) DecodeRange(r change.Range) (w Window, end string, err error) {
	if w, err = p.Decode(r.After); err != nil {
		return w, "", err
	}
	last, err := p.Decode(r.UpTo)
	switch {
	case err != nil || !last.Begun:
		return w, "", err
	case last.Open:
		return w, last.UpTo.String(), nil
	default:
		return w, last.Seen.String(), nil
	}
}

// Until is the condition that a row comes no later than a position within a scan or a window; nil for any other.
func (p Reader) Until(at change.Cursor) (keyset.Condition, error) {
	w, err := p.Decode(at)
	if err != nil || !w.Scanning && !w.Open {
		return nil, err
	}
	args, err := p.Args(&w)
	if err != nil {
		return nil, err
	}
	return func(b *keyset.Builder, s *keyset.Selection) { coveredBy(b, s, &w, args, p.Key, "until") }, nil
}

// Args are the driver's arguments of a position's place; nil for none.
func (p Reader) Args(w *Window) (place []any, err error) {
	columns := p.Sel.Order
	if w.Scanning {
		columns = p.Key
	}
	for i, scalar := range w.After {
		v, err := p.Dialect.Arg(&columns[i], scalar)
		if err != nil {
			return nil, fmt.Errorf("%w: the stored cursor has %s for %q of type %s: %w; start again with: %s",
				poller.ErrConfig, scalar, columns[i].Name, columns[i].Type, err, keyset.StartAgain)
		}
		place = append(place, v)
	}
	return place, nil
}

// Statement is the statement of a page with its arguments.
func (p Reader) Statement(limit int, w Window, end string, also []keyset.Condition) (st keyset.Statement, args []any,
	err error) {
	place, err := p.Args(&w)
	if err != nil {
		return st, nil, err
	}
	switch {
	case !w.Begun:
		st = p.ScanPage(limit, end, nil, also)
	case w.Scanning:
		st = p.ScanPage(limit, w.Seen.String(), place, also)
	default:
		st = p.WindowPage(limit, &w, end, place, also)
	}
	return st, st.OwnArgs(), nil
}

// Decode reads a stored position and holds it against the settings. A position of a row, or of a cursor value, is
// understood too (source__start, an operator's reset, a document from before the mode was exact): all transactions
// below the row's are covered by it, so that at most the rows of that one come again.
func (p Reader) Decode(c change.Cursor) (Window, error) {
	if c.IsStart() {
		return Window{}, nil
	}
	w, err := p.decodeWindowParts(c)
	if err != nil {
		return Window{}, fmt.Errorf("%w: the stored cursor %s does not fit the settings (snapshots over %q, key %v): %w; "+
			"correct source__cursor, source__key and source__late_commits, or start again with: %s", poller.ErrConfig,
			c, p.Sel.Order[0].Name, keyset.ColumnNames(p.Key), err, keyset.StartAgain)
	}
	w.Begun = true
	return w, nil
}

func (p Reader) decodeWindowParts(c change.Cursor) (w Window, err error) {
	var tag struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(c, &tag); err != nil {
		return w, fmt.Errorf("read it: %w", err)
	}
	if tag.Kind != positionKind {
		w.OfRow = true
		w.Seen, err = p.OfRow(c)
		return w, err
	}
	var s storedWindow
	if err := change.Strict(c, &s); err != nil {
		return w, fmt.Errorf("read it: %w", err)
	}
	switch {
	case s.Scan != nil && s.S1 == nil && s.S2 == nil:
		w.Scanning, w.Seen = true, *s.Scan
		if s.After == nil {
			return w, nil
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(s.After, &members); err != nil {
			return w, fmt.Errorf("read its place: %w", err)
		}
		w.After, err = p.keyPosition(nil, members, p.Key)
		return w, err
	case s.Scan != nil || s.S1 == nil || (s.S2 == nil) != (s.After == nil):
		return w, errors.New("it is no snapshot, no window between two, and no scan")
	}
	w.Seen, w.Told = *s.S1, s.Told
	if s.S2 == nil {
		return w, nil
	}
	w.Open, w.UpTo = true, *s.S2
	var place rowPosition
	if err := json.Unmarshal(s.After, &place); err != nil {
		return w, fmt.Errorf("read its place: %w", err)
	}
	w.After, err = p.keyPosition(keyset.Position{place.Value}, place.Tiebreaker, p.Sel.Order[1:])
	return w, err
}

// keyPosition appends the key's members to a position, in the order of columns.
func (p Reader) keyPosition(pos keyset.Position, members map[string]json.RawMessage,
	columns []engine.Column) (keyset.Position, error) {
	if len(members) != len(p.Key) {
		return nil, fmt.Errorf("its key has %d members, not %d", len(members), len(p.Key))
	}
	for _, col := range columns {
		pos = append(pos, members[col.Name])
	}
	for _, v := range pos {
		if len(v) == 0 || bytes.Equal(v, keyset.Null) || v[0] == '{' || v[0] == '[' {
			return nil, fmt.Errorf("its place has no stored value for one of %v", keyset.ColumnNames(columns))
		}
	}
	return pos, nil
}

// OfRow is the snapshot of a position of another kind: that of a row, or after all rows of a value.
func (p Reader) OfRow(c change.Cursor) (Snapshot, error) {
	var s keyset.StoredCursor
	if err := json.Unmarshal(c, &s); err != nil {
		return Snapshot{}, fmt.Errorf("read it: %w", err)
	}
	if s.Kind != TransactionKind && s.Kind != integerKind {
		return Snapshot{}, fmt.Errorf("its kind is %q, not %q", s.Kind, positionKind)
	}
	xid, err := transactionOf(s.Value)
	if err != nil {
		return Snapshot{}, fmt.Errorf("read its value: %w", err)
	}
	if s.Tiebreaker == nil {
		xid = Following(xid) // after all rows of the value
	}
	return everythingBelow(xid)
}

// ScanAfter reads the order columns of the rows of a scan that come after one by key.
func (p Reader) ScanAfter(s *keyset.Selection, last *change.Event, scan *Window, limit int) (keyset.Statement, error) {
	key := p.Key
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(last.Key, &members); err != nil {
		return keyset.Statement{}, fmt.Errorf("read a key: %w", err)
	}
	args := make([]any, len(key))
	for i := range key {
		v, err := p.Dialect.Arg(&key[i], members[key[i].Name])
		if err != nil {
			return keyset.Statement{}, fmt.Errorf("read a key: %w", err)
		}
		args[i] = v
	}
	b := keyset.NewBuilder(s.Syntax)
	b.SelectFrom(s, s.Columns, limit)
	b.Conditions(s, keyset.Span{Also: []keyset.Condition{func(b *keyset.Builder, s *keyset.Selection) {
		afterRow(b, s, key, args)
		b.Add(" AND pg_visible_in_snapshot(" + s.Column(s.Order[0]) + ", ")
		addSnapshot(b, "scan", scan.Seen.String())
		b.Add(")")
	}}})
	b.Add("\nORDER BY ")
	for i := range key {
		b.Add(keyset.Comma(i) + s.Column(key[i]))
	}
	b.Limit(limit)
	return b.Statement(), nil
}
