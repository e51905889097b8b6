// Package docs_test runs what the documents show.
package docs_test

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqlc-dev/teesql/parser"
	_ "modernc.org/sqlite" // database/sql driver "sqlite"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// tombstones are the statements that docs/deletes.md shows.
func tombstones(t *testing.T) []string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, "deletes.md"), "\n```sql\n")
	if !ok {
		t.Fatal("deletes.md shows no SQL")
	}
	block, _, _ := strings.Cut(rest, "\n```")
	return strings.Split(block, "\nGO\n")
}

// onEngines are a database to run in, its driver's name for it, and a table with a soft-delete column.
var onEngines = map[string]struct {
	url    func(testing.TB) string
	orders string
	now    string
}{
	"sqlite": {testenv.SQLite, `CREATE TABLE orders (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, customer TEXT, deleted_at TEXT)`, ""},
	"postgres": {testenv.Postgres,
		`CREATE TABLE orders (id bigint PRIMARY KEY, seq bigint NOT NULL, customer text, deleted_at timestamptz)`,
		"clock_timestamp()"},
	"mysql": {testenv.MySQL, `CREATE TABLE orders (id BIGINT PRIMARY KEY, seq BIGINT NOT NULL, customer VARCHAR(40), deleted_at DATETIME(6))`,
		"UTC_TIMESTAMP(6)"},
	"sqlserver": {testenv.SQLServer,
		`CREATE TABLE orders (id bigint PRIMARY KEY, seq bigint NOT NULL, customer nvarchar(40), deleted_at datetime2(7))`,
		"SYSUTCDATETIME()"},
}

// open returns a database with the table orders, a connection string for the source, and a handle that may write.
func open(t *testing.T, engine string) (string, *sql.DB) {
	t.Helper()
	url := onEngines[engine].url(t)
	var db *sql.DB
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		var err error
		if db, err = sql.Open("sqlite", path); err != nil {
			t.Fatal(err)
		}
	} else {
		conn, err := engines.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		db = conn.DB(4)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	exec(t, db, onEngines[engine].orders)
	return url, db
}

func exec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// reader fetches page after page of a source.
type reader struct {
	source *source.Cursor
	after  change.Cursor
}

