package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// decode reads a stored cursor and holds it against the settings.
func (p *plan) decode(c change.Cursor) (position, error) {
	if c.IsStart() {
		return nil, nil
	}
	pos, err := p.decodeParts(c)
	if err != nil {
		return nil, fmt.Errorf("%w: the stored cursor %s does not fit the settings (cursor %v, key %v): %w; "+
			"correct source__cursor and source__key, or start again with: %s", poller.ErrConfig,
			c, columnNames(p.sel.order[:p.sel.cursors]), columnNames(pick(p.sel.columns, p.key)), err, startAgain)
	}
	return pos, nil
}

func (p *plan) decodeParts(c change.Cursor) (position, error) {
	var s storedCursor
	dec := json.NewDecoder(bytes.NewReader(c))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	if s.Kind != p.cursorKind {
		return nil, fmt.Errorf("its kind is %q, not %q", s.Kind, p.cursorKind)
	}
	values := []json.RawMessage{s.Value}
	if p.sel.cursors > 1 {
		values = nil
		if err := json.Unmarshal(s.Value, &values); err != nil {
			return nil, fmt.Errorf("read its value: %w", err)
		}
		if len(values) != p.sel.cursors {
			return nil, fmt.Errorf("its value has %d members, not %d", len(values), p.sel.cursors)
		}
	}
	pos := make(position, 0, len(p.sel.order))
	for _, v := range values {
		pos = append(pos, v)
	}
	if s.Tiebreaker == nil {
		return pos, p.checkScalars(pos)
	}
	if len(s.Tiebreaker) != len(p.key) {
		return nil, fmt.Errorf("its tiebreaker has %d members, not %d", len(s.Tiebreaker), len(p.key))
	}
	for _, i := range p.key {
		if _, ok := s.Tiebreaker[p.sel.columns[i].Name]; !ok {
			return nil, fmt.Errorf("its tiebreaker has no %q", p.sel.columns[i].Name)
		}
	}
	for _, col := range p.sel.order[p.sel.cursors:] {
		pos = append(pos, s.Tiebreaker[col.Name])
	}
	return pos, p.checkScalars(pos)
}

func (p *plan) checkScalars(pos position) error {
	for i, v := range pos {
		if len(v) == 0 || bytes.Equal(v, []byte("null")) || v[0] == '{' || v[0] == '[' {
			return fmt.Errorf("it has no scalar value for %q", p.sel.order[i].Name)
		}
	}
	return nil
}

// args turns the positions that rows come after and up to into the driver's arguments, in the order of a statement's
// placeholders.
func (p *plan) args(s statement, after, upTo position) ([]any, error) {
	if len(s.args) == 0 {
		return nil, nil
	}
	n := len(p.sel.order)
	lower, err := p.positionArgs(after)
	if err != nil {
		return nil, err
	}
	upper, err := p.positionArgs(upTo)
	if err != nil {
		return nil, err
	}
	args := make([]any, len(s.args))
	for at, i := range s.args {
		switch {
		case i >= ownValues:
			args[at] = s.values[i-ownValues].arg
		case i >= n:
			args[at] = upper[i-n]
		default:
			args[at] = lower[i]
		}
	}
	return args, nil
}

func (p *plan) positionArgs(pos position) ([]any, error) {
	values := make([]any, len(pos))
	for i, scalar := range pos {
		v, err := p.dialect.Arg(&p.sel.order[i], scalar)
		if err != nil {
			return nil, fmt.Errorf("%w: the stored cursor has %s for %q of type %s: %w; start again with: %s",
				poller.ErrConfig, scalar, p.sel.order[i].Name, p.sel.order[i].Type, err, startAgain)
		}
		values[i] = v
	}
	return values, nil
}

// appendCursor writes a position in its stored form: values are the cursor columns' JSON, key the key's object (nil for
// a position after every row of the values).
func (p *plan) appendCursor(dst []byte, values [][]byte, key []byte) []byte {
	dst = append(dst, `{"kind":"`...)
	dst = append(dst, p.cursorKind...)
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

// encode is the opposite of decode.
func (p *plan) encode(pos position) change.Cursor {
	switch {
	case pos == nil:
		return nil
	case len(pos) < len(p.sel.order):
		return p.appendCursor(nil, pos, nil)
	}
	key := []byte{'{'}
	for n, i := range p.key {
		if n > 0 {
			key = append(key, ',')
		}
		key = append(append(key, p.keyNames[n]...), pos[slices.Index(p.order, i)]...)
	}
	return p.appendCursor(nil, pos[:p.sel.cursors], append(key, '}'))
}

// withoutKey is the position after every row that has the position's cursor value.
func (p *plan) withoutKey(c change.Cursor) (change.Cursor, error) {
	pos, err := p.decode(c)
	if err != nil || pos == nil {
		return nil, err
	}
	return p.appendCursor(nil, pos[:p.sel.cursors], nil), nil
}

// counted reports whether a position is one that rows of a table gave. What a query or view shows is counted elsewhere.
func (p *plan) counted(at change.Cursor) bool {
	var s storedCursor
	return p.sel.query == "" && !p.table.View && !at.IsStart() && json.Unmarshal(at, &s) == nil && s.Tiebreaker != nil
}
