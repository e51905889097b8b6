package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// DecodeKey reads a stored key and holds it against the settings.
func (p *Plan) DecodeKey(stored []byte) (keyset.Key, error) {
	members, err := decodeMembers(stored, p.KeyColumns())
	if err != nil {
		return keyset.Key{}, p.keyFault(stored, err)
	}
	k := keyset.Key{JSON: append(make([]byte, 0, len(stored)), '{')}
	for n, col := range p.KeyColumns() {
		if bytes.Equal(members[n], keyset.Null) {
			return keyset.Key{}, p.keyFault(stored, fmt.Errorf("its %q is null, which identifies no row", col.Name))
		}
		arg, err := p.Dialect.Arg(col, members[n])
		if err != nil {
			return keyset.Key{}, p.keyFault(stored, fmt.Errorf("its %q is no value of type %s: %w", col.Name, col.Type, err))
		}
		if n > 0 {
			k.JSON = append(k.JSON, ',')
		}
		k.JSON = append(append(k.JSON, p.KeyNames[n]...), members[n]...)
		k.Args = append(k.Args, arg)
	}
	k.JSON = append(k.JSON, '}')
	return k, nil
}

// OrderKeyOf is the order key of a row of which its key alone is known, where it is a part of that.
func (p *Plan) OrderKeyOf(key []byte) ([]byte, error) {
	members, err := decodeMembers(key, p.KeyColumns())
	if err != nil || slices.Equal(p.Key, p.OrderKey) {
		return key, err
	}
	order := []byte{'{'}
	for n, i := range p.OrderKey {
		at := slices.Index(p.Key, i)
		if at < 0 {
			return nil, fmt.Errorf("the order key %v is no part of the key",
				keyset.ColumnNames(keyset.Pick(p.Sel.Columns, p.OrderKey)))
		}
		if n > 0 {
			order = append(order, ',')
		}
		order = append(append(order, p.OrderKeyNames[n]...), members[at]...)
	}
	return append(order, '}'), nil
}

func (p *Plan) keyFault(stored []byte, err error) error {
	return fmt.Errorf("%w: the stored key %.200s does not fit the settings (key %v): %w; correct source__key, or take the entry out with: rowrelay deadletter purge %s --parked",
		poller.ErrConfig, stored, keyset.ColumnNames(keyset.Pick(p.Sel.Columns, p.Key)), err, poller.AnyDocument)
}

// KeyColumns are the key's columns.
func (p *Plan) KeyColumns() []*engine.Column   { return p.at(p.Key) }
func (p *Plan) orderColumns() []*engine.Column { return p.at(p.OrderKey) }

func (p *Plan) at(indexes []int) []*engine.Column {
	columns := make([]*engine.Column, len(indexes))
	for n, i := range indexes {
		columns[n] = &p.Sel.Columns[i]
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
		if v[0] == '[' { // an object may be the place of a value
			return nil, fmt.Errorf("its %q is no scalar", col.Name)
		}
		values[n] = v
	}
	return values, nil
}

// KeyOf writes the key's object from what a person typed; the cursor's values are given.
func (p *Plan) KeyOf(typed map[string]string, values [][]byte, cfg *Config) ([]byte, error) {
	columns := keyset.Pick(p.Sel.Columns, p.Key)
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
		if i := slices.Index(p.Cursor, p.Key[n]); i >= 0 {
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
				return nil, fmt.Errorf("%w: the key's %q is %s, and in the cursor it is %s: they are one column", poller.ErrConfig,
					col.Name, stored, inCursor)
			}
		}
		if stored == nil {
			return nil, fmt.Errorf("%w: the key has no %q: every column of the key is needed (%s)", poller.ErrConfig, col.Name,
				strings.Join(keyset.ColumnNames(columns), ", "))
		}
		if n > 0 {
			object = append(object, ',')
		}
		object = append(append(object, p.KeyNames[n]...), stored...)
	}
	return append(object, '}'), nil
}

// Comparable reports whether the database compares the columns' values exactly, and the way back from their JSON is
// known.
func (p *Plan) Comparable(at []int) bool {
	for _, col := range p.at(at) {
		if col.Value.NotKey() != "" {
			return false
		}
	}
	return true
}

// NoneOf writes that a row's order key is none of these. An order key may hold NULLs, which are equal to each other
// here: what is NULL is known when the statement is written, so that no engine's own operator for it is needed. A key
// that is not one of these columns (a row whose order key has no form stands by itself) is no row's order key.
func (p *Plan) NoneOf(avoid [][]byte) keyset.Condition {
	// A power of two of keys, the last one again where there are fewer: there are few different statements then.
	avoid = slices.Clone(avoid)
	for n := len(avoid); len(avoid)&(len(avoid)-1) != 0; {
		avoid = append(avoid, avoid[n-1])
	}
	return func(b *keyset.Builder, s *keyset.Selection) {
		columns := p.orderColumns()
		b.Add("(1 = 1")
		for _, key := range avoid {
			values, err := decodeMembers(key, columns)
			if err != nil {
				continue
			}
			args := make([]any, len(columns))
			for n, col := range columns {
				if bytes.Equal(values[n], keyset.Null) {
					continue
				}
				if args[n], err = p.Dialect.Arg(col, values[n]); err != nil {
					break
				}
			}
			if err != nil {
				continue
			}
			b.Add("\n\tAND (")
			for n, col := range columns {
				if n > 0 {
					b.Add(" OR ")
				}
				b.Differs(s, col, args[n])
			}
			b.Add(")")
		}
		b.Add(")")
	}
}
