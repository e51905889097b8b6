// Package sqlserver is the engine of SQL Server 2016 and later, Azure SQL Database and Managed Instance.
package sqlserver

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver/tsql"
	"github.com/rowrelay/rowrelay/sqltext"
)

// Dialect is the dialect of SQL Server 2016 and later, Azure SQL Database and Managed Instance.
//
// Every parameter is cast to its column's own type: SQL Server otherwise converts the column, which costs the index
// seek, and for the legacy datetime makes equality wrong (.187 is .1866667 once it is a datetime2).
type Dialect struct{}

// Syntax implements engine.Dialect.
func (Dialect) Syntax() engine.Syntax {
	return engine.Syntax{
		Name:        sqltext.SQLServer.Engine,
		Quote:       tsql.Quote,
		Placeholder: func(n int) string { return "@p" + strconv.Itoa(n) },
		Clock:       func(seconds int) string { return fmt.Sprintf("DATEADD(second, %d, SYSUTCDATETIME())", seconds) },
		Top:         true,
		Unites:      true,
		SkipLocked:  " WITH (READPAST)",
		Safe:        &engine.SafePoint{Before: watermarkSQL, Parameter: "watermark", Limit: "@safe"},
		Text:        sqltext.SQLServer,
		Words:       engine.Value{Kind: engine.KindText, Code: msText},
		Step:        step,
		Tracking:    tracking(),
		Advice: engine.Advice{
			Reach:       engine.ReachServer,
			Unopened:    unopened,
			Unlock:      readVersions,
			Grant:       "GRANT VIEW SERVER STATE to the login (" + stateOnAzure + ")",
			NotExact:    "the cursor is no rowversion column (ALTER TABLE … ADD rv rowversion)",
			Flag:        engine.FlagByCase,
			ExactColumn: exactText,
		},
	}
}

// step: the legacy types have a resolution of their own.
func step(typ string) time.Duration {
	switch typ {
	case "datetime":
		return 10 * time.Millisecond / 3
	case "smalldatetime":
		return time.Minute
	}
	return engine.TypeStep(typ, 7)
}

// readVersions is what makes reads not wait for writers.
const readVersions = "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON when the application is at rest, or ALLOW_SNAPSHOT_ISOLATION ON at any time"

// stateOnAzure is the right on Azure SQL Database. There the view of transactions takes the server's role in the
// smaller tiers.
const stateOnAzure = "on Azure SQL Database VIEW DATABASE STATE to the user; on Basic, S0, S1 and in elastic pools " +
	"ALTER SERVER ROLE ##MS_ServerStateReader## ADD MEMBER the login"

// rowVersionColumn is the column that makes a table readable exactly.
const rowVersionColumn = "rowrelay_rv"

// exactText is the statement that adds it, and its index.
func exactText(t *engine.Table, key []string) string {
	quoted := []string{tsql.Quote(rowVersionColumn)}
	for _, name := range key {
		quoted = append(quoted, tsql.Quote(name))
	}
	return "-- Every write sets the column. To add it writes every row once, under a lock. Then set source__cursor=" +
		rowVersionColumn + ".\n" +
		"ALTER TABLE " + t.From + " ADD " + tsql.Quote(rowVersionColumn) + " rowversion;\nGO\n" +
		"CREATE INDEX " + tsql.Quote("ix_"+rowVersionColumn) + " ON " + t.From + " (" + strings.Join(quoted, ", ") + ");\n"
}
