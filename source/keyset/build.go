// Package keyset writes the statements of a source: pages in the order of cursor and key, and what is asked beside
// them. None has an OFFSET, and none reads more rows than its limit.
//
// A [Selection] is what there is to read, proved and quoted by a plan. Its methods return a [Statement]: the text, and
// which value stands for each placeholder. A [Builder] writes one. Whoever has a condition of its own hands in a
// [Condition]. Golden files of package source pin every text.
package keyset

import (
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// Statement is one SQL text together with the order of its arguments: args[i] says which value the i-th placeholder
// stands for. With n order columns, 0 to n-1 are those of the position that rows come after, n to 2n-1 those of the
// position that they come up to, and OwnValues and more are the statement's own.
type Statement struct {
	Text   string
	Args   []int
	Values []bound
}

// OwnArgs are the driver's arguments of a statement that compares with no position.
func (s Statement) OwnArgs() []any {
	var args []any
	for _, i := range s.Args {
		args = append(args, s.Values[i-OwnValues].Arg)
	}
	return args
}

// OwnValues is beyond the number of columns of any table.
const OwnValues = 1 << 16

// bound is a value that a statement holds itself: the driver's argument, to be compared with a column.
type bound struct {
	Col engine.Column
	Arg any
}

// Span is what a statement reads of the rows in order. Both numbers say how many order columns a position gives: all,
// the cursor's only (the one comes after every row of that value, the other includes them), or 0 for no bound.
type Span struct {
	After, UpTo int
	// Common says how many of the first columns both positions are known to have in common.
	Common int
	// Also are further conditions, each on its own: a safe point, for instance.
	Also []Condition
	// All says that rows are read whatever the selection's Where says of them.
	All bool
}

// Condition writes one condition. It adds its values by builder.value.
type Condition func(*Builder, *Selection)

// Selection is what the builders need to know: everything in it is proved, resolved and quoted by the plan.
type Selection struct {
	Syntax *engine.Syntax
	// From is the quoted table; query the text of a query, wrapped as a derived table. One of them is set.
	From, Query string
	// OfKeys is what stands instead of From where rows are looked up by keys, which it lists; nil for From itself.
	OfKeys func(keys string) string
	// Hint follows the table and its alias.
	Hint string
	// Columns are what is projected.
	Columns []engine.Column
	// Order are the cursor's columns followed by the key's that are not among them; the first cursors of them are the
	// cursor's.
	Order   []engine.Column
	Cursors int
	Where   string
	// Writer is what the last of Columns is; nil where it is one like the others.
	Writer *engine.Writer
	// Marked says that the last of Columns tells which rows Where chooses: then a page has the others, too.
	Marked bool
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
//	reach   the position of the last one of the next rows, whatever source__where chooses
//	nulls   the rows that paging can never show: a cursor (or, in a query, a key) that is NULL
//	numbers the rows that paging never shows once a position holds text: a number, where every number sorts before text; the
//	        like for numbers of a smaller unit, and for text of another form

// First reads the first page: there is no position yet.
func (s *Selection) First(limit int) Statement { return s.Page(limit, Span{}) }

// After reads the page after a row.
func (s *Selection) After(limit int) Statement { return s.Page(limit, Span{After: len(s.Order)}) }

// Page reads in ascending order.
func (s *Selection) Page(limit int, in Span) Statement {
	b := NewBuilder(s.Syntax)
	in.All = s.Marked
	if parts := s.Seeks(in); b.Syntax.Unites && len(parts) > 0 {
		b.united(s, limit, parts, in.Also)
	} else if !b.staged(s, limit, in) {
		b.SelectFrom(s, s.Columns, limit)
		b.Conditions(s, in)
	}
	b.orderBy(s, "")
	b.Limit(limit)
	return b.Statement()
}

// Recent reads, of the next rows in ascending order, those whose writer is not below a number, and the last one
// whichever it is: it shows how far was read.
func (s *Selection) Recent(limit, rows int, in Span, since uint64) Statement {
	b := NewBuilder(s.Syntax)
	b.selectColumns(s.Columns, limit, s.projected)
	b.Add("\nFROM (SELECT r.*, lead(1) OVER (")
	b.ordered(s, "")
	follows := s.Syntax.Quote("rowrelay follows")
	b.Add(") AS " + follows + "\nFROM (SELECT ")
	for _, c := range s.Columns[:len(s.Columns)-1] {
		b.Add(s.Column(c) + ", ")
	}
	b.Add(s.Writer.Needs)
	b.From(s)
	b.Conditions(s, in)
	b.orderBy(s, "")
	b.Limit(rows)
	b.Add("\n) AS r) AS r\nWHERE r." + follows + " IS NULL OR " + s.Writer.Since(since))
	b.orderBy(s, "")
	b.Limit(limit)
	return b.Statement()
}

// Reach reads the position of the last one of the next rows in ascending order, so many at most.
func (s *Selection) Reach(rows int, in Span) Statement {
	b := NewBuilder(s.Syntax)
	in.All = true
	b.selectColumns(s.Order, 1, s.projected)
	b.Add("\nFROM (")
	b.selectColumns(s.Order, rows, s.Column)
	b.From(s)
	b.Conditions(s, in)
	b.orderBy(s, "")
	b.Limit(rows)
	b.Add("\n) AS r")
	b.orderBy(s, " DESC")
	b.Limit(1)
	return b.Statement()
}

// Latest reads the position of the last row, whatever source__where chooses: the last one that it chooses may be far
// before it.
func (s *Selection) Latest() Statement { return s.Newest(1, true) }

// Newest reads the last rows' positions, the last one first: of all, or of those that source__where chooses.
func (s *Selection) Newest(limit int, all bool) Statement {
	b := NewBuilder(s.Syntax)
	b.SelectFrom(s, s.Order, limit)
	b.Conditions(s, Span{All: all})
	b.orderBy(s, " DESC")
	b.Limit(limit)
	return b.Statement()
}

// Below reads the last row, whatever source__where chooses, whose cursor is below that of the position that rows come
// after.
func (s *Selection) Below() Statement {
	b := NewBuilder(s.Syntax)
	b.SelectFrom(s, s.Order, 1)
	below := func(b *Builder, s *Selection) { b.limitTo(s, 0, s.Cursors, "<", "<") }
	b.Conditions(s, Span{All: true, Also: []Condition{below}})
	b.orderBy(s, " DESC")
	b.Limit(1)
	return b.Statement()
}

// FromCursor reads one row, whatever source__where chooses, whose cursor is that of a position, or higher.
func (s *Selection) FromCursor() Statement {
	b := NewBuilder(s.Syntax)
	b.SelectFrom(s, s.Order, 1)
	from := func(b *Builder, s *Selection) { b.limitTo(s, 0, s.Cursors, ">", ">=") }
	b.Conditions(s, Span{All: true, Also: []Condition{from}})
	b.Limit(1)
	return b.Statement()
}

// Numbers reads one row that holds a number in order column i, a stored time: by a condition that an index serves.
func (s *Selection) Numbers(i int) Statement {
	b := NewBuilder(s.Syntax)
	b.SelectFrom(s, s.Order, 1)
	b.Add("\nWHERE " + s.Column(s.Order[i]) + " < ''")
	b.userWhere(s, " AND ")
	b.Limit(1)
	return b.Statement()
}

// Column is a column as statements name it: qualified by the alias, so that no projection's name can capture it.
func (s *Selection) Column(c engine.Column) string { return "r." + s.Syntax.Quote(c.Name) }

// projected is a column as a page reads it.
func (s *Selection) projected(c engine.Column) string { return engine.Fill(c.Value.Expr, s.Column(c)) }

// Builder writes one statement: its text and its arguments grow together.
type Builder struct {
	Syntax *engine.Syntax
	// Before and After are statements of their own, in the same round trip.
	Before, After string
	Text          strings.Builder
	args          []int
	values        []bound
	numbers       map[int]int // value of a position → number of its placeholder, where one can be repeated
}

// NewBuilder begins a statement.
func NewBuilder(s *engine.Syntax) *Builder {
	return &Builder{Syntax: s, numbers: map[int]int{}}
}

// Add appends text. It is not inlined in the hundred places that call it.
//
//go:noinline
func (b *Builder) Add(text string) { b.Text.WriteString(text) }

// Statement is what was written.
func (b *Builder) Statement() Statement {
	return Statement{b.Before + b.Text.String() + b.After, b.args, b.values}
}

// SelectFrom writes which columns are read, and where from; limit 0 is no limit.
func (b *Builder) SelectFrom(s *Selection, columns []engine.Column, limit int) {
	b.selectColumns(columns, limit, s.projected)
	b.From(s)
}

func (b *Builder) selectColumns(columns []engine.Column, limit int, as func(engine.Column) string) {
	b.Add("SELECT ")
	if b.Syntax.Top && limit > 0 {
		b.Add("TOP (" + strconv.Itoa(limit) + ") ")
	}
	for i, c := range columns {
		b.Add(Comma(i) + as(c))
	}
}

// From writes the table, or the query on lines of its own.
func (b *Builder) From(s *Selection) {
	if s.Query != "" {
		// On lines of its own: a comment at the query's end must not swallow what follows.
		b.Add("\nFROM (\n" + s.Query + "\n) AS r")
		return
	}
	b.Add("\nFROM " + s.From + " AS r" + s.Hint)
}

// Conditions writes what a row must fulfil: a cursor that is not NULL, the user's condition, its place, and what else
// the span says.
func (b *Builder) Conditions(s *Selection, in Span) {
	glue := b.notNull(s, "\nWHERE ")
	if !in.All && b.userWhere(s, glue) {
		glue = " AND "
	}
	if in.After > 0 {
		b.Add(glue)
		b.limitTo(s, 0, in.After, ">", ">")
		glue = " AND "
	}
	if in.UpTo > 0 {
		b.Add(glue)
		b.limitTo(s, len(s.Order), in.UpTo, "<", "<=")
		glue = " AND "
	}
	for _, write := range in.Also {
		b.Add(glue)
		write(b, s)
		glue = " AND "
	}
}

// userConditions writes those that every row must fulfil, wherever it is, and returns what the next begins with.
func (b *Builder) userConditions(s *Selection, glue string) string {
	glue = b.notNull(s, glue)
	if b.userWhere(s, glue) {
		glue = " AND "
	}
	return glue
}

// notNull writes that the cursor is not NULL, and returns what the next condition begins with.
func (b *Builder) notNull(s *Selection, glue string) string {
	for _, c := range s.Order[:s.Cursors] {
		if c.Nullable {
			b.Add(glue + s.Column(c) + " IS NOT NULL")
			glue = " AND "
		}
	}
	return glue
}

func (b *Builder) userWhere(s *Selection, glue string) bool {
	if s.Where == "" {
		return false
	}
	b.Add(glue + "(\n" + s.Where + "\n)")
	return true
}

// limitTo compares the first n order columns with a position, whose values begin at base: op is > or <, and last is how
// the last of them is compared, > or < or <=.
func (b *Builder) limitTo(s *Selection, base, n int, op, last string) {
	if b.Syntax.RowValues && n > 1 {
		b.rowValues(s, base, n, last)
		return
	}
	b.keyset(s, base, 0, n, op, last)
}

func (b *Builder) rowValues(s *Selection, base, n int, last string) {
	b.Add("(")
	for i, c := range s.Order[:n] {
		b.Add(Comma(i) + s.Column(c))
	}
	b.Add(") " + last + " (")
	for i := range n {
		b.Add(Comma(i))
		b.placeholder(s, base, i)
	}
	b.Add(")")
}

// keyset writes (a, b, c) > (x, y, z) so that the first comparison alone bounds the range in the index:
// a >= x AND (a > x OR (a = x AND (b > y OR (b = y AND c > z)))).
func (b *Builder) keyset(s *Selection, base, i, n int, op, last string) {
	name := s.Column(s.Order[i])
	if i == n-1 {
		b.Add(name + " " + last + " ")
		b.placeholder(s, base, i)
		return
	}
	if i == 0 {
		b.Add(name + " " + op + "= ")
		b.placeholder(s, base, i)
		b.Add(" AND ")
	}
	b.Add("(" + name + " " + op + " ")
	b.placeholder(s, base, i)
	b.Add(" OR (" + name + " = ")
	b.placeholder(s, base, i)
	b.Add(" AND ")
	b.keyset(s, base, i+1, n, op, last)
	b.Add("))")
}

// placeholder stands for the value of order column i in the position whose values begin at base.
func (b *Builder) placeholder(s *Selection, base, i int) {
	n, known := b.numbers[base+i]
	if !known || b.Syntax.Positional {
		b.args = append(b.args, base+i)
		n = len(b.args)
		b.numbers[base+i] = n
	}
	b.Add(engine.Fill(s.Order[i].Value.Param, b.Syntax.Placeholder(n)))
}

// Value stands for a value of the statement's own, to be compared with a column: arg is the driver's.
func (b *Builder) Value(col *engine.Column, arg any) {
	b.Add(engine.Fill(col.Value.Param, b.Own(*col, arg)))
}

// Own returns the placeholder of a value of the statement's own.
func (b *Builder) Own(col engine.Column, arg any) string {
	b.args = append(b.args, OwnValues+len(b.values))
	b.values = append(b.values, bound{col, arg})
	return b.Syntax.Placeholder(len(b.args))
}

func (b *Builder) orderBy(s *Selection, direction string) {
	b.Add("\n")
	b.ordered(s, direction)
}

func (b *Builder) ordered(s *Selection, direction string) {
	b.Add("ORDER BY ")
	for i, c := range s.Order {
		b.Add(Comma(i) + s.Column(c) + direction)
	}
}

// Limit ends a statement with a limit, where it is written there.
func (b *Builder) Limit(n int) {
	if !b.Syntax.Top {
		b.Add("\nLIMIT " + strconv.Itoa(n))
	}
}
