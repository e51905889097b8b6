package keyset

import "github.com/rowrelay/rowrelay/engine"

// Key is a stored Event.Key, read: its members in the plan's order, and the driver's arguments for them.
type Key struct {
	JSON []byte // as collector.object writes it: what Event.Key is compared with
	Args []any
}

// ByKeys reads the rows with these keys, at most a chunk. Where the catalog does not prove the key, a key may show
// several rows: they come in the order of the cursor.
func (s *Selection) ByKeys(columns []*engine.Column, keys []Key, ordered bool, also ...Condition) Statement {
	b := NewBuilder(s.Syntax)
	if s.OfKeys != nil {
		b.selectColumns(s.Columns, 0, s.projected)
		b.Add("\nFROM " + s.OfKeys(b.aside(func() { b.list(columns, keys) })) + " AS r")
		glue := b.userConditions(s, "\nWHERE ")
		for _, write := range also {
			b.Add(glue)
			write(b, s)
			glue = " AND "
		}
	} else {
		b.SelectFrom(s, s.Columns, 0)
		keyed := func(b *Builder, s *Selection) { b.oneOf(s, columns, keys) }
		b.Conditions(s, Span{Also: append([]Condition{keyed}, also...)})
	}
	if ordered {
		b.orderBy(s, "")
	}
	return b.Statement()
}

// list writes the keys as rows of values.
func (b *Builder) list(columns []*engine.Column, keys []Key) {
	for i, k := range keys {
		b.Add(Comma(i) + "(")
		for n, col := range columns {
			b.Add(Comma(n))
			b.Value(col, k.Args[n])
		}
		b.Add(")")
	}
}

// oneOf writes k IN (x, y) for a key of one column, and (a = x AND b = y OR a = v AND b = w) for others: every engine
// reads both by the key's index, where it does not know, or does not use one for, a list of row values.
func (b *Builder) oneOf(s *Selection, columns []*engine.Column, keys []Key) {
	if len(columns) == 1 {
		b.Add(s.Column(*columns[0]) + " IN (")
		for i, k := range keys {
			b.Add(Comma(i))
			b.Value(columns[0], k.Args[0])
		}
		b.Add(")")
		return
	}
	b.Add("(")
	for i, k := range keys {
		if i > 0 {
			b.Add("\n\tOR ")
		}
		for n, col := range columns {
			if n > 0 {
				b.Add(" AND ")
			}
			b.Add(s.Column(*col) + " = ")
			b.Value(col, k.Args[n])
		}
	}
	b.Add(")")
}

// Differs writes that a column's value is not arg, which is nil for NULL.
func (b *Builder) Differs(s *Selection, col *engine.Column, arg any) {
	name := s.Column(*col)
	if arg == nil {
		b.Add(name + " IS NOT NULL")
		return
	}
	b.Add(name + " <> ")
	b.Value(col, arg)
	if col.Nullable {
		b.Add(" OR " + name + " IS NULL")
	}
}
