package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// snapshots reads positions of a plan, and makes its statements.
type snapshots struct {
	dialect engine.Dialect
	sel     *selection
	key     []engine.Column
}

// decodeWindows reads a range's begin, and the snapshot that it ends with: "" where it has no end.
func (p snapshots) decodeWindows(r poller.Range) (w window, end string, err error) {
	if w, err = p.decodeWindow(r.After); err != nil {
		return w, "", err
	}
	last, err := p.decodeWindow(r.UpTo)
	switch {
	case err != nil || !last.begun:
		return w, "", err
	case last.open:
		return w, last.upTo.String(), nil
	default:
		return w, last.seen.String(), nil
	}
}

// windowArgs are the driver's arguments of a position's place; nil for none.
func (p snapshots) windowArgs(w *window) (place []any, err error) {
	columns := p.sel.order
	if w.scanning {
		columns = p.key
	}
	for i, scalar := range w.after {
		v, err := p.dialect.Arg(&columns[i], scalar)
		if err != nil {
			return nil, fmt.Errorf("%w: the stored cursor has %s for %q of type %s: %w; start again with: %s",
				poller.ErrConfig, scalar, columns[i].Name, columns[i].Type, err, startAgain)
		}
		place = append(place, v)
	}
	return place, nil
}

// snapshotStatement is the statement of a page with its arguments.
func (p snapshots) snapshotStatement(limit int, w window, end string, also []condition) (st statement, args []any, err error) {
	columns := p.key
	place, err := p.windowArgs(&w)
	if err != nil {
		return st, nil, err
	}
	switch {
	case !w.begun:
		st = scanPage(p.sel, limit, columns, end, nil, also)
	case w.scanning:
		st = scanPage(p.sel, limit, columns, w.seen.String(), place, also)
	default:
		st = windowPage(p.sel, limit, w.seen.String(), end, place, also)
	}
	return st, st.ownArgs(), nil
}

// decodeWindow reads a stored position and holds it against the settings. A position of a row, or of a cursor value, is
// understood too (source__start, an operator's reset, a document from before the mode was exact): all transactions below
// the row's are behind it, so that at most the rows of that one come again.
func (p snapshots) decodeWindow(c change.Cursor) (window, error) {
	if c.IsStart() {
		return window{}, nil
	}
	w, err := p.decodeWindowParts(c)
	if err != nil {
		return window{}, fmt.Errorf("%w: the stored cursor %s does not fit the settings (snapshots over %q, key %v): %w; "+
			"correct source__cursor, source__key and source__late_commits, or start again with: %s", poller.ErrConfig,
			c, p.sel.order[0].Name, columnNames(p.key), err, startAgain)
	}
	w.begun = true
	return w, nil
}

func (p snapshots) decodeWindowParts(c change.Cursor) (w window, err error) {
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
		w.after, err = p.keyPosition(nil, members, p.key)
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
func (p snapshots) keyPosition(pos position, members map[string]json.RawMessage, columns []engine.Column) (position, error) {
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
func (p snapshots) snapshotOfRow(c change.Cursor) (snapshot, error) {
	var s storedCursor
	if err := json.Unmarshal(c, &s); err != nil {
		return snapshot{}, fmt.Errorf("read it: %w", err)
	}
	if s.Kind != transactionKind && s.Kind != integerKind {
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

// snapshotColumns follow a row's: the window's end, the server's present snapshot, whether it is a standby, and whether
// there is no row.
func (p snapshots) snapshotColumns() []engine.Column {
	var columns []engine.Column
	for _, name := range []string{"s2", "now", "standby", "none"} {
		columns = append(columns, engine.Column{Name: name, Value: p.sel.syntax.Words})
	}
	return columns
}

// scanAfter reads the order columns of the rows of a scan that come after one by key.
func (p snapshots) scanAfter(s *selection, last *change.Event, scan *window, limit int) (statement, error) {
	key := p.key
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(last.Key, &members); err != nil {
		return statement{}, fmt.Errorf("read a key: %w", err)
	}
	args := make([]any, len(key))
	for i := range key {
		v, err := p.dialect.Arg(&key[i], members[key[i].Name])
		if err != nil {
			return statement{}, fmt.Errorf("read a key: %w", err)
		}
		args[i] = v
	}
	b := newBuilder(s.syntax)
	b.selectFrom(s, s.columns, limit)
	b.conditions(s, span{also: []condition{func(b *builder, s *selection) {
		behindRow(b, s, key, args)
		b.add(" AND pg_visible_in_snapshot(" + s.column(s.order[0]) + ", ")
		addSnapshot(b, "scan", scan.seen.String())
		b.add(")")
	}}})
	b.add("\nORDER BY ")
	for i := range key {
		b.add(comma(i) + s.column(key[i]))
	}
	b.limit(limit)
	return b.statement(), nil
}
