package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// Decode reads a stored cursor and holds it against the settings.
func (p *Plan) Decode(c change.Cursor) (keyset.Position, error) {
	if c.IsStart() {
		return nil, nil
	}
	pos, err := p.decodeParts(c)
	if err != nil {
		return nil, fmt.Errorf("%w: the stored cursor %s does not fit the settings (cursor %v, key %v): %w; "+
			"correct source__cursor and source__key, or start again with: %s", poller.ErrConfig,
			c, keyset.ColumnNames(p.Sel.Order[:p.Sel.Cursors]), keyset.ColumnNames(keyset.Pick(p.Sel.Columns, p.Key)), err,
			keyset.StartAgain)
	}
	return pos, nil
}

func (p *Plan) decodeParts(c change.Cursor) (keyset.Position, error) {
	var s keyset.StoredCursor
	if err := change.Strict(c, &s); err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	if s.Kind != p.CursorKind {
		return nil, fmt.Errorf("its kind is %q, not %q", s.Kind, p.CursorKind)
	}
	values := []json.RawMessage{s.Value}
	if p.Sel.Cursors > 1 {
		values = nil
		if err := json.Unmarshal(s.Value, &values); err != nil {
			return nil, fmt.Errorf("read its value: %w", err)
		}
		if len(values) != p.Sel.Cursors {
			return nil, fmt.Errorf("its value has %d members, not %d", len(values), p.Sel.Cursors)
		}
	}
	pos := make(keyset.Position, 0, len(p.Sel.Order))
	for _, v := range values {
		pos = append(pos, v)
	}
	if s.Tiebreaker == nil {
		return pos, p.checkScalars(pos)
	}
	if len(s.Tiebreaker) != len(p.Key) {
		return nil, fmt.Errorf("its tiebreaker has %d members, not %d", len(s.Tiebreaker), len(p.Key))
	}
	for _, i := range p.Key {
		if _, ok := s.Tiebreaker[p.Sel.Columns[i].Name]; !ok {
			return nil, fmt.Errorf("its tiebreaker has no %q", p.Sel.Columns[i].Name)
		}
	}
	for _, col := range p.Sel.Order[p.Sel.Cursors:] {
		pos = append(pos, s.Tiebreaker[col.Name])
	}
	return pos, p.checkScalars(pos)
}

func (p *Plan) checkScalars(pos keyset.Position) error {
	for i, v := range pos {
		if len(v) == 0 || bytes.Equal(v, []byte("null")) || v[0] == '[' { // an object may be the place of a value
			return fmt.Errorf("it has no scalar value for %q", p.Sel.Order[i].Name)
		}
		if col := &p.Sel.Order[i]; i < p.Sel.Cursors && p.CheckCursorValue(col, v) != nil { // no row gave it
			return fmt.Errorf("%s is no value for %q of type %s, and rows would be passed over", v, col.Name, col.Type)
		}
	}
	return nil
}

// Args turns the positions that rows come after and up to into the driver's arguments, in the order of a statement's
// placeholders.
func (p *Plan) Args(s keyset.Statement, after, upTo keyset.Position) ([]any, error) {
	if len(s.Args) == 0 {
		return nil, nil
	}
	n := len(p.Sel.Order)
	lower, err := p.PositionArgs(after)
	if err != nil {
		return nil, err
	}
	upper, err := p.PositionArgs(upTo)
	if err != nil {
		return nil, err
	}
	args := make([]any, len(s.Args))
	for at, i := range s.Args {
		switch {
		case i >= keyset.OwnValues:
			args[at] = s.Values[i-keyset.OwnValues].Arg
		case i >= n:
			args[at] = upper[i-n]
		default:
			args[at] = lower[i]
		}
	}
	return args, nil
}

// PositionArgs are the driver's arguments of a position.
func (p *Plan) PositionArgs(pos keyset.Position) ([]any, error) {
	values := make([]any, len(pos))
	for i, scalar := range pos {
		v, err := p.Dialect.Arg(&p.Sel.Order[i], scalar)
		if err != nil {
			return nil, fmt.Errorf("%w: the stored cursor has %s for %q of type %s: %w; start again with: %s",
				poller.ErrConfig, scalar, p.Sel.Order[i].Name, p.Sel.Order[i].Type, err, keyset.StartAgain)
		}
		values[i] = v
	}
	return values, nil
}

// AppendCursor writes a position in its stored form: values are the cursor columns' JSON, key the key's object (nil for
// a position after every row of the values).
func (p *Plan) AppendCursor(dst []byte, values [][]byte, key []byte) []byte {
	dst = append(dst, `{"kind":"`...)
	dst = append(dst, p.CursorKind...)
	dst = append(dst, `","value":`...)
	if len(values) == 1 {
		dst = append(dst, values[0]...)
	} else {
		for i, v := range values {
			dst = append(dst, "[,"[min(i, 1)])
			dst = append(dst, v...)
		}
		dst = append(dst, ']')
	}
	if key != nil {
		dst = append(dst, `,"tiebreaker":`...)
		dst = append(dst, key...)
	}
	return append(dst, '}')
}

// Encode is the opposite of decode.
func (p *Plan) Encode(pos keyset.Position) change.Cursor {
	switch {
	case pos == nil:
		return nil
	case len(pos) < len(p.Sel.Order):
		return p.AppendCursor(nil, pos, nil)
	}
	key := []byte{'{'}
	for n, i := range p.Key {
		if n > 0 {
			key = append(key, ',')
		}
		key = append(append(key, p.KeyNames[n]...), pos[slices.Index(p.Order, i)]...)
	}
	return p.AppendCursor(nil, pos[:p.Sel.Cursors], append(key, '}'))
}

// WithoutKey is the position after every row that has the position's cursor value.
func (p *Plan) WithoutKey(c change.Cursor) (change.Cursor, error) {
	pos, err := p.Decode(c)
	if err != nil || pos == nil {
		return nil, err
	}
	return p.AppendCursor(nil, pos[:p.Sel.Cursors], nil), nil
}

// Counted reports whether a position is one that rows of a table gave. What a query or view shows is counted elsewhere.
func (p *Plan) Counted(at change.Cursor) bool {
	var s keyset.StoredCursor
	return p.Sel.Query == "" && !p.Table.View && !at.IsStart() && json.Unmarshal(at, &s) == nil && s.Tiebreaker != nil
}
