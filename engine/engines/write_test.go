package engines

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestWriteDBSQLite: it writes, its transactions are the only writer from their beginning, and it never makes a file.
func TestWriteDBSQLite(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	c, err := Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	db := c.WriteDB(2)
	defer db.Close() //nolint:errcheck // the test's own
	if err := db.PingContext(t.Context()); err == nil {
		t.Fatal("the file was made")
	}
	maker, err := sql.Open("sqlite", strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer maker.Close() //nolint:errcheck // the test's own
	if _, err := maker.ExecContext(t.Context(), "CREATE TABLE t (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	testenv.ExecOn(t, db, "INSERT INTO t VALUES (1)")
	tx := testenv.Begin(t, db)
	if _, err := maker.ExecContext(t.Context(),
		"PRAGMA busy_timeout = 0; INSERT INTO t VALUES (2)"); !engine.Transient(sqlite.Dialect{}, err) {
		t.Errorf("another writer beside a transaction that has not written yet: got %v, want busy", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	// What reads stays as it was.
	reader := c.DB(1)
	defer reader.Close() //nolint:errcheck // the test's own
	if _, err := reader.ExecContext(t.Context(), "INSERT INTO t VALUES (3)"); err == nil {
		t.Error("DB can write")
	}
}

// TestWriteDBMySQL: every connection of the pool is in UTC and READ COMMITTED, whatever the server's settings are.
func TestWriteDBMySQL(t *testing.T) {
	t.Parallel()
	c, err := Parse(testenv.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	db := c.WriteDB(2)
	defer db.Close() //nolint:errcheck // the test's own
	var conns []*sql.Conn
	for range 2 {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		var zone, now string
		if err := conn.QueryRowContext(t.Context(),
			"SELECT @@session.time_zone, TIMESTAMPDIFF(HOUR, UTC_TIMESTAMP(), NOW())").Scan(&zone, &now); err != nil {
			t.Fatal(err)
		}
		if zone != "+00:00" || now != "0" {
			t.Errorf("the zone is %s, %s hours off", zone, now)
		}
		var name, level string
		if err := conn.QueryRowContext(t.Context(),
			"SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')").Scan(&name,
			&level); err != nil || level != "READ-COMMITTED" {
			t.Errorf("the isolation is %s, %v", level, err)
		}
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTransientAndMisconfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engineName string
		err        error
		transient  bool
		config     bool
	}{
		{"postgres", &pgconn.PgError{Code: "40P01"}, true, false},
		{"postgres", &pgconn.PgError{Code: "40001"}, true, false},
		{"postgres", &pgconn.PgError{Code: "42P01"}, false, true},
		{"postgres", &pgconn.PgError{Code: "42501"}, false, true},
		{"postgres", &pgconn.PgError{Code: "23505"}, false, false},
		{"postgres", fmt.Errorf("wrapped: %w", driver.ErrBadConn), true, false},
		{"mysql", &mysql.MySQLError{Number: 1213}, true, false},
		{"mysql", &mysql.MySQLError{Number: 1146}, false, true},
		{"mysql", io.ErrUnexpectedEOF, true, false},
		{"sqlserver", mssql.Error{Number: 1205}, true, false},
		{"sqlserver", mssql.Error{Number: 208}, false, true},
		{"sqlserver", &net.OpError{Op: "read", Err: errors.New("reset")}, true, false},
		{"sqlite", context.DeadlineExceeded, false, false},
		{"postgres", &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}, false, false},
		{"postgres", nil, false, false},
		{"oracle", errors.New("any"), false, false},
	} {
		d, _ := Find(c.engineName) // nil for what is no engineName
		if got := engine.Transient(d, c.err); got != c.transient {
			t.Errorf("Transient(%s, %v) = %v", c.engineName, c.err, got)
		}
		if got := engine.Misconfigured(d, c.err); got != c.config {
			t.Errorf("Misconfigured(%s, %v) = %v", c.engineName, c.err, got)
		}
	}
}
