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
	claims claims.Syntax
	rows   rows.Syntax
	values rows.Values
	// resolve finds a table in the catalog; qualified is "" where there is none. kind is what a type is for statements.
	resolve func(ctx context.Context, q statement.Querier, n statement.Name) (qualified string, err error)
	kind    func(typ string) column.Kind
	// ready refuses a database that the order of events could not be kept in; nil: every one does.
	ready func(ctx context.Context, q statement.Querier) error
	// textTimes says that a time may stand in a column of text.
	textTimes bool
	// longestID is how long an id may be in the table of failed events, in characters; 0: no bound.
	longestID int
	// mostRows bounds what one transaction deletes, and one statement marks; 0: no bound.
	mostRows int
}

var sqliteTexts = texts{syntax: sqlite.Statement{}, claims: sqlite.Claims{}, rows: sqlite.Outbox{},
	values: sqlite.Mapping{}, resolve: sqlite.Resolve, kind: sqlite.KindOf, textTimes: true}
