package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// Prepare has nothing to set: the connector opens the file with query_only and busy_timeout. SQLite has no incarnation:
// a file that was restored looks like the file it was.
func (Dialect) Prepare(ctx context.Context, conn *sql.Conn, _ engine.Settings) (engine.Server, error) {
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return engine.Server{}, fmt.Errorf("read the version: %w", err)
	}
	// Opening a file that is no database succeeds; reading its schema does not.
	var n int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&n); err != nil {
		return engine.Server{}, fmt.Errorf("read the schema: %w", err)
	}
	return engine.Server{Version: "SQLite " + version}, nil
}

// Refresh reads the schema's version, which every change of the schema raises. A table has no lasting number: VACUUM
// gives it another root page.
func (Dialect) Refresh(ctx context.Context, conn *sql.Conn, l *engine.Server) error {
	var version int64
	if err := conn.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	l.Table = schemaIdentity + strconv.FormatInt(version, 10)
	return nil
}

// Explain implements engine.Dialect.
func (Dialect) Explain(ctx context.Context, conn *sql.Conn, text string, args []any) (string, error) {
	var b strings.Builder
	err := engine.EachRow(ctx, conn, "EXPLAIN QUERY PLAN "+text, args, func(scan func(...any) error) error {
		var id, parent, unused int
		var detail string
		if err := scan(&id, &parent, &unused, &detail); err != nil {
			return err
		}
		b.WriteString(detail + "\n")
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	return b.String(), nil
}
