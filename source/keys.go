package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

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

// keyOf writes the key's object from what a person typed; the cursor's values are given.
func (p *plan) keyOf(typed map[string]string, values [][]byte, cfg *Config) ([]byte, error) {
	columns := pick(p.sel.columns, p.key)
	given := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(typed)) {
		i, err := findColumn(columns, name)
		if err != nil {
			return nil, fmt.Errorf("%w: the key: %w", poller.ErrConfig, err)
		}
		given[columns[i].Name] = typed[name]
	}
	object := []byte{'{'}
	for n := range columns {
		col := &columns[n]
		var inCursor []byte
		if i := slices.Index(p.cursor, p.key[n]); i >= 0 {
			inCursor = values[i]
		}
		text, named := given[col.Name]
		stored := inCursor
		if named {
			var err error
			if stored, err = p.typed("the key's "+col.Name, col, text, cfg); err != nil {
				return nil, err
			}
			if inCursor != nil && !sameValue(col.Value.Kind, stored, inCursor) {
				return nil, fmt.Errorf("%w: the key's %q is %s, and in the cursor it is %s: they are one column", poller.ErrConfig, col.Name, stored, inCursor)
			}
		}
		if stored == nil {
			return nil, fmt.Errorf("%w: the key has no %q: every column of the key is needed (%s)", poller.ErrConfig, col.Name, strings.Join(columnNames(columns), ", "))
		}
		if n > 0 {
			object = append(object, ',')
		}
		object = append(append(object, p.keyNames[n]...), stored...)
	}
	return append(object, '}'), nil
}

// comparable reports whether the database compares the columns' values exactly, and the way back from their JSON is known.
func (p *plan) comparable(at []int) bool {
	for _, col := range p.at(at) {
		switch {
		case col.Value.NoKey != "", col.Value.Kind == engine.KindFloat, col.Value.Kind == engine.KindJSON:
			return false
		}
	}
	return true
}

// noneOf writes that a row's order key is none of these. An order key may hold NULLs, which are equal to each other here:
// what is NULL is known when the statement is written, so that no engine's own operator for it is needed. A key that is
// not one of these columns (a row whose order key has no form stands by itself) is no row's order key.
func (p *plan) noneOf(avoid [][]byte) condition {
	// A power of two of keys, the last one again where there are fewer: there are few different statements then.
	avoid = slices.Clone(avoid)
	for n := len(avoid); len(avoid)&(len(avoid)-1) != 0; {
		avoid = append(avoid, avoid[n-1])
	}
	return func(b *builder, s *selection) {
		columns := p.orderColumns()
		b.add("(1 = 1")
		for _, key := range avoid {
			values, err := decodeMembers(key, columns)
			if err != nil {
				continue
			}
			args := make([]any, len(columns))
			for n, col := range columns {
				if bytes.Equal(values[n], null) {
					continue
				}
				if args[n], err = p.dialect.Arg(col, values[n]); err != nil {
					break
				}
			}
			if err != nil {
				continue
			}
			b.add("\n\tAND (")
			for n, col := range columns {
				if n > 0 {
					b.add(" OR ")
				}
				b.differs(s, col, args[n])
			}
			b.add(")")
		}
		b.add(")")
	}
}
