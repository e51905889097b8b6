package source

import (
	"github.com/rowrelay/rowrelay/engine"
	"strconv"
	"strings"
)

// statement is one SQL text together with the order of its arguments: args[i] says which value the i-th placeholder stands
// for. With n order columns, 0 to n-1 are those of the position that rows come after, n to 2n-1 those of the position
// that they come up to, and ownValues and more are the statement's own.
type statement struct {
	text   string
	args   []int
	values []bound
}

// ownValues is beyond the number of columns of any table.
const ownValues = 1 << 16

// bound is a value that a statement holds itself: the driver's argument, to be compared with a column.
type bound struct {
	col engine.Column
	arg any
}

// span is what a statement reads of the rows in order. Both numbers say how many order columns a position gives: all, the
// cursor's only (every row of that value is behind the one, and within the other), or 0 for no bound.
type span struct {
	after, upTo int
	// common says how many of the first columns both positions are known to have in common.
	common int
	// also are further conditions, each on its own: a safe point, for instance.
	also []condition
}

// condition writes one condition. It adds its values by builder.value.
type condition func(*builder, *selection)

// selection is what the builders need to know: everything in it is proved, resolved and quoted by the plan.
type selection struct {
	syntax *engine.Syntax
	// from is the quoted table; query the text of a query, wrapped as a derived table. One of them is set.
	from, query string
	// hint stands behind the table and its alias.
	hint string
	// columns are what is projected.
	columns []engine.Column
	// order are the cursor's columns followed by the key's that are not among them; the first cursors of them are the cursor's.
	order   []engine.Column
	cursors int
	where   string
}

// The statements of a cursor source, all keyset: none has an OFFSET, and none reads more than limit rows.
//
//	first   the first page: no position yet
//	after   the page after a row: (c, k) > (v, w)
//	page    either of them, or the page after a cursor value without a key (source__start=<value>): c > v; and up to a
//	        position of either form: (c, k) <= (v, w)
//	below   the last row below a cursor value: c < v
//	from    any row at a cursor value or above: c >= v
//	count   how many rows a page without a limit would have
//	latest  the last row's position, for source__start=latest
//	nulls   the rows that paging can never show: a cursor (or, in a query, a key) that is NULL
//	numbers the rows that paging never shows once a position holds text: a number, where every number sorts before text; the
//	        like for numbers of a smaller unit, and for text of another form

func (s *selection) first(limit int) statement { return s.page(limit, span{}) }
func (s *selection) after(limit int) statement { return s.page(limit, span{after: len(s.order)}) }

// page reads in ascending order.
func (s *selection) page(limit int, in span) statement {
	b := newBuilder(s.syntax)
	if parts := s.seeks(in); b.syntax.Unites && len(parts) > 0 {
		b.united(s, limit, parts, in.also)
	} else {
		b.selectFrom(s, s.columns, limit)
		b.conditions(s, in)
	}
	b.orderBy(s, "")
	b.limit(limit)
	return b.statement()
}

func (s *selection) latest() statement { return s.newest(1) }

// newest reads the last rows' positions, the last one first.
func (s *selection) newest(limit int) statement {
	b := newBuilder(s.syntax)
	b.selectFrom(s, s.order, limit)
	b.conditions(s, span{})
	b.orderBy(s, " DESC")
	b.limit(limit)
	return b.statement()
}

// below reads the last row whose cursor is below that of the position that rows come after.
func (s *selection) below() statement {
	b := newBuilder(s.syntax)
	b.selectFrom(s, s.order, 1)
	b.conditions(s, span{also: []condition{func(b *builder, s *selection) { b.limitTo(s, 0, s.cursors, "<", "<") }}})
	b.orderBy(s, " DESC")
	b.limit(1)
	return b.statement()
}

// fromCursor reads one row whose cursor is that of a position, or higher.
func (s *selection) fromCursor() statement {
	b := newBuilder(s.syntax)
	b.selectFrom(s, s.order, 1)
	b.conditions(s, span{also: []condition{func(b *builder, s *selection) { b.limitTo(s, 0, s.cursors, ">", ">=") }}})
	b.limit(1)
	return b.statement()
}

func (s *selection) count(in span) statement {
	b := newBuilder(s.syntax)
	if b.syntax.Top {
		b.add("SELECT COUNT_BIG(*)") // COUNT is an int
	} else {
		b.add("SELECT COUNT(*)")
	}
	b.from(s)
	b.conditions(s, in)
	return b.statement()
}

// numbers reads one row that holds a number in order column i, a stored time: by a condition that an index serves.
func (s *selection) numbers(i int) statement {
	b := newBuilder(s.syntax)
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
		if c.Nullable && (i < s.cursors) == cursor {
			tests = append(tests, s.column(c)+" IS NULL")
		}
	}
	if len(tests) == 0 {
		return statement{}
	}
	b := newBuilder(s.syntax)
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
func (s *selection) column(c engine.Column) string { return "r." + s.syntax.Quote(c.Name) }

// projected is a column as a page reads it.
func (s *selection) projected(c engine.Column) string { return engine.Fill(c.Value.Expr, s.column(c)) }

