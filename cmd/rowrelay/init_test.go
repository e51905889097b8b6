package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// runSQL runs statements on the database of a connection string.
func runSQL(t *testing.T, connection string, statements ...string) {
	t.Helper()
	c, err := engines.Parse(connection)
	if err != nil {
		t.Fatal(err)
	}
	db := c.WriteDB(1)
	defer db.Close() //nolint:errcheck // a test's
	testenv.Exec(t, db, statements...)
}

// newFile is an SQLite database with nothing in it.
func newFile(t *testing.T) string {
	t.Helper()
	connection := testenv.SQLite(t)
	testfile.Write(t, strings.TrimPrefix(connection, "sqlite:"), "")
	return connection
}

// initIn runs init, whose questions get typed as answers, in a directory of its own.
func initIn(t *testing.T, typed string, environ []string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := execute(t.Context(), append([]string{"init"}, args...), environ, strings.NewReader(typed), &out, &out)
	return out.String(), err
}

// TestInit asks, proposes with reasons, writes, and ends with a check that finds nothing at fault.
func TestInit(t *testing.T) {
	t.Chdir(t.TempDir())
	database := newFile(t)
	runSQL(t, database, `CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, updated_at DATETIME NOT NULL)`)
	runSQL(t, database, `INSERT INTO orders VALUES (1, 'tea', '2026-04-07 01:23:45')`)
	out, err := initIn(t, database+"\norders\nstdout\norders\n", nil, "Orders")
	if err != nil {
		t.Fatal(err, out)
	}
	for _, want := range []string{
		`cursor     updated_at: has a word in its name that begins with "updat"`, "key        id: the primary key",
		"late       overlap: exact is not possible", "CREATE INDEX", "ORDERS_DB=«redacted»", "local.settings.json written",
		"orders/function.json written", `"data":{"id":1,"item":"tea"`, "1 of 1 poller ok",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if info, err := os.Stat("local.settings.json"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := initIn(t, "", nil, "orders"); err == nil || !strings.Contains(err.Error(), "a poller orders already") {
		t.Error(err)
	}
	// A second poller joins the first in the file, and shares its connection by name.
	out, err = initIn(t, "", nil, "audit", "--database", "ORDERS_DB", "--table", "orders", "--to",
		"https://e.com/x?code=100%25planted",
		"--cursor", "id", "--yes")
	if err != nil || strings.Contains(out, "planted") {
		t.Error(err, out)
	}
	text, err := os.ReadFile("local.settings.json")
	for _, want := range []string{`"pollers__audit__source__connection": "ORDERS_DB"`,
		`"pollers__orders__source__cursor": "updated_at"`,
		`"pollers__audit__output__url": "https://e.com/x?code=100%%25planted"`} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v: %s is not in %s", err, want, text)
		}
	}
}

// TestInitWritesNothing where an answer is missing or wrong, where nobody agrees, and for a dry run.
func TestInitWritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	database := newFile(t)
	runSQL(t, database, `CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)`)
	runSQL(t, database, `CREATE TABLE loose (item TEXT)`)
	flags := func(more ...string) []string {
		return append([]string{"orders", "--database", database, "--table", "orders", "--to", "stdout"}, more...)
	}
	for says, c := range map[string]struct {
		typed string
		args  []string
	}{
		"init needs --table":           {database + "\n\n", []string{"orders"}},
		"not confirmed":                {"no\n", flags()},
		"dry run: nothing was written": {"", flags("--dry-run")},
		"new rows are seen, updates":   {"", flags("--dry-run", "--mode", "cursor")},
		"no table \"nobody\"":          {"", flags("--table", "nobody")},
		"--to is stdout or a URL":      {"", flags("--to", "queue")},
		"--mode is cursor":             {"", flags("--mode", "cdc")},
		"loose has no primary key":     {"", flags("--table", "loose")},
		"connection string":            {"", flags("--database", "planted")},
		"as you said":                  {"", flags("--dry-run", "--cursor", "id", "--key", "id")},
		"none: change tracking":        {"", flags("--dry-run", "--mode", "changetracking")},
		"there is no column \"nope\"":  {"", flags("--cursor", "nope")},
	} {
		out, err := initIn(t, c.typed, nil, c.args...)
		if err != nil {
			out += err.Error()
		}
		if !strings.Contains(out, says) || strings.Contains(out, "planted") {
			t.Errorf("%q: %q is not in\n%s", c.args, says, out)
		}
	}
	if files, err := filepath.Glob("*"); len(files) > 0 || err != nil {
		t.Errorf("%q was written: %v", files, err)
	}
	writeHere(t, "local.settings.json", "{\n  // mine\n  \"Values\": {}\n}", 0o600)
	if out, err := initIn(t, "", nil, flags("--yes")...); err == nil || !strings.Contains(err.Error(), "holds comments") {
		t.Error(err, out)
	}
}

// TestInitProposes what suits a table, on each engine.
func TestInitProposes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name, url, ddl string
		want           []string
	}{
		{"xid8", testenv.Postgres(t), `CREATE TABLE t (id uuid PRIMARY KEY, updated_at timestamptz NOT NULL, x xid8 NOT NULL)`,
			[]string{"cursor     x: is an xid8", "late       exact:"}},
		{"time", testenv.Postgres(t), `CREATE TABLE t (a int NOT NULL, b int NOT NULL, changed timestamptz NOT NULL, UNIQUE (a, b))`,
			[]string{"cursor     changed: ", "key        a, b: the unique index t_a_b_key"}},
		{"nothing", testenv.Postgres(t), `CREATE TABLE t (id uuid PRIMARY KEY, item text)`,
			[]string{"cursor     none: change tracking: no column grows", "source__mode=changetracking"}},
		{"mysql", testenv.MySQL(t), `CREATE TABLE t (id bigint PRIMARY KEY, at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6))`,
			[]string{"cursor     at: is set by the database itself with every update"}},
	} {
		runSQL(t, c.url, c.ddl)
		out, err := initIn(t, "", nil, "orders", "--database", c.url, "--table", "t", "--to", "stdout", "--dry-run")
		for _, want := range c.want {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%s: %v: %q is not in\n%s", c.name, err, want, out)
			}
		}
	}
}
