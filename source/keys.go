package source

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// rowKey is a stored Event.Key, read: its members in the plan's order, and the driver's arguments for them.
type rowKey struct {
	json []byte // as collector.object writes it: what Event.Key is compared with
	args []any
}

// decodeKey reads a stored key and holds it against the settings.
func (p *plan) decodeKey(stored []byte) (rowKey, error) {
	members, err := decodeMembers(stored, p.keyColumns())
	if err != nil {
		return rowKey{}, p.keyFault(stored, err)
	}
	k := rowKey{json: append(make([]byte, 0, len(stored)), '{')}
	for n, col := range p.keyColumns() {
		if bytes.Equal(members[n], null) {
			return rowKey{}, p.keyFault(stored, fmt.Errorf("its %q is null, which identifies no row", col.Name))
		}
		arg, err := p.dialect.Arg(col, members[n])
		if err != nil {
			return rowKey{}, p.keyFault(stored, fmt.Errorf("its %q is no value of type %s: %w", col.Name, col.Type, err))
		}
		if n > 0 {
			k.json = append(k.json, ',')
		}
		k.json = append(append(k.json, p.keyNames[n]...), members[n]...)
		k.args = append(k.args, arg)
	}
	k.json = append(k.json, '}')
	return k, nil
}

func (p *plan) keyFault(stored []byte, err error) error {
	return fmt.Errorf("%w: the stored key %.200s does not fit the settings (key %v): %w; correct source__key, or take the entry out with: rowrelay deadletter purge %s --parked",
		poller.ErrConfig, stored, columnNames(pick(p.sel.columns, p.key)), err, poller.AnyDocument)
}

func (p *plan) keyColumns() []*engine.Column   { return p.at(p.key) }
func (p *plan) orderColumns() []*engine.Column { return p.at(p.orderKey) }

func (p *plan) at(indexes []int) []*engine.Column {
	columns := make([]*engine.Column, len(indexes))
	for n, i := range indexes {
		columns[n] = &p.sel.columns[i]
	}
	return columns
}

// decodeMembers reads a JSON object that has a scalar, or null, for exactly these columns, in any order.
func decodeMembers(object []byte, columns []*engine.Column) ([][]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, fmt.Errorf("read it: expected a JSON object: %w", err)
	}
	if len(members) != len(columns) {
		return nil, fmt.Errorf("it has %d members, not %d", len(members), len(columns))
	}
	values := make([][]byte, len(columns))
	for n, col := range columns {
		v, ok := members[col.Name]
		if !ok {
			return nil, fmt.Errorf("it has no %q", col.Name)
		}
		if v[0] == '{' || v[0] == '[' {
			return nil, fmt.Errorf("its %q is no scalar", col.Name)
		}
		values[n] = v
	}
	return values, nil
}

// byKeys reads the rows with these keys, at most a chunk. Where the catalog does not prove the key, a key may show several
// rows: they come in the order of the cursor.
func (s *selection) byKeys(columns []*engine.Column, keys []rowKey, ordered bool) statement {
	b := newBuilder(s.syntax)
	b.selectFrom(s, s.columns, 0)
	b.conditions(s, span{also: []condition{func(b *builder, s *selection) { b.oneOf(s, columns, keys) }}})
	if ordered {
		b.orderBy(s, "")
	}
	return b.statement()
}

// oneOf writes k IN (x, y) for a key of one column, and (a = x AND b = y OR a = v AND b = w) for others: every engine reads
// both by the key's index, where it does not know, or does not use one for, a list of row values.
func (b *builder) oneOf(s *selection, columns []*engine.Column, keys []rowKey) {
	if len(columns) == 1 {
		b.add(s.column(*columns[0]) + " IN (")
		for i, k := range keys {
			b.add(comma(i))
			b.value(columns[0], k.args[0])
		}
		b.add(")")
		return
	}
	b.add("(")
	for i, k := range keys {
		if i > 0 {
			b.add("\n\tOR ")
		}
		for n, col := range columns {
			if n > 0 {
				b.add(" AND ")
			}
			b.add(s.column(*col) + " = ")
			b.value(col, k.args[n])
		}
	}
	b.add(")")
}