func newReader(t *testing.T, url string, cfg plan.Config) *reader {
	t.Helper()
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.New(cfg, conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := src.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &reader{source: src}
}

// read returns "op key" of what is new.
func (r *reader) read(t *testing.T) []string {
	t.Helper()
	page, err := r.source.Fetch(t.Context(), change.Range{After: r.after}, poller.Limit{Rows: 100, Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range page.Events {
		e := &page.Events[i]
		got = append(got, e.Op.String()+" "+string(e.Key))
		r.after = e.Cursor
	}
	return got
}

func (r *reader) want(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := r.read(t); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestTombstones(t *testing.T) {
	t.Parallel()
	url, db := open(t, "sqlserver")
	for _, s := range tombstones(t) {
		exec(t, db, s)
	}
	exec(t, db, "INSERT INTO orders (id, seq) VALUES (1, 1), (2, 2), (3, 3), (4, 4)")
	r := newReader(t, url, plan.Config{Poller: "orders_deleted", Table: "orders_deleted", Cursor: []string{"seq"},
		Key: []string{"id"}, Op: "delete"})
	r.want(t, "nothing deleted")
	exec(t, db, "DELETE FROM orders WHERE id = 3")
	r.want(t, "one row", `delete {"id":3}`)
	exec(t, db, "DELETE FROM orders WHERE id = 99")
	r.want(t, "no row")
	exec(t, db, "DELETE FROM orders WHERE id IN (1, 4)")
	got := r.read(t)
	slices.Sort(got)
	if want := []string{`delete {"id":1}`, `delete {"id":4}`}; !slices.Equal(got, want) {
		t.Errorf("two rows: got %q, want %q", got, want)
	}
	exec(t, db, "INSERT INTO orders (id, seq) VALUES (3, 5)")
	r.want(t, "inserted again")
	exec(t, db, "DELETE FROM orders WHERE id = 3")
	r.want(t, "deleted again", `delete {"id":3}`)
	rolledBack(t, db)
	r.want(t, "rolled back")
}

// rolledBack deletes, and changes its mind.
func rolledBack(t *testing.T, db *sql.DB) {
	t.Helper()
	tx := testenv.Begin(t, db, "DELETE FROM orders")
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// Two transactions that delete: the one that began to delete later cannot commit first. Without the lock, the tombstone
// of the first would become visible behind a position that the second had moved on.
func TestTombstonesCommitInOrder(t *testing.T) {
	t.Parallel()
	url, db := open(t, "sqlserver")
	for _, s := range tombstones(t) {
		exec(t, db, s)
	}
	exec(t, db, "INSERT INTO orders (id, seq) VALUES (1, 1), (2, 2)")
	r := newReader(t, url, plan.Config{Poller: "orders_deleted", Table: "orders_deleted", Cursor: []string{"seq"},
		Key: []string{"id"}, Op: "delete"})
	first := testenv.Begin(t, db, "DELETE FROM orders WHERE id = 1")
	second := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(context.WithoutCancel(t.Context()), "DELETE FROM orders WHERE id = 2")
		second <- err
	}()
	waitUntilBlocked(t, db, second)
	r.want(t, "while the first is open")
	testenv.Commit(t, first)
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	r.want(t, "after both", `delete {"id":1}`, `delete {"id":2}`)
}

// waitUntilBlocked returns when a transaction waits for a lock, or fails when the deletion went through.
func waitUntilBlocked(t *testing.T, db *sql.DB, done chan error) {
	t.Helper()
	for waiting := 0; waiting == 0; {
		if len(done) > 0 {
			t.Fatal("the second deletion did not wait for the first")
		}
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sys.dm_exec_requests "+
			"WHERE database_id = DB_ID() AND blocking_session_id <> 0").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSoftDelete(t *testing.T) {
	for engine, e := range onEngines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			url, db := open(t, engine)
			column, on, off := "deleted_at", e.now, "NULL"
			if engine == "sqlite" { // it has no type for times
				exec(t, db, "ALTER TABLE orders ADD COLUMN is_deleted BOOLEAN")
				column, on, off = "is_deleted", "TRUE", "FALSE"
			}
			r := newReader(t, url, plan.Config{Poller: "orders", Table: "orders", Cursor: []string{"seq"}, DeleteWhen: column})
			exec(t, db, "INSERT INTO orders (id, seq) VALUES (1, 1), (2, 2)")
			r.want(t, "inserted", `upsert {"id":1}`, `upsert {"id":2}`)
			exec(t, db, "UPDATE orders SET "+column+" = "+on+", seq = 3 WHERE id = 1")
			r.want(t, "deleted", `delete {"id":1}`)
			exec(t, db, "UPDATE orders SET "+column+" = "+off+", seq = 4 WHERE id = 1")
			r.want(t, "restored", `upsert {"id":1}`)
			exec(t, db, "UPDATE orders SET "+column+" = "+on+" WHERE id = 2")
			r.want(t, "deleted without moving the cursor")
			exec(t, db, "UPDATE orders SET id = 7, seq = 5 WHERE id = 1")
			r.want(t, "another key", `upsert {"id":7}`)
			exec(t, db, "DELETE FROM orders")
			r.want(t, "hard delete")
		})
	}
}

// One poller over rows and tombstones that share a counter: the query of the document, as it stands there.
func TestUpsertsAndDeletesInOneOrder(t *testing.T) {
	query := regexp.MustCompile(`source__query=(SELECT .*)`).FindStringSubmatch(read(t, "deletes.md"))
	if query == nil {
		t.Fatal("deletes.md shows no query")
	}
	for _, engine := range []string{"postgres", "mysql", "sqlserver"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			url, db := open(t, engine)
			exec(t, db, "CREATE TABLE orders_deleted (id INT NOT NULL PRIMARY KEY, seq INT NOT NULL)")
			exec(t, db, "INSERT INTO orders (id, seq, customer) VALUES (1, 1, 'Ada'), (2, 3, 'Bob'), (3, 5, 'Cy')")
			exec(t, db, "INSERT INTO orders_deleted (id, seq) VALUES (3, 2), (9, 4)")
			r := newReader(t, url, plan.Config{Poller: "orders", Query: query[1], Cursor: []string{"seq"},
				Key: []string{"id"}, DeleteWhen: "gone"})
			r.want(t, "both", `upsert {"id":1}`, `delete {"id":3}`, `upsert {"id":2}`, `delete {"id":9}`, `upsert {"id":3}`)
		})
	}
}

// Where no SQL Server is given, its statements are at least parsed.
func TestTombstonesOfSQLServerParse(t *testing.T) {
	for _, s := range tombstones(t) {
		if _, err := parser.Parse(t.Context(), strings.NewReader(s)); err != nil {
			t.Errorf("%v in:\n%s", err, s)
		}
	}
}
