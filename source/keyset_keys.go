package source

import "github.com/rowrelay/rowrelay/engine"

// rowKey is a stored Event.Key, read: its members in the plan's order, and the driver's arguments for them.
type rowKey struct {
	json []byte // as collector.object writes it: what Event.Key is compared with
	args []any
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

// differs writes that a column's value is not arg, which is nil for NULL.
func (b *builder) differs(s *selection, col *engine.Column, arg any) {
	name := s.column(*col)
	if arg == nil {
		b.add(name + " IS NOT NULL")
		return
	}
	b.add(name + " <> ")
	b.value(col, arg)
	if col.Nullable {
		b.add(" OR " + name + " IS NULL")
	}
}
