package publisher

import (
	"context"
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// mappedTables is what is asked of the catalog of an engine.
type mappedTables interface {
	// columns reads the columns of a table in their order.
	columns(ctx context.Context, q statement.Querier, table statement.Name) ([]column.Column, error)
	// resolve finds a table; qualified is "" where there is none.
	resolve(ctx context.Context, q statement.Querier, table statement.Name) (qualified string, err error)
}

// mappedValues is how an engine writes values of a user's table. expr is a column of it, parameter a text.
//
// Values travel as text: ids, aggregates and positions are compared with what the side table holds, and that is text under a binary
// collation. Only where an index of the user's table has to serve a condition is the parameter cast to the column's type instead.
type mappedValues interface {
	// text writes a value as the text that stands in the side table, and in Go.
	text(c *column.Column, expr string) string
	// typed casts a text parameter to a column's type, so that an index on the column can be used.
	typed(c *column.Column, parameter string) string
	// position writes a number as text of one width, so that texts compare as the numbers do.
	position(c *column.Column, expr string) string
	// instant writes a time in UTC as text of one width: 2026-01-31 23:59:59.123456. SQLite keeps what is stored.
	instant(c *column.Column, expr string) string
	// atInstant casts a text that instant wrote back to the column's type.
	atInstant(c *column.Column, parameter string) string
	// now is the database's clock, less so many milliseconds that a parameter says ("" for none), as a value of the column.
	now(c *column.Column, less string) string
	// literal writes a state's value, in which there is no quote.
	literal(c *column.Column, value string) string
	// boolean writes true or false for a column that says whether an event was published.
	boolean(c *column.Column, v bool) string
	// payload writes the column of the payload as it is read.
	payload(c *column.Column, expr string) string
	// textTimes says that a time may stand in a column of text.
	textTimes() bool
}

// mappedSide is how an engine writes what concerns the side table.
type mappedSide interface {
	// shown writes a time of the side table as text, clock the database's clock.
	shown(expr string) string
	clock() string
	// hold keeps an entry from being removed while a statement looks at rows that it hides, where the engine's statements do not
	// see one state.
	hold() string
	// unordered stands before limit where no order is wanted.
	unordered() string
	// ddl returns the statements that create the side table. states are the words of its column state.
	ddl(side statement.Name, states string) []string
}

// mappingSyntax is how an engine writes what concerns mapped tables.
type mappingSyntax interface {
	mappedTables
	mappedValues
	mappedSide
}
