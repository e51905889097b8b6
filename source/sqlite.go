package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/rowrelay/rowrelay/sqltext"
)

// sqliteDialect is the dialect of SQLite 3. A column's declared type is a hint there: every value has its own storage
// class, and that decides its form (sqlite_read.go). A page is read to its end and closed at once: an open read would
// keep the write-ahead log from being truncated.
type sqliteDialect struct{}

func (sqliteDialect) engine() string { return engineSQLite }

func (sqliteDialect) syntax() syntax {
	return syntax{
		placeholder: func(n int) string { return "?" + strconv.Itoa(n) },
		rowValues:   true,
		storedTimes: true,
		text:        sqltext.SQLite,
	}
}

func (sqliteDialect) quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// ready has nothing to set: the connector opens the file with query_only and busy_timeout. SQLite has no incarnation:
// a file that was restored looks like the file it was.
func (sqliteDialect) ready(ctx context.Context, conn *sql.Conn, _ *Config) (life, error) {
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return life{}, fmt.Errorf("read the version: %w", err)
	}
	// Opening a file that is no database succeeds; reading its schema does not.
	var n int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&n); err != nil {
		return life{}, fmt.Errorf("read the schema: %w", err)
	}
	return life{version: "SQLite " + version}, nil
}

// refresh reads the schema's version, which every change of the schema raises. A table has no lasting number: VACUUM
// gives it another root page.
func (sqliteDialect) refresh(ctx context.Context, conn *sql.Conn, l *life) error {
	var version int64
	if err := conn.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	l.table = sqliteSchema + strconv.FormatInt(version, 10)
	return nil
}

// sqliteSchema begins the identity of SQLite's tables.
const sqliteSchema = "schema "

// classify follows SQLite's result codes; the extended ones carry the primary one in their low byte.
func (sqliteDialect) classify(err error) fault {
	var e *sqlite.Error
	switch {
	case errors.Is(err, errSchemaChanged):
		return faultSchema
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EISDIR):
		return faultMissing
	case errors.Is(err, fs.ErrPermission):
		return faultDenied
	case !errors.As(err, &e):
		return faultOther
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return faultTransient
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB:
		return faultMissing
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return faultDenied
	case sqlite3.SQLITE_INTERRUPT:
		return faultTimeout
	case sqlite3.SQLITE_SCHEMA:
		return faultSchema
	case sqlite3.SQLITE_ERROR:
		// One code for every fault of a statement: only the text tells them apart.
		if strings.Contains(e.Error(), "no such") {
			return faultSchema
		}
		return faultSyntax
	}
	return faultOther
}

func (sqliteDialect) explain(ctx context.Context, conn *sql.Conn, text string, args []any) (string, error) {
	rows, err := conn.QueryContext(ctx, "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	var b strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", fmt.Errorf("explain: %w", err)
		}
		b.WriteString(detail + "\n")
	}
	if err := rows.Err(); err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	return b.String(), nil
}
