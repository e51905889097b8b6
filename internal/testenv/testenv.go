// Package testenv gives a test a real engine, and a database of its own in it.
//
//	func TestSomething(t *testing.T) {
//		url := testenv.Postgres(t) // postgres://…/rr_…: created for this test, dropped after it
//
// The engines are those that `scripts/services.sh env` brings up and names in ROWRELAY_TEST_POSTGRES,
// ROWRELAY_TEST_MYSQL, ROWRELAY_TEST_AZURITE and ROWRELAY_TEST_RABBITMQ. A test whose engine is not there fails and
// says how to start it: no test skips quietly. The one exception is SQL Server, which no Debian package brings: without
// ROWRELAY_TEST_SQLSERVER its tests skip, and say so.
//
// When ROWRELAY_TEST_ENGINES_FILE names a file, each engine that a test really reached is appended
// to it as one line, "PostgreSQL 15.14"; `make test` ends with these lines and fails when one of
// the required engines is missing.
package testenv

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"  // database/sql driver "pgx"
	_ "github.com/microsoft/go-mssqldb" // database/sql driver "sqlserver"
	_ "modernc.org/sqlite"              // database/sql driver "sqlite"
)

// setup bounds the start of a server, and each statement that makes or drops a database.
const setup = 3 * time.Minute

// Postgres returns the postgres:// URL, password included, of a new and empty database. It is
// dropped, with every connection still open to it, when the test ends.
func Postgres(tb testing.TB) string {
	tb.Helper()
	server := required(tb, "ROWRELAY_TEST_POSTGRES")
	db := open(tb, "pgx", server)
	defer closeDB(tb, db)
	record(tb, "PostgreSQL", query(tb, db, "SELECT current_setting('server_version')"))
	name := databaseName(tb)
	exec(tb, db, "CREATE DATABASE "+name)
	tb.Cleanup(func() { drop(tb, "pgx", server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	return withDatabase(tb, "ROWRELAY_TEST_POSTGRES", server, name)
}

// MySQL returns the mysql:// URL, password included, of a new and empty database (on MariaDB, or on
// whatever ROWRELAY_TEST_MYSQL names). It is dropped when the test ends.
func MySQL(tb testing.TB) string {
	tb.Helper()
	server := required(tb, "ROWRELAY_TEST_MYSQL")
	dsn := MySQLDSN(tb, server)
	db := open(tb, "mysql", dsn)
	defer closeDB(tb, db)
	engine := "MySQL"
	if IsMariaDB(tb, db) {
		engine = "MariaDB"
	}
	record(tb, engine, query(tb, db, "SELECT VERSION()"))
	name := databaseName(tb)
	exec(tb, db, "CREATE DATABASE "+name)
	tb.Cleanup(func() { drop(tb, "mysql", dsn, "DROP DATABASE IF EXISTS "+name) })
	return withDatabase(tb, "ROWRELAY_TEST_MYSQL", server, name)
}

// MySQLDSN turns a mysql:// URL into the DSN that go-sql-driver/mysql opens, with the driver's own
// defaults: for a test that writes rows beside the code under test.
func MySQLDSN(tb testing.TB, mysqlURL string) string {
	tb.Helper()
	u, err := url.Parse(mysqlURL)
	if err != nil || u.Scheme != "mysql" {
		tb.Fatal("testenv: not a mysql:// URL") // without the value: it holds a password
	}
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr = "tcp", u.Host
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	return cfg.FormatDSN()
}

// SQLite returns "sqlite:" and the path of a database file that does not exist yet, in a directory
// that is deleted when the test ends. Close every connection to it before that.
func SQLite(tb testing.TB) string {
	tb.Helper()
	db := open(tb, "sqlite", ":memory:")
	defer closeDB(tb, db)
	record(tb, "SQLite", query(tb, db, "SELECT sqlite_version()"))
	return "sqlite:" + filepath.Join(tb.TempDir(), "test.db")
}

// SQLServer returns the sqlserver:// URL of a new and empty database on the server that
// ROWRELAY_TEST_SQLSERVER names (a sqlserver:// URL of a login that may create databases). Without
// that variable the test skips: the only one of this package that may.
func SQLServer(tb testing.TB) string {
	tb.Helper()
	server := os.Getenv("ROWRELAY_TEST_SQLSERVER")
	if server == "" {
		NotRun(tb, "SQL Server", "ROWRELAY_TEST_SQLSERVER is not set")
		tb.Skip("SQL Server: not run. Set ROWRELAY_TEST_SQLSERVER to sqlserver://sa:PASSWORD@HOST:1433 of a server for tests " +
			"(deploy/compose.yaml brings one up where there is Docker)")
	}
	db := open(tb, "sqlserver", server)
	defer closeDB(tb, db)
	record(tb, "SQL Server", query(tb, db, "SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(64))"))
	name := databaseName(tb)
	exec(tb, db, "CREATE DATABASE "+name)
	exec(tb, db, "ALTER DATABASE "+name+" SET READ_COMMITTED_SNAPSHOT ON")
	tb.Cleanup(func() {
		// SINGLE_USER first: DROP DATABASE waits for, and fails on, open connections.
		drop(tb, "sqlserver", server, "ALTER DATABASE "+name+" SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE "+name)
	})
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal("testenv: ROWRELAY_TEST_SQLSERVER is not a URL")
	}
	q := u.Query()
	q.Set("database", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// required returns the value of a variable that services.sh sets.
func required(tb testing.TB, name string) string {
	tb.Helper()
	v := os.Getenv(name)
	if v == "" && testing.Short() {
		tb.Skip("no services: `make test` runs this")
	}
	if v == "" {
		tb.Fatalf("%s is not set. Run the tests with `make test`, or first: eval \"$(scripts/services.sh env)\"", name)
	}
	return v
}

// databaseName is short and unique among all tests, processes and reused services; all letters
// and digits, so that no engine needs it quoted.
func databaseName(tb testing.TB) string {
	tb.Helper()
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		tb.Fatalf("testenv: read random bytes: %v", err)
	}
	return "rr_" + hex.EncodeToString(b[:])
}

func withDatabase(tb testing.TB, variable, server, name string) string {
	tb.Helper()
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatalf("testenv: %s is not a URL", variable)
	}
	u.Path = "/" + name
	return u.String()
}

// Open opens a database for a test beside the code under test, until the test ends.
func Open(tb testing.TB, driver, dsn string) *sql.DB {
	tb.Helper()
	db := open(tb, driver, dsn)
	tb.Cleanup(func() { closeDB(tb, db) })
	return db
}

func open(tb testing.TB, driver, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		tb.Fatalf("testenv: open %s: %v", driver, err)
	}
	return db
}

func closeDB(tb testing.TB, db *sql.DB) {
	tb.Helper()
	if err := db.Close(); err != nil {
		tb.Errorf("testenv: close: %v", err)
	}
}

// Exec runs statements, all on one connection, and fails the test where one fails.
func Exec(tb testing.TB, db *sql.DB, statements ...string) {
	tb.Helper()
	conn, err := db.Conn(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // back to the pool
	ExecOn(tb, conn, statements...)
}

// ExecOn is Exec on a connection, or in a transaction.
func ExecOn(tb testing.TB, conn interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statements ...string) {
	tb.Helper()
	for _, s := range statements {
		if _, err := conn.ExecContext(tb.Context(), s); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}

// Begin opens a transaction that is rolled back when the test ends, if not before.
func Begin(tb testing.TB, db *sql.DB, statements ...string) *sql.Tx {
	tb.Helper()
	tx, err := db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tx.Rollback() })
	ExecOn(tb, tx, statements...)
	return tx
}

// Commit commits a transaction.
func Commit(tb testing.TB, tx *sql.Tx) {
	tb.Helper()
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
}

func exec(tb testing.TB, db *sql.DB, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setup)
	defer cancel()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		tb.Fatalf("testenv: %s: %v", statement, err)
	}
}

