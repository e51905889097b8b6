package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
)

// Counter reads sqlite_sequence, which values that are written explicitly raise. A table without AUTOINCREMENT is not
// in it.
func (d Dialect) Counter(ctx context.Context, conn *sql.Conn, t *engine.Table, col *engine.Column) (engine.Counter,
	error) {
	if !col.Serial {
		return engine.Counter{}, nil
	}
	parts, err := engine.SplitName(t.From)
	if err != nil {
		return engine.Counter{}, err
	}
	schema := "main"
	if len(parts) == 2 {
		schema = parts[0]
	}
	var last sql.NullString
	err = conn.QueryRowContext(ctx, "SELECT CAST(seq AS TEXT) FROM "+quote(schema)+".sqlite_sequence WHERE name = ?1",
		parts[len(parts)-1]).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return engine.Counter{}, fmt.Errorf("read sqlite_sequence: %w", err)
	}
	return engine.Counter{Name: "sqlite_sequence of " + t.Name, Highest: last.String}, nil
}
