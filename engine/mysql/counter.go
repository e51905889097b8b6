package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
	"github.com/rowrelay/rowrelay/engine"
)

// autoIncrementSQL reads the next value.
const autoIncrementSQL = `SELECT CAST(t.AUTO_INCREMENT - 1 AS CHAR)
FROM information_schema.TABLES t
JOIN information_schema.COLUMNS c ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME
WHERE t.TABLE_SCHEMA = ? AND t.TABLE_NAME = ? AND c.COLUMN_NAME = ? AND LOWER(c.EXTRA) LIKE '%auto_increment%'`

// freshSQL makes information_schema tell what is, where MySQL 8 would tell what was up to a day ago. MariaDB has no
// such variable, and no such memory.
const freshSQL = "SET SESSION information_schema_stats_expiry = 0"

const unknownVariable = 1193

// Counter reads AUTO_INCREMENT, which values that are written explicitly raise.
func (Dialect) Counter(ctx context.Context, conn *sql.Conn, t *engine.Table, col *engine.Column) (engine.Counter,
	error) {
	parts, err := engine.SplitName(t.From)
	if err != nil || len(parts) != 2 {
		return engine.Counter{}, err
	}
	var unknown *mysql.MySQLError
	if _, err := conn.ExecContext(ctx, freshSQL); err != nil &&
		(!errors.As(err, &unknown) || unknown.Number != unknownVariable) {
		return engine.Counter{}, fmt.Errorf("ask for fresh statistics: %w", err)
	}
	var last sql.NullString
	err = conn.QueryRowContext(ctx, autoIncrementSQL, parts[0], parts[1], col.Name).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return engine.Counter{}, fmt.Errorf("read AUTO_INCREMENT: %w", err)
	}
	return engine.Counter{Name: "AUTO_INCREMENT of " + t.Name, Highest: last.String}, nil
}
