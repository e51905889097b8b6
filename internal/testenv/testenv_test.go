package testenv_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

func TestEachDatabaseIsItsOwnAndGoesAway(t *testing.T) {
	engines := []struct {
		name, driver, list string
		url                func(testing.TB) string
		dsn                func(testing.TB, string) string
	}{
		{"postgres", "pgx", "SELECT count(*) FROM pg_database WHERE datname = $1", testenv.Postgres,
			func(_ testing.TB, u string) string { return u }},
		{"mysql", "mysql", "SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?", testenv.MySQL,
			testenv.MySQLDSN},
	}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			outer := testenv.Open(t, e.driver, e.dsn(t, e.url(t)))
			var gone string
			t.Run("inner", func(t *testing.T) {
				url := e.url(t)
				gone = url[strings.LastIndex(url, "/")+1:]
				gone, _, _ = strings.Cut(gone, "?")
				inner := testenv.Open(t, e.driver, e.dsn(t, url))
				for _, stmt := range []string{"CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)"} {
					if _, err := inner.ExecContext(t.Context(), stmt); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := outer.ExecContext(t.Context(), "SELECT * FROM t"); err == nil {
					t.Error("a table of one test's database is visible in another's")
				}
				if n := count(t, outer, e.list, gone); n != 1 {
					t.Errorf("found %d databases named %s, want 1", n, gone)
				}
			})
			if n := count(t, outer, e.list, gone); n != 0 {
				t.Errorf("database %s is still there after its test", gone)
			}
		})
	}
}

func TestSQLiteFileIsUsable(t *testing.T) {
	url := testenv.SQLite(t)
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok || !filepath.IsAbs(path) {
		t.Fatalf("SQLite returned %q, want sqlite: and an absolute path", url)
	}
	if _, err := testenv.Open(t, "sqlite", path).ExecContext(t.Context(), "CREATE TABLE t (id int)"); err != nil {
		t.Fatal(err)
	}
}

func TestAzuriteNamesItsEndpoints(t *testing.T) {
	conn := testenv.Azurite(t)
	for _, want := range []string{"BlobEndpoint=http://127.0.0.1:", "QueueEndpoint=http://127.0.0.1:", "AccountKey="} {
		if !strings.Contains(conn, want) {
			t.Errorf("the connection string has no %s", want)
		}
	}
}

func TestSQLServerSaysWhenItDidNotRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "engines")
	t.Setenv("ROWRELAY_TEST_ENGINES_FILE", file)
	t.Setenv("ROWRELAY_TEST_SQLSERVER", "")
	skipped := false
	t.Run("server", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		testenv.SQLServer(t)
	})
	if !skipped {
		t.Error("a test without ROWRELAY_TEST_SQLSERVER did not skip")
	}
	got := testfile.Read(t, file)
	if want := "SQL Server: NOT RUN (ROWRELAY_TEST_SQLSERVER is not set)\n"; string(got) != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

func count(t *testing.T, db *sql.DB, query, arg string) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n int
	if err := db.QueryRowContext(ctx, query, arg).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
