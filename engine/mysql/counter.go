package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
)

// autoIncrementSQL reads the next value.
const autoIncrementSQL = `SELECT CAST(t.AUTO_INCREMENT - 1 AS CHAR)
FROM information_schema.TABLES t
JOIN information_schema.COLUMNS c ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME
WHERE t.TABLE_SCHEMA = ? AND t.TABLE_NAME = ? AND c.COLUMN_NAME = ? AND LOWER(c.EXTRA) LIKE '%auto_increment%'`

// Counter reads AUTO_INCREMENT, which values that are written explicitly raise.
func (Dialect) Counter(ctx context.Context, conn *sql.Conn, t *engine.Table, col *engine.Column) (engine.Counter,
	error) {
	parts, err := engine.SplitName(t.From)
	if err != nil || len(parts) != 2 {
		return engine.Counter{}, err
	}
	var last sql.NullString
	err = conn.QueryRowContext(ctx, autoIncrementSQL, parts[0], parts[1], col.Name).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return engine.Counter{}, fmt.Errorf("read AUTO_INCREMENT: %w", err)
	}
	return engine.Counter{Name: "AUTO_INCREMENT of " + t.Name, Highest: last.String}, nil
}