type builder struct {
	syntax  *engine.Syntax
	before  string // a statement of its own, in the same round trip
	text    strings.Builder
	args    []int
	values  []bound
	numbers map[int]int // value of a position → number of its placeholder, where one can be repeated
}

func newBuilder(s *engine.Syntax) *builder {
	return &builder{syntax: s, numbers: map[int]int{}}
}

func (b *builder) add(text string) { b.text.WriteString(text) }
func (b *builder) statement() statement {
	return statement{b.before + b.text.String(), b.args, b.values}
}

func (b *builder) selectFrom(s *selection, columns []engine.Column, limit int) {
	b.selectColumns(columns, limit, s.projected)
	b.from(s)
}

func (b *builder) selectColumns(columns []engine.Column, limit int, as func(engine.Column) string) {
	b.add("SELECT ")
	if b.syntax.Top && limit > 0 {
		b.add("TOP (" + strconv.Itoa(limit) + ") ")
	}
	for i, c := range columns {
		b.add(comma(i) + as(c))
	}
}

func (b *builder) from(s *selection) {
	if s.query != "" {
		// On lines of its own: a comment at the query's end must not swallow what follows.
		b.add("\nFROM (\n" + s.query + "\n) AS r")
		return
	}
	b.add("\nFROM " + s.from + " AS r" + s.hint)
}

// conditions writes what a row must fulfil: a cursor that is not NULL, the user's condition, its place, and what else the
// span says.
func (b *builder) conditions(s *selection, in span) {
	glue := b.userConditions(s, "\nWHERE ")
	if in.after > 0 {
		b.add(glue)
		b.limitTo(s, 0, in.after, ">", ">")
		glue = " AND "
	}
	if in.upTo > 0 {
		b.add(glue)
		b.limitTo(s, len(s.order), in.upTo, "<", "<=")
		glue = " AND "
	}
	for _, write := range in.also {
		b.add(glue)
		write(b, s)
		glue = " AND "
	}
}

// userConditions writes those that every row must fulfil, wherever it is, and returns what the next begins with.
func (b *builder) userConditions(s *selection, glue string) string {
	for _, c := range s.order[:s.cursors] {
		if c.Nullable {
			b.add(glue + s.column(c) + " IS NOT NULL")
			glue = " AND "
		}
	}
	if b.userWhere(s, glue) {
		glue = " AND "
	}
	return glue
}

func (b *builder) userWhere(s *selection, glue string) bool {
	if s.where == "" {
		return false
	}
	b.add(glue + "(\n" + s.where + "\n)")
	return true
}

// limitTo compares the first n order columns with a position, whose values begin at base: op is > or <, and last is how the
// last of them is compared, > or < or <=.
func (b *builder) limitTo(s *selection, base, n int, op, last string) {
	if b.syntax.RowValues && n > 1 {
		b.rowValues(s, base, n, last)
		return
	}
	b.keyset(s, base, 0, n, op, last)
}

func (b *builder) rowValues(s *selection, base, n int, last string) {
	b.add("(")
	for i, c := range s.order[:n] {
		b.add(comma(i) + s.column(c))
	}
	b.add(") " + last + " (")
	for i := range n {
		b.add(comma(i))
		b.placeholder(s, base, i)
	}
	b.add(")")
}

// keyset writes (a, b, c) > (x, y, z) so that the first comparison alone bounds the range in the index:
// a >= x AND (a > x OR (a = x AND (b > y OR (b = y AND c > z)))).
func (b *builder) keyset(s *selection, base, i, n int, op, last string) {
	name := s.column(s.order[i])
	if i == n-1 {
		b.add(name + " " + last + " ")
		b.placeholder(s, base, i)
		return
	}
	if i == 0 {
		b.add(name + " " + op + "= ")
		b.placeholder(s, base, i)
		b.add(" AND ")
	}
	b.add("(" + name + " " + op + " ")
	b.placeholder(s, base, i)
	b.add(" OR (" + name + " = ")
	b.placeholder(s, base, i)
	b.add(" AND ")
	b.keyset(s, base, i+1, n, op, last)
	b.add("))")
}

// placeholder stands for the value of order column i in the position whose values begin at base.
func (b *builder) placeholder(s *selection, base, i int) {
	n, known := b.numbers[base+i]
	if !known || b.syntax.Positional {
		b.args = append(b.args, base+i)
		n = len(b.args)
		b.numbers[base+i] = n
	}
	b.add(engine.Fill(s.order[i].Value.Param, b.syntax.Placeholder(n)))
}

// value stands for a value of the statement's own, to be compared with a column: arg is the driver's.
func (b *builder) value(col *engine.Column, arg any) {
	b.add(engine.Fill(col.Value.Param, b.own(*col, arg)))
}

// own returns the placeholder of a value of the statement's own.
func (b *builder) own(col engine.Column, arg any) string {
	b.args = append(b.args, ownValues+len(b.values))
	b.values = append(b.values, bound{col, arg})
	return b.syntax.Placeholder(len(b.args))
}

func (b *builder) orderBy(s *selection, direction string) {
	b.add("\nORDER BY ")
	for i, c := range s.order {
		b.add(comma(i) + s.column(c) + direction)
	}
}

func (b *builder) limit(n int) {
	if !b.syntax.Top {
		b.add("\nLIMIT " + strconv.Itoa(n))
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}
