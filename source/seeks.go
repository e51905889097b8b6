package source

// comparison is one condition of a seek: order column `column` against the value at base, 0 or the number of order columns.
type comparison struct {
	column, base int
	op           string
}

// seek is a part of a span that one range of an index holds: all of its comparisons but the last are equalities of the order's
// first columns, or the last two bound one column from both sides. Guards are further conditions.
type seek struct {
	comparisons []comparison
	guard       condition
}

// seeks parts a span into ranges of the order's index, one after the other in that order, and none over another. With the
// position (x, y) that rows come after: a = x AND b > y; a > x. With an end (u, v), too: a = x AND b > y; a > x AND a < u;
// a = u AND b <= v.
//
// Which columns both positions have in common (span.common) decides what is a range, never what is read: where the database holds
// two values equal that are written differently, the guards leave out what the others read.
func (s *selection) seeks(in span) []seek {
	n := len(s.order)
	var parts []seek
	last := func(j int) string { // how column j of the end is compared
		if j == in.upTo-1 {
			return "<="
		}
		return "<"
	}
	common := 0
	if in.after > 0 && in.upTo > 0 {
		common = min(in.common, in.after-1, in.upTo-1)
	}
	for i := in.after - 1; i >= common; i-- {
		part := seek{comparisons: append(equals(i, 0), comparison{i, 0, ">"})}
		switch {
		case in.upTo > 0 && i == common:
			part.comparisons = append(part.comparisons, comparison{i, n, last(i)})
		case in.upTo > 0:
			part.guard = func(b *builder, s *selection) { b.compare(s, comparison{common, n, last(common)}) }
		}
		parts = append(parts, part)
	}
	first := common + 1
	if in.after == 0 {
		first = 0
	}
	for j := first; j < in.upTo; j++ {
		part := seek{comparisons: append(equals(j, n), comparison{j, n, last(j)})}
		if in.after > 0 {
			part.guard = func(b *builder, s *selection) { b.keyset(s, 0, 0, in.after, ">", ">") }
		}
		parts = append(parts, part)
	}
	return parts
}

// equals are that the first n columns have the values at base.
func equals(n, base int) []comparison {
	all := make([]comparison, n)
	for i := range all {
		all[i] = comparison{i, base, "="}
	}
	return all
}

func (b *builder) compare(s *selection, c comparison) {
	b.add(s.column(s.order[c.column]) + " " + c.op + " ")
	b.placeholder(s, c.base, c.column)
}

// united writes a page by its seeks, each with the page's limit, so that none reads more rows than the page takes. The one condition
// (a > x OR a = x AND b > y) would not do: SQL Server seeks a >= x by it, and so reads, for every page anew and from its
// beginning, whatever has one value: the rows that one UPDATE stamped with one time.
func (b *builder) united(s *selection, limit int, parts []seek, conditions []condition) {
	// Further conditions may hold values, which are passed once however often they stand in the text.
	also := make([]string, len(conditions))
	for i, write := range conditions {
		also[i] = b.aside(func() { write(b, s) })
	}
	if len(parts) == 1 {
		b.selectFrom(s, s.columns, limit)
		b.seek(s, parts[0], also)
		return
	}
	b.selectColumns(s.columns, limit, s.projected)
	b.add("\nFROM (\n")
	for i, part := range parts {
		if i > 0 {
			b.add("\nUNION ALL\n")
		}
		b.add("SELECT * FROM (")
		b.selectColumns(s.columns, limit, s.column)
		b.from(s)
		b.seek(s, part, also)
		b.orderBy(s, "")
		b.limit(limit)
		b.add(") AS s")
	}
	b.add("\n) AS r")
}

func (b *builder) seek(s *selection, part seek, also []string) {
	glue := b.userConditions(s, "\nWHERE ")
	for _, c := range part.comparisons {
		b.add(glue)
		b.compare(s, c)
		glue = " AND "
	}
	if part.guard != nil {
		b.add(glue)
		part.guard(b, s)
		glue = " AND "
	}
	for _, text := range also {
		b.add(glue + text)
		glue = " AND "
	}
}

// aside returns what write adds to the text, and leaves the text as it was.
func (b *builder) aside(write func()) string {
	kept := b.text.String()
	b.text.Reset()
	write()
	text := b.text.String()
	b.text.Reset()
	b.text.WriteString(kept)
	return text
}
