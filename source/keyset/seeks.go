package keyset

// comparison is one condition of a seek: order column `column` against the value at base, 0 or the number of order
// columns.
type comparison struct {
	column, base int
	op           string
}

// seek is a part of a span that one range of an index holds: all of its comparisons but the last are equalities of the
// order's first columns, or the last two bound one column from both sides. Guards are further conditions.
type seek struct {
	comparisons []comparison
	guard       Condition
}

// Seeks parts a span into ranges of the order's index, one after the other in that order, and none over another. With
// the position (x, y) that rows come after: a = x AND b > y; a > x. With an end (u, v), too: a = x AND b > y; a > x AND
// a < u; a = u AND b <= v.
//
// Which columns both positions have in common (span.common) decides what is a range, never what is read: where the
// database holds two values equal that are written differently, the guards leave out what the others read.
func (s *Selection) Seeks(in Span) []seek {
	n := len(s.Order)
	var parts []seek
	last := func(j int) string { // how column j of the end is compared
		if j == in.UpTo-1 {
			return "<="
		}
		return "<"
	}
	common := 0
	if in.After > 0 && in.UpTo > 0 {
		common = min(in.Common, in.After-1, in.UpTo-1)
	}
	for i := in.After - 1; i >= common; i-- {
		part := seek{comparisons: append(equals(i, 0), comparison{i, 0, ">"})}
		switch {
		case in.UpTo > 0 && i == common:
			part.comparisons = append(part.comparisons, comparison{i, n, last(i)})
		case in.UpTo > 0:
			part.guard = func(b *Builder, s *Selection) { b.compare(s, comparison{common, n, last(common)}) }
		}
		parts = append(parts, part)
	}
	first := common + 1
	if in.After == 0 {
		first = 0
	}
	for j := first; j < in.UpTo; j++ {
		part := seek{comparisons: append(equals(j, n), comparison{j, n, last(j)})}
		if in.After > 0 {
			part.guard = func(b *Builder, s *Selection) { b.keyset(s, 0, 0, in.After, ">", ">") }
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

func (b *Builder) compare(s *Selection, c comparison) {
	b.Add(s.Column(s.Order[c.column]) + " " + c.op + " ")
	b.placeholder(s, c.base, c.column)
}

// united writes a page by its seeks, each with the page's limit, so that none reads more rows than the page takes. The
// one condition (a > x OR a = x AND b > y) would not do: SQL Server seeks a >= x by it, and so reads, for every page
// anew and from its beginning, whatever has one value: the rows that one UPDATE stamped with one time.
func (b *Builder) united(s *Selection, limit int, parts []seek, conditions []Condition) {
	// Further conditions may hold values, which are passed once however often they stand in the text.
	also := make([]string, len(conditions))
	for i, write := range conditions {
		also[i] = b.aside(func() { write(b, s) })
	}
	if len(parts) == 1 {
		b.SelectFrom(s, s.Columns, limit)
		b.seek(s, parts[0], also)
		return
	}
	b.selectColumns(s.Columns, limit, s.projected)
	b.Add("\nFROM (\n")
	for i, part := range parts {
		if i > 0 {
			b.Add("\nUNION ALL\n")
		}
		b.Add("SELECT * FROM (")
		b.selectColumns(s.Columns, limit, s.Column)
		b.From(s)
		b.seek(s, part, also)
		b.orderBy(s, "")
		b.Limit(limit)
		b.Add(") AS s")
	}
	b.Add("\n) AS r")
}

func (b *Builder) seek(s *Selection, part seek, also []string) {
	glue := b.userConditions(s, "\nWHERE ")
	for _, c := range part.comparisons {
		b.Add(glue)
		b.compare(s, c)
		glue = " AND "
	}
	if part.guard != nil {
		b.Add(glue)
		part.guard(b, s)
		glue = " AND "
	}
	for _, text := range also {
		b.Add(glue + text)
		glue = " AND "
	}
}

// aside returns what write adds to the text, and leaves the text as it was.
func (b *Builder) aside(write func()) string {
	kept := b.Text.String()
	b.Text.Reset()
	write()
	text := b.Text.String()
	b.Text.Reset()
	b.Text.WriteString(kept)
	return text
}
