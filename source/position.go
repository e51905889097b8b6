package source

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// position is a stored cursor, decoded: the JSON scalar of each order column. It is nil at the beginning, and holds the
// cursor's columns only when it was made by source__start=<value>, which comes after every row of that value.
type position [][]byte

// storedCursor is the form of a cursor in a checkpoint (seeds/001, §4).
type storedCursor struct {
	Kind       string                     `json:"kind"`
	Value      json.RawMessage            `json:"value"`
	Tiebreaker map[string]json.RawMessage `json:"tiebreaker"`
}

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

// startAgain is the command that delivers every row again.
const startAgain = "rowrelay state reset " + poller.AnyDocument + " --to beginning"

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