func query(tb testing.TB, db *sql.DB, statement string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setup)
	defer cancel()
	var v string
	if err := db.QueryRowContext(ctx, statement).Scan(&v); err != nil {
		tb.Fatalf("testenv: %s: %v\nIf the engine is not running: eval \"$(scripts/services.sh env)\"", statement, err)
	}
	return v
}

func drop(tb testing.TB, driver, dsn, statement string) {
	tb.Helper()
	db := open(tb, driver, dsn)
	defer closeDB(tb, db)
	exec(tb, db, statement)
}

// NotRun notes what a test could not do on this machine, and why, among the last lines of `make test`: nothing skips
// quietly.
func NotRun(tb testing.TB, what, why string) {
	tb.Helper()
	record(tb, what+":", "NOT RUN ("+why+")")
}

// recorded keeps one line per engine and process out of the file's way.
var recorded sync.Map

// record appends "engine version" to the file that `make test` reads at its end. Appends of one
// short line are atomic, so the test binaries of many packages share the file.
func record(tb testing.TB, engine, version string) {
	tb.Helper()
	path := os.Getenv("ROWRELAY_TEST_ENGINES_FILE")
	line := fmt.Sprintf("%s %s\n", engine, version)
	if _, again := recorded.LoadOrStore(line, true); again || path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		tb.Fatalf("testenv: open ROWRELAY_TEST_ENGINES_FILE: %v", err)
	}
	if _, err := f.WriteString(line); err != nil {
		tb.Errorf("testenv: write ROWRELAY_TEST_ENGINES_FILE: %v", err)
	}
	if err := f.Close(); err != nil {
		tb.Errorf("testenv: close ROWRELAY_TEST_ENGINES_FILE: %v", err)
	}
}
