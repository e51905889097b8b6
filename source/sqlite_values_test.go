package source

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// sqliteValues are literals and the JSON that they become: by storage class, checked against the declared type.
var sqliteValues = []struct{ typ, literal, want string }{
	{"INTEGER", "9007199254740991", `9007199254740991`}, {"INTEGER", "9007199254740992", `"9007199254740992"`},
	{"BIGINT", "-9223372036854775808", `"-9223372036854775808"`},
	{"INT", "'12'", `12`}, {"INT", "'twelve'", `"twelve"`}, {"INT", "1.5", `1.5`}, {"INT", "NULL", `null`},
	{"BOOLEAN", "1", `true`}, {"BOOL", "0", `false`}, {"BOOLEAN", "2", `2`}, {"BOOLEAN", "NULL", `null`},
	{"NUMERIC", "12.50", `12.5`}, {"DECIMAL(10,2)", "'12.50'", `12.5`},
	{"DECIMAL(30,2)", "'123456789012345678901234567890.12'", `1.2345678901234568e+29`},
	{"REAL", "0.1", `0.1`}, {"DOUBLE PRECISION", "1e300", `1e+300`}, {"FLOAT", "9e999", `"Infinity"`}, {"REAL", "7", `7`},
	{"TEXT", `'a"' || char(1) || 'é😀'`, `"a\"\u0001é😀"`}, {"VARCHAR(3)", "'longer'", `"longer"`}, {"TEXT", "12", `"12"`},
	{"CLOB", "''", `""`},
	{"UUID", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
	{"BLOB", "x'00ff'", `"AP8="`}, {"BLOB", "x''", `""`},
	{"DATE", "'2026-04-07'", `"2026-04-07"`}, {"DATETIME", "'2026-04-07 01:23:45.120'", `"2026-04-07 01:23:45.120"`},
	{"TIMESTAMP", "'2026-04-07T01:23:45Z'", `"2026-04-07T01:23:45Z"`},
	{"DATETIME", "1775525025", `1775525025`}, {"TIMESTAMP", "2461137.5", `2461137.5`}, {"DATETIME", "'now'", `"now"`},
	{"TIME", "'01:02:03'", `"01:02:03"`},
	{"JSON", `'{"b": [1, " x "]}'`, `{"b":[1," x "]}`}, {"JSON", "'7'", `7`}, {"ANY", "'x'", `"x"`}, {"", "1", `1`},
}

func TestSQLiteValues(t *testing.T) {
	t.Parallel()
	columns, values, want := "", "", `{"id":1,"v":1`
	for i, c := range sqliteValues {
		columns += fmt.Sprintf(", c%d %s", i, c.typ)
		values += ", " + c.literal
		want += fmt.Sprintf(`,"c%d":%s`, i, c.want)
	}
	src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "vals", Cursor: []string{"v"}},
		"CREATE TABLE vals (id INTEGER PRIMARY KEY, v INT NOT NULL"+columns+")", "INSERT INTO vals VALUES (1, 1"+values+")")
	page, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(page.Events[0].Row); got != want+"}" {
		t.Errorf("\n got %s\nwant %s}", got, want)
	}
}

// TestSQLiteBroken: a value whose form could be another value's is not sent: its row says so, and the rows behind it
// come.
func TestSQLiteBroken(t *testing.T) {
	t.Parallel()
	for i, c := range []struct{ typ, literal, word string }{
		{"TEXT", "x'41'", "a BLOB"}, {"INT", "x'41'", "a BLOB"}, {"BLOB", "'text'", "text"}, {"BLOB", "7", "an integer"},
		{"JSON", "'{'", "not JSON"}, {"TEXT", "CAST(x'ff' AS TEXT)", "UTF-8"}, {"NUMERIC", "9e999", "infinite"},
	} {
		src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "vals", Cursor: []string{"v"}},
			"CREATE TABLE vals (id INTEGER PRIMARY KEY, v INT NOT NULL, odd "+c.typ+")",
			"INSERT INTO vals VALUES (6, 1, NULL), (7, 1, "+c.literal+"), (8, 1, NULL)")
		page, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
		if err != nil || len(page.Events) != 3 || page.Events[0].Broken != nil || page.Events[2].Broken != nil {
			t.Fatalf("%d: %+v, %v", i, page.Events, err)
		}
		bad := page.Events[1]
		if bad.Broken == nil || string(bad.Row) != "null" || string(bad.Key) != `{"id":7}` {
			t.Fatalf("%s %s: %+v", c.typ, c.literal, bad)
		}
		for _, word := range []string{c.word, `"odd"`, `{"id":7}`, "source__columns"} {
			if !strings.Contains(bad.Broken.Error(), word) {
				t.Errorf("%s %s: no %q: %v", c.typ, c.literal, word, bad.Broken)
			}
		}
	}
}

