package rows

import (
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Syntax is how an engine writes what depends on the columns and indexes of a table of `rowrelay outbox init`.
type Syntax interface {
	// Seq names the column of the position: MySQL allows no second counting column beside the id, so there it is id.
	Seq() string
	// Same is that two aggregates, given as expressions of type and id, are one, byte by byte. The first one's are
	// columns of an outbox: an index over them can serve it.
	Same(typ1, id1, typ2, id2 string) string
	// Update is UPDATE table AS alias with a join: of rows of `from`, where `where`.
	Update(table, alias, set, from, where string) string
	// BySeq begins an UPDATE of rows of the outbox o by their numbers in a column, up to conditions in WHERE. It looks at
	// no other row.
	BySeq(s *statement.Statement, table statement.Name, column string, set func() string, seqs []int64)
	// Seek is a condition that makes the index of blocked rows serve a search for an aggregate, and what leads the order
	// of that index; "" where the columns do.
	Seek(b, id string) (condition, order string)
	// Force stands after a table's alias and names the index to be used ("pending" or "blocked"; "" for the
	// primary key) where the engine's own choice is not to be relied on.
	Force(index string) string
	// ByState says that the index of pending events leads with the state, so that it serves every state.
	ByState() bool
	// Limit writes available_at or expires_at as it is read.
	Limit(expr string) string
	// Ddl returns the statements that create the outbox, with the one that creates the claims table in its place.
	// states are the words of the column state, blocked those of the events which others wait for, or which wait.
	Ddl(table statement.Name, claims, states, blocked string) []string
}

// Values is how an engine writes values of a user's table, and the side table. expr is a column, parameter a text.
//
// Values travel as text: ids, aggregates and positions are compared with what the side table holds, and that is text
// under a binary collation. Only where an index of the user's table has to serve a condition is the parameter cast to
// the column's type instead.
type Values interface {
	// Text writes a value as the text that stands in the side table, and in Go.
	Text(c *column.Column, expr string) string
	// ID is Text for the column that identifies an event. Typed takes it.
	ID(c *column.Column, expr string) string
	// Short is Text for a column of the side table, which has an index: what has over 255 characters is its beginning and
	// a hash of it all.
	Short(c *column.Column, expr string) string
	// Typed casts a text parameter to a column's type, so that an index on the column can be used.
	Typed(c *column.Column, parameter string) string
	// Position writes a number as text of one width, so that texts compare as the numbers do.
	Position(c *column.Column, expr string) string
	// Instant writes a time in UTC as text of one width: 2026-01-31 23:59:59.123456. SQLite keeps what is stored.
	Instant(c *column.Column, expr string) string
	// Limit writes a time from which, or up to which events are published, in UTC: as Instant does, or another text that
	// event.Row reads.
	Limit(c *column.Column, expr string) string
	// AtInstant casts a text that instant wrote back to the column's type.
	AtInstant(c *column.Column, parameter string) string
	// Now is the database's clock, less so many milliseconds that a parameter says ("" for none), as a value of the
	// column.
	Now(c *column.Column, less string) string
	// Literal writes a state's value, in which there is no quote.
	Literal(c *column.Column, value string) string
	// Boolean writes true or false for a column that says whether an event was published.
	Boolean(c *column.Column, v bool) string
	// Payload writes the column of the payload as it is read.
	Payload(c *column.Column, expr string) string
	// ByIndex stands after the table's alias and names the index to be used, where the engine's own choice is not to be
	// relied on.
	ByIndex(name string) string
	// Unordered stands before limit where no order is wanted.
	Unordered() string
	// Ddl returns the statements that create the side table. states are the words of its column state.
	Ddl(side statement.Name, states string) []string
}
