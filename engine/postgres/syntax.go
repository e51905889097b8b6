// Package postgres is the engine of PostgreSQL 12 and later, and what speaks like it.
package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/sqltext"
)

// Dialect is the dialect of PostgreSQL 12 and later, and of what speaks like it. Rows are read in the text format
// straight from the wire (read.go): numbers, decimals and times are copied, not parsed.
type Dialect struct{}

// Syntax implements engine.Dialect.
func (Dialect) Syntax() engine.Syntax {
	return engine.Syntax{
		Name:        sqltext.Postgres.Engine,
		Quote:       quote,
		Placeholder: func(n int) string { return "$" + strconv.Itoa(n) },
		// clock is the statement's: clock_timestamp() moves while it runs, and no index is used with it. The session's zone
		// is UTC.
		Clock: func(seconds int) string {
			return fmt.Sprintf("(statement_timestamp() + interval '%d seconds')", seconds)
		},
		RowValues: true,
		Text:      sqltext.Postgres,
		Words:     engine.Value{Kind: engine.KindText, Code: pgText, Expr: "%s"},
		Step:      func(typ string) time.Duration { return engine.TypeStep(typ, 6) },
		Tracking:  tracking(),
		Advice: engine.Advice{
			Reach:       engine.ReachServer,
			Grant:       "GRANT pg_read_all_stats to the role",
			NotExact:    "the cursor is no xid8 column (`rowrelay check --ddl` prints the column and its trigger)",
			Flag:        engine.FlagByCase,
			ExactColumn: exactText,
		},
	}
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