// TestSQLiteFile: a file that is absent, a directory, or no database, is a fault of the settings, and is not created.
func TestSQLiteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	testfile.Write(t, garbage, strings.Repeat("not a database ", 100))
	absent := filepath.Join(dir, "absent.db")
	shut := filepath.Join(dir, "shut.db") // a database in WAL mode that cannot make its second file
	db := testenv.Open(t, "sqlite", shut)
	testenv.Exec(t, db, "PRAGMA journal_mode = WAL", "CREATE TABLE orders (id INTEGER PRIMARY KEY, v INT)")
	if err := errors.Join(db.Close(), os.Mkdir(shut+"-wal", 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{absent, dir, garbage, shut} {
		conn, err := engines.Parse("sqlite:" + path)
		if err != nil {
			t.Fatal(err)
		}
		src, err := New(plan.Config{Poller: "p", Table: "orders", Cursor: []string{"v"}}, conn)
		if err != nil {
			t.Fatal(err)
		}
		_, err = src.Describe(t.Context())
		if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "source__connection") ||
			!strings.Contains(err.Error(), "in WAL mode write in its directory") {
			t.Errorf("%s: %v", path, err)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(absent); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the absent file: %v", err)
	}
}

// TestSQLiteKeys: which primary keys are proved, and what is warned about.
func TestSQLiteKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ddl, cursor, warning string
	}{
		{"(id INTEGER PRIMARY KEY, v INT NOT NULL)", "id", "without AUTOINCREMENT"},
		{"(id INTEGER PRIMARY KEY AUTOINCREMENT, v INT NOT NULL)", "id", ""},
		{"(id INTEGER PRIMARY KEY /* AUTOINCREMENT */, v INT NOT NULL)", "id", "without AUTOINCREMENT"},
		{"(id INT PRIMARY KEY, v INT NOT NULL)", "v", "may hold NULL"},
		{"(id TEXT NOT NULL PRIMARY KEY, v INT NOT NULL)", "v", ""},
		{"(id TEXT PRIMARY KEY, v INT NOT NULL) WITHOUT ROWID", "v", ""},
	} {
		src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "keys", Cursor: []string{c.cursor}},
			"CREATE TABLE keys "+c.ddl)
		d, err := src.Describe(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", c.ddl, err)
		}
		all := strings.Join(d.Warnings, "\n")
		if c.warning != "" && !strings.Contains(all, c.warning) {
			t.Errorf("%s: no warning of %q: %s", c.ddl, c.warning, all)
		}
		if c.warning == "" && (strings.Contains(all, "AUTOINCREMENT") || strings.Contains(all, "NULL")) {
			t.Errorf("%s: %s", c.ddl, all)
		}
	}
}

// TestSQLiteNullKey: a NULL in a primary key that SQLite let in fails the tick instead of vanishing.
func TestSQLiteNullKey(t *testing.T) {
	t.Parallel()
	src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "keys", Cursor: []string{"v"}},
		"CREATE TABLE keys (id TEXT PRIMARY KEY, v INT NOT NULL)", "INSERT INTO keys VALUES ('a', 1), (NULL, 2)")
	_, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
	if !errors.Is(err, poller.ErrNormalize) || !strings.Contains(err.Error(), "NULL key") {
		t.Errorf("%v", err)
	}
}

// TestSQLiteIndexes: the rowid continues every index, and stands for the key where it is the key.
func TestSQLiteIndexes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ddl, index, want string }{
		{"(id INTEGER PRIMARY KEY, v INT NOT NULL)", "(v)", "ix"},
		{"(id TEXT NOT NULL PRIMARY KEY, v INT NOT NULL)", "(v)", ""},
		{"(id TEXT NOT NULL PRIMARY KEY, v INT NOT NULL)", "(v, id)", "ix"},
		{"(id TEXT NOT NULL PRIMARY KEY, v INT NOT NULL)", "(v DESC, id)", ""},
		{"(id INTEGER PRIMARY KEY, v INT NOT NULL)", "(v) WHERE v > 0", ""},
		{"(id INTEGER PRIMARY KEY, v INT NOT NULL)", "(abs(v))", ""},
		{"(id TEXT NOT NULL PRIMARY KEY, v INT NOT NULL) WITHOUT ROWID", "(v)", "ix"},
	} {
		src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "keys", Cursor: []string{"v"}},
			"CREATE TABLE keys "+c.ddl, "CREATE INDEX ix ON keys "+c.index)
		check, err := src.Check(t.Context(), nil, 1, 10)
		if err != nil {
			t.Fatalf("%s: %v", c.ddl, err)
		}
		if check.Index != c.want {
			t.Errorf("%s %s: index %q, want %q", c.ddl, c.index, check.Index, c.want)
		}
		if sorted := strings.Contains(check.Plan, "TEMP B-TREE"); sorted != (c.want == "") {
			t.Errorf("%s %s: SQLite itself says %s", c.ddl, c.index, check.Plan)
		}
	}
}

// TestSQLiteLog: a source that has read does not keep the write-ahead log from being truncated.
func TestSQLiteLog(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	src := openSource(t, url, "sqlite", plan.Config{Table: "keys", Cursor: []string{"v"}}, "PRAGMA journal_mode = wal",
		"CREATE TABLE keys (id INTEGER PRIMARY KEY, v INT NOT NULL)", "INSERT INTO keys VALUES (1, 1), (2, 2), (3, 3)")
	if _, err := src.Fetch(t.Context(), change.Range{After: nil}, poller.Limit{Rows: 1, Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test is over
	testenv.ExecOn(t, db, "INSERT INTO keys VALUES (4, 4)")
	var busy, log, done int
	if err := db.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done); err != nil ||
		busy != 0 || log != 0 {
		t.Errorf("busy %d, %d pages left (%v)", busy, log, err)
	}
	page, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
	if err != nil || len(page.Events) != 4 {
		t.Errorf("%d rows (%v)", len(page.Events), err)
	}
}
