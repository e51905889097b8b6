package source_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/sourcetest"
)

func TestChangesPostgres(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	sourcetest.RunChanges(t, sourcetest.Engine{Name: "postgres", URL: url, DB: testenv.Open(t, "pgx", url),
		BigInt: "bigint", Text: "varchar(100)", Quote: quoted})
}

func TestChangesSQLite(t *testing.T) {
	t.Parallel()
	url, db := sqliteFile(t)
	sourcetest.RunChanges(t, sourcetest.Engine{Name: "sqlite", URL: url, DB: db, BigInt: "bigint", Text: "varchar(100)",
		Quote: quoted})
}

func TestChangesMySQL(t *testing.T) {
	t.Parallel()
	url := testenv.MySQL(t)
	sourcetest.RunChanges(t, sourcetest.Engine{Name: "mysql", URL: url, DB: testenv.Open(t, "mysql",
		testenv.MySQLDSN(t, url)), BigInt: "bigint", Text: "varchar(100)",
		Quote: func(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }})
}

func TestChangesSQLServer(t *testing.T) {
	t.Parallel()
	url := testenv.SQLServer(t)
	sourcetest.RunChanges(t, sourcetest.Engine{Name: "sqlserver", URL: url, DB: testenv.Open(t, "sqlserver", url),
		BigInt: "bigint", Text: "varchar(100)",
		Quote: func(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }})
}

// sqliteFile makes a database file, and returns its URL and who writes to it.
func sqliteFile(t testing.TB) (string, *sql.DB) {
	t.Helper()
	url := testenv.SQLite(t)
	db := testenv.Open(t, "sqlite",
		strings.TrimPrefix(url, "sqlite:")+"?_pragma=journal_mode(wal)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if _, err := db.Exec("CREATE TABLE made (id integer)"); err != nil {
		t.Fatal(err)
	}
	return url, db
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
