package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// optionsSQL names the database: on Azure SQL Database its number in sys.databases is not DB_ID()'s.
const optionsSQL = "SELECT is_read_committed_snapshot_on, CAST(compatibility_level AS int) FROM sys.databases WHERE name = DB_NAME()"

// leastLevel is the first compatibility level that knows OPENJSON. Below it SQL Server calls that a table which is
// not there, as listsSQL shows; another engine of its protocol may tell a low level and know it.
const (
	leastLevel = 130
	listsSQL   = "SELECT COUNT(*) FROM OPENJSON(N'[]') AS j"
)

// Ready refuses a database whose READ COMMITTED reads with locks (the default but on Azure SQL): every read would
// wait for each writer's open transaction, and a scan can miss a row that becomes PENDING after it has
// passed, and return a later one of the same aggregate. So can one that finds an earlier event's failure beside a
// table, and for the later event none any more. A database that does not say so is refused too.
func Ready(ctx context.Context, q statement.Querier) error {
	var on sql.NullBool
	var level sql.NullInt64
	err := q.QueryRowContext(ctx, optionsSQL).Scan(&on, &level)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !on.Valid:
		return fmt.Errorf("%w: sys.databases does not say whether READ_COMMITTED_SNAPSHOT is ON, without which the order of events could not be kept: "+
			"let the login see the row of its database", change.ErrConfig)
	case err != nil:
		return fmt.Errorf("read the database's options: %w", err)
	case !on.Bool:
		return fmt.Errorf("%w: the database reads with locks, so that the order of events could not be kept: run ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON",
			change.ErrConfig)
	case !level.Valid || level.Int64 >= leastLevel:
		return nil
	}
	var none int
	err = q.QueryRowContext(ctx, listsSQL).Scan(&none)
	if engine.Misconfigured(Dialect{}, err) {
		err = fmt.Errorf("%w: the database's compatibility level is %d, and an outbox takes %d (SQL Server 2016) or higher: "+
			"run ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = %d: %w", change.ErrConfig, level.Int64, leastLevel, leastLevel,
			err)
	}
	return err
}

// Resolve returns schema.table, or "" where OBJECT_ID finds none or the login may not see it.
func Resolve(ctx context.Context, q statement.Querier, n statement.Name) (string, error) {
	var schema, table sql.NullString
	_, err := n.Found(q.QueryRowContext(ctx, "SELECT OBJECT_SCHEMA_NAME(OBJECT_ID(@p1)), OBJECT_NAME(OBJECT_ID(@p1))",
		n.String()), &schema, &table)
	if err != nil || !table.Valid {
		return "", err
	}
	return schema.String + "." + table.String, nil
}
