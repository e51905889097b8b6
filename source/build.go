package source

import (
	"strconv"
	"strings"
)

// statement is one SQL text together with the order of its arguments: args[i] is the index, in the plan's order columns,
// of the value that the i-th placeholder stands for.
type statement struct {
	text string
	args []int
}

// selection is what the builders need to know: everything in it is proved, resolved and quoted by the plan.
type selection struct {
	dialect dialect
	// from is the quoted table; query the text of a query, wrapped as a derived table. One of them is set.
	from, query string
	// columns are what is projected.
	columns []column
	// order are the cursor's columns followed by the key's that are not among them; the first cursors of them are the cursor's.
	order   []column
	cursors int
	where   string
}

// The statements of a cursor source, all keyset: none has an OFFSET, and none reads more than limit rows.
//
//	first   the first page: no position yet
//	after   the page after a row: (c, k) > (v, w)
//	page    either of them, or the page after a cursor value without a key (source__start=<value>): c > v
//	latest  the last row's position, for source__start=latest
//	nulls   the rows that paging can never show: a cursor (or, in a query, a key) that is NULL
//	numbers the rows that paging never shows once a position holds text: a number, where every number sorts before text

func (s *selection) first(limit int) statement { return s.page(limit, 0) }
func (s *selection) after(limit int) statement { return s.page(limit, len(s.order)) }

// page reads in ascending order after the position that the first n order columns give.
func (s *selection) page(limit, n int) statement {
	b := newBuilder(s.dialect)
	b.selectFrom(s, s.columns, limit)
	b.conditions(s, n)
	b.orderBy(s, "")
	b.limit(limit)
	return b.statement()
}

func (s *selection) latest() statement {
	b := newBuilder(s.dialect)
	b.selectFrom(s, s.order, 1)
	b.conditions(s, 0)
	b.orderBy(s, " DESC")
	b.limit(1)
	return b.statement()
}

// numbers reads one row that holds a number in order column i, a stored time: by a condition that an index serves.
func (s *selection) numbers(i int) statement {
	b := newBuilder(s.dialect)
	b.selectFrom(s, s.order, 1)
	b.add("\nWHERE " + s.column(s.order[i]) + " < ''")
	b.userWhere(s, " AND ")
	b.limit(1)
	return b.statement()
}

// nulls counts the rows that have NULL in a nullable column of the cursor, or else of the key. It is the empty statement
// where no such column can be NULL.
func (s *selection) nulls(cursor bool) statement {
	var tests []string
	for i, c := range s.order {
		if c.nullable && (i < s.cursors) == cursor {
			tests = append(tests, s.column(c)+" IS NULL")
		}
	}
	if len(tests) == 0 {
		return statement{}
	}
	b := newBuilder(s.dialect)
	b.add("SELECT COUNT(*)")
	b.from(s)
	b.add("\nWHERE ")
	if len(tests) == 1 {
		b.add(tests[0])
	} else {
		b.add("(" + strings.Join(tests, " OR ") + ")")
	}
	b.userWhere(s, " AND ")
	return b.statement()
}

// column is a column as statements name it: qualified by the alias, so that no projection's name can capture it.
func (s *selection) column(c column) string { return "r." + s.dialect.quote(c.name) }

type builder struct {
	dialect dialect
	syntax  syntax
	text    strings.Builder
	args    []int
	numbers map[int]int // order column → number of its placeholder, where one can be repeated
}

func newBuilder(d dialect) *builder {
	return &builder{dialect: d, syntax: d.syntax(), numbers: map[int]int{}}
}

func (b *builder) add(text string)      { b.text.WriteString(text) }
func (b *builder) statement() statement { return statement{b.text.String(), b.args} }

func (b *builder) selectFrom(s *selection, columns []column, limit int) {
	b.add("SELECT ")
	if b.syntax.top {
		b.add("TOP (" + strconv.Itoa(limit) + ") ")
	}
	for i, c := range columns {
		if i > 0 {
			b.add(", ")
		}
		b.add(fill(c.value.expr, s.column(c)))
	}
	b.from(s)
}

func (b *builder) from(s *selection) {
	if s.query != "" {
		// On lines of its own: a comment at the query's end must not swallow what follows.
		b.add("\nFROM (\n" + s.query + "\n) AS r")
		return
	}
	b.add("\nFROM " + s.from + " AS r")
}

// conditions writes what a row must fulfil: a cursor that is not NULL, the user's condition, and a position after that
// of the first n order columns.
func (b *builder) conditions(s *selection, n int) {
	glue := "\nWHERE "
	for _, c := range s.order[:s.cursors] {
		if c.nullable {
			b.add(glue + s.column(c) + " IS NOT NULL")
			glue = " AND "
		}
	}
	if b.userWhere(s, glue) {
		glue = " AND "
	}
	if n == 0 {
		return
	}
	b.add(glue)
	if b.syntax.rowValues && n > 1 {
		b.rowValues(s, n)
		return
	}
	b.keyset(s, 0, n)
}

func (b *builder) userWhere(s *selection, glue string) bool {
	if s.where == "" {
		return false
	}
	b.add(glue + "(\n" + s.where + "\n)")
	return true
}

func (b *builder) rowValues(s *selection, n int) {
	b.add("(")
	for i, c := range s.order[:n] {
		b.add(comma(i) + s.column(c))
	}
	b.add(") > (")
	for i := range n {
		b.add(comma(i))
		b.placeholder(s, i)
	}
	b.add(")")
}

// keyset writes (a, b, c) > (x, y, z) so that the first comparison alone bounds the range in the index:
// a >= x AND (a > x OR (a = x AND (b > y OR (b = y AND c > z)))).
func (b *builder) keyset(s *selection, i, n int) {
	name := s.column(s.order[i])
	if i == n-1 {
		b.add(name + " > ")
		b.placeholder(s, i)
		return
	}
	if i == 0 {
		b.add(name + " >= ")
		b.placeholder(s, i)
		b.add(" AND ")
	}
	b.add("(" + name + " > ")
	b.placeholder(s, i)
	b.add(" OR (" + name + " = ")
	b.placeholder(s, i)
	b.add(" AND ")
	b.keyset(s, i+1, n)
	b.add("))")
}

func (b *builder) placeholder(s *selection, i int) {
	n, known := b.numbers[i]
	if !known || b.syntax.positional {
		b.args = append(b.args, i)
		n = len(b.args)
		b.numbers[i] = n
	}
	b.add(fill(s.order[i].value.param, b.syntax.placeholder(n)))
}

func (b *builder) orderBy(s *selection, direction string) {
	b.add("\nORDER BY ")
	for i, c := range s.order {
		b.add(comma(i) + s.column(c) + direction)
	}
}

func (b *builder) limit(n int) {
	if !b.syntax.top {
		b.add("\nLIMIT " + strconv.Itoa(n))
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

// fill puts name in place of every %s of a pattern; the empty pattern is the name itself.
func fill(pattern, name string) string {
	if pattern == "" {
		return name
	}
	return strings.ReplaceAll(pattern, "%s", name)
}
