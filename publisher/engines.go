package publisher

import (
	"context"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// texts is what is written differently on one engine.
type texts struct {
	syntax statement.Syntax
	low    statement.Low
	tables tables
	claims claims.Syntax
	rows   rows.Syntax
	values rows.Values
	// textTimes says that a time may stand in a column of text.
	textTimes bool
	// longestID is how long an id may be in the table of failed events, in characters; 0: no bound.
	longestID int
	// mostRows bounds what one transaction deletes, and one statement marks; 0: no bound.
	mostRows int
}

// tables is what is asked of an engine's catalog.
type tables interface {
	// Ready refuses a database that the order of events could not be kept in.
	Ready(ctx context.Context, q statement.Querier) error
	// Resolve finds a table; qualified is "" where there is none.
	Resolve(ctx context.Context, q statement.Querier, n statement.Name) (qualified string, err error)
	// Columns reads the columns of a table in their order.
	Columns(ctx context.Context, q statement.Querier, n statement.Name) ([]column.Column, error)
}

var sqliteTexts = texts{syntax: sqlite.Statement{}, tables: sqlite.Tables{}, claims: sqlite.Claims{},
	rows: sqlite.Outbox{}, values: sqlite.Mapping{}, textTimes: true}
