package mapping

import (
	"context"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Catalog is what is asked of the catalog of an engine.
type Catalog interface {
	// Columns reads the columns of a table in their order.
	Columns(ctx context.Context, q statement.Querier, table statement.Name) ([]column.Column, error)
	// Resolve finds a table; qualified is "" where there is none.
	Resolve(ctx context.Context, q statement.Querier, table statement.Name) (qualified string, err error)
}

// Values is how an engine writes values of a user's table. expr is a column of it, parameter a text.
//
// Values travel as text: ids, aggregates and positions are compared with what the side table holds, and that is text
// under a binary collation. Only where an index of the user's table has to serve a condition is the parameter cast to
// the column's type instead.
type Values interface {
	// Text writes a value as the text that stands in the side table, and in Go.
	Text(c *column.Column, expr string) string
	// Short is Text for a column of the side table, which has an index: what has over 255 characters is its beginning and
	// a hash of it all.
	Short(c *column.Column, expr string) string
	// Typed casts a text parameter to a column's type, so that an index on the column can be used.
	Typed(c *column.Column, parameter string) string
	// Position writes a number as text of one width, so that texts compare as the numbers do.
	Position(c *column.Column, expr string) string
	// Instant writes a time in UTC as text of one width: 2026-01-31 23:59:59.123456. SQLite keeps what is stored.
	Instant(c *column.Column, expr string) string
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
	// TextTimes says that a time may stand in a column of text.
	TextTimes() bool
}

// Side is how an engine writes what concerns the side table.
type Side interface {
	// Shown writes a time of the side table as text, clock the database's clock.
	Shown(expr string) string
	Clock() string
	// Hold keeps an entry from being removed while a statement looks at rows that it hides, where the engine's
	// statements do not see one state.
	Hold() string
	// Unordered stands before limit where no order is wanted.
	Unordered() string
	// Ddl returns the statements that create the side table. states are the words of its column state.
	Ddl(side statement.Name, states string) []string
}

// Syntax is how an engine writes what concerns mapped tables.
type Syntax interface {
	Catalog
	Values
	Side
}
