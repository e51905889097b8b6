package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"  // database/sql driver "mysql"
	_ "github.com/microsoft/go-mssqldb" // database/sql driver "sqlserver"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// lateCase is a table on an engine whose rows become visible later than their cursor says, and a way to find them.
type lateCase struct {
	name   string // begins with the engine
	open   func(t *testing.T) (*sql.DB, string)
	ddl    []string
	cursor string
	mode   string
	window string // source__late_window
	limit  string // source__late_limit, where rows are held back above a safe point; "" elsewhere
	// now is the statement that draws a cursor value from the database at the begin of a transaction; "" where the
	// database draws it by itself. insert and update take that value first, then the row's id.
	now, insert, update string
	// serial says that the database has one writer at a time: transactions queue up with their values drawn.
	serial bool
	loses  bool // mode none: the test has to lose rows, or it shows nothing
	long   bool // only `make late`: another case shows on the same engine that the test can lose rows
}

func lateCases() []lateCase {
	postgres := lateCase{
		open: openPostgres, cursor: "changed_at", window: "6s", mode: "overlap", now: "SELECT clock_timestamp()::text",
		ddl: []string{
			`CREATE TABLE late (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, version int NOT NULL DEFAULT 1, changed_at timestamptz NOT NULL)`,
			`CREATE INDEX late_changed ON late (changed_at, id)`,
		},
		insert: `INSERT INTO late (changed_at) VALUES ($1::timestamptz)`,
		update: `UPDATE late SET version = version + 1, changed_at = $1::timestamptz WHERE id = $2`,
	}
	identity := postgres
	identity.cursor, identity.now, identity.insert, identity.update = "id", "",
		`INSERT INTO late (changed_at) VALUES (now())`, ""
	snapshot := postgres
	snapshot.cursor, snapshot.mode, snapshot.now = "tx", "exact", ""
	snapshot.ddl = []string{
		`CREATE TABLE late (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, version int NOT NULL DEFAULT 1, tx xid8 NOT NULL DEFAULT pg_current_xact_id())`,
		`CREATE INDEX late_tx ON late (tx, id)`,
		`CREATE FUNCTION late_touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.tx := pg_current_xact_id(); RETURN NEW; END'`,
		`CREATE TRIGGER late_touch BEFORE INSERT OR UPDATE ON late FOR EACH ROW EXECUTE FUNCTION late_touch()`,
	}
	snapshot.insert, snapshot.update = `INSERT INTO late DEFAULT VALUES`,
		`UPDATE late SET version = version + 1 WHERE id = $1`
	maria := lateCase{
		open: openMySQL, cursor: "changed_at", window: "6s", mode: "overlap", now: "SELECT CAST(SYSDATE(6) AS CHAR)",
		ddl: []string{
			`CREATE TABLE late (id bigint AUTO_INCREMENT PRIMARY KEY, version int NOT NULL DEFAULT 1, changed_at datetime(6) NOT NULL, KEY late_changed (changed_at, id))`,
		},
		insert: `INSERT INTO late (changed_at) VALUES (?)`,
		update: `UPDATE late SET version = version + 1, changed_at = ? WHERE id = ?`,
	}
	increment := maria
	increment.cursor, increment.now, increment.insert, increment.update = "id", "",
		`INSERT INTO late (changed_at) VALUES (now(6))`, ""
	sqlite := lateCase{
		open: openSQLite, cursor: "changed_at", window: "6s", mode: "overlap", serial: true,
		now: `SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')`,
		ddl: []string{
			`CREATE TABLE late (id INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL DEFAULT 1, changed_at DATETIME NOT NULL)`,
			`CREATE INDEX late_changed ON late (changed_at, id)`,
		},
		insert: `INSERT INTO late (changed_at) VALUES (?1)`,
		update: `UPDATE late SET version = version + 1, changed_at = ?1 WHERE id = ?2`,
	}
	autoincrement := sqlite
	autoincrement.cursor, autoincrement.mode, autoincrement.update = "id", "exact", ""
	sqlserver := lateCase{
		open: openSQLServer, cursor: "rv", window: "6s", mode: "exact", limit: "2s",
		ddl: []string{
			`CREATE TABLE late (id bigint IDENTITY PRIMARY KEY, version int NOT NULL DEFAULT 1, rv rowversion NOT NULL)`,
			`CREATE INDEX late_rv ON late (rv, id)`,
		},
		insert: `INSERT INTO late DEFAULT VALUES`, update: `UPDATE late SET version = version + 1 WHERE id = @p1`,
	}
	named := func(name string, c lateCase) lateCase { c.name = name; return c }
	settle := identity
	settle.mode = "settle"
	none := func(c lateCase) lateCase { c.mode, c.loses = "none", true; return c }
	long := func(c lateCase) lateCase { c.long = true; return c }
	return []lateCase{
		named("postgres, overlap, times", postgres), named("postgres, overlap, identity", identity),
		named("postgres, settle, identity", settle), named("postgres, exact, snapshot windows", snapshot),
		named("postgres, none, times", none(postgres)), named("postgres, none, identity", long(none(identity))),
		named("mariadb, overlap, times", maria), named("mariadb, overlap, auto_increment", increment),
		named("mariadb, none, times", none(maria)), named("mariadb, none, auto_increment", long(none(increment))),
		named("sqlite, overlap, times", sqlite), named("sqlite, exact, autoincrement", autoincrement),
		named("sqlite, none, times", none(sqlite)),
		named("sqlserver, exact, rowversion", sqlserver), named("sqlserver, none, rowversion", none(sqlserver)),
	}
}

// TestLateCommits: 32 writers whose transactions stay open for up to half a second, and sometimes roll back, insert
// rows and update them, also one row by overlapping transactions; a hot row is updated every 250 ms while transactions
// of 1.5 s are open. Every row's last committed version has to arrive, in order. With source__late_commits=none rows
// are lost.
//
// ROWRELAY_LATE_FOR says for how long the writers write (`make late`: a minute each).
func TestLateCommits(t *testing.T) {
	t.Parallel()
	writeFor := lateFor(t, 5*time.Second)
	// The engines side by side, an engine's cases one after the other: each takes a third of the server's connections.
	for _, engine := range []string{"postgres", "mariadb", "sqlite", "sqlserver"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for _, c := range lateCases() {
				name, ok := strings.CutPrefix(c.name, engine+", ")
				if ok && (!c.long || lateFor(t, 0) > 0) {
					t.Run(name, func(t *testing.T) { c.run(t, writeFor) })
				}
			}
		})
	}
}

func (c *lateCase) run(t *testing.T, writeFor time.Duration) {
	db, url := c.open(t)
	for _, statement := range c.ddl {
		execute(t, db, statement)
	}
	to := newSink(t)
	s := settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "late",
		"status__listen": "127.0.0.1:0",
		"LATE_DB":        url, "pollers__late__source__connection": "LATE_DB", "pollers__late__source__table": "late",
		"pollers__late__source__cursor": c.cursor, "pollers__late__source__late_commits": c.mode,
		"pollers__late__source__late_window": c.window,
		"pollers__late__output__kind":        "http", "pollers__late__output__url": to.URL,
		"pollers__late__poll_interval": "20ms", "pollers__late__schedule": "* * * * * *",
	}
	if c.mode == "none" || c.mode == "exact" {
		delete(s, "pollers__late__source__late_window")
	}
	if c.mode == "exact" && c.limit != "" {
		s["pollers__late__source__late_limit"] = c.limit
	}
	w := &lateWriters{c: c, db: db}
	w.write(t, true, 0) // the hot row, with id 1
	relay := startRun(t, t.TempDir(), s)
	until(t, "the first row", func() bool { n, _ := to.count(); return n > 0 })
	// A row that some transaction is always older than is held back above a safe point, and comes by early delivery only.
	w.run(t, writeFor, func() bool { return c.loses || c.update == "" || to.versionsOf("1") >= 3 })
	w.write(t, true, 0) // the last row: what comes before it in the table has been passed when it has arrived
	want := c.versions(t, db)
	missing := func() (lost int) {
		got := to.newest()
		for id, version := range want {
			if got[id] < version {
				lost++
			}
		}
		return lost
	}
	if c.loses {
		last := fmt.Sprint(len(want) + int(w.rolledBack.Load())) // ids have no other gaps
		if c.serial {
			last = fmt.Sprint(len(want))
		}
		until(t, "the last row", func() bool { return to.newest()[last] > 0 || missing() == 0 })
	} else {
		until(t, "every row's last version", func() bool { return missing() == 0 })
	}
	if code := relay.Interrupt(); code != 0 {
		t.Errorf("rowrelay run ended with code %d:\n%s", code, relay.Log())
	}
	lost, hot := missing(), to.newest()["1"]
	distinct, repeated := to.count()
	t.Logf("LATE %-34s rows %4d, transactions %4d, rolled back %3d, LOST %3d, events %4d, DUPLICATED %d, hot row at version %d of %d",
		c.name, len(want), w.committed.Load(), w.rolledBack.Load(), lost, distinct, repeated, hot, want["1"])
	if c.loses && lost == 0 {
		t.Error("no row was lost with none: this test would not notice a loss")
	}
	if !c.loses {
		to.assertOrder("version")
	}
}

// versions are the rows as they stand in the table.
func (c *lateCase) versions(t *testing.T, db *sql.DB) map[string]int {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT id, version FROM late`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // read to the end
	versions := map[string]int{}
	for rows.Next() {
		var id string
		var version int
		if err := rows.Scan(&id, &version); err != nil {
			t.Fatal(err)
		}
		versions[id] = version
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return versions
}

// newest is the highest version of each row that was accepted.
func (s *sink) newest() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := map[string]int{}
	for _, row := range s.rows {
		id := fmt.Sprint(row["id"])
		if v, ok := row["version"].(float64); ok {
			newest[id] = max(newest[id], int(v))
		}
	}
	return newest
}

// versionsOf is how many versions of a row were accepted.
func (s *sink) versionsOf(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(len(s.order[`{"id":`+id+`}`]), len(s.order[id]))
}

// lateWriters write transactions that stay open after they drew their cursor value.
type lateWriters struct {
	c  *lateCase
	db *sql.DB
	// one lets one transaction in at a time, in the order of their coming, where the database has one writer.
	one                   sync.Mutex
	committed, rolledBack atomic.Int64
}

// run writes for so long, and on until the hot row has come often enough.
func (w *lateWriters) run(t *testing.T, writeFor time.Duration, enough func() bool) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	for range 32 {
		writers.Go(func() {
			for ctx.Err() == nil {
				// Overlapping transactions of one row: half of the updates meet on a few rows.
				w.transaction(t, w.c.update == "" || rand.IntN(2) == 0, int64(2+rand.IntN(1+rand.IntN(40))),
					rand.N(500*time.Millisecond), rand.IntN(7) == 0)
			}
		})
	}
	if w.c.update != "" {
		writers.Go(func() {
			for ctx.Err() == nil {
				w.transaction(t, false, 1, 0, false) // the hot row
				wait(ctx, 250*time.Millisecond)
			}
		})
		writers.Go(func() {
			for ctx.Err() == nil {
				w.transaction(t, true, 0, 1500*time.Millisecond, false)
			}
		})
	}
	wait(ctx, writeFor)
	until(t, "the hot row three times, while it is written", enough)
}

// write is one transaction that is over at once.
func (w *lateWriters) write(t *testing.T, insert bool, id int64) {
	t.Helper()
	w.transaction(t, insert, id, 0, false)
}

// transaction draws a cursor value, writes, waits, and ends.
func (w *lateWriters) transaction(t *testing.T, insert bool, id int64, open time.Duration, rollback bool) {
	ctx := t.Context()
	fail := func(err error) {
		if err != nil && ctx.Err() == nil {
			t.Errorf("a writer: %v", err)
		}
	}
	var args []any
	draw := func(q interface {
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}) error {
		if w.c.now == "" {
			return nil
		}
		var now string
		err := q.QueryRowContext(ctx, w.c.now).Scan(&now)
		args = append(args, now)
		return err
	}
	if w.c.serial {
		// One writer at a time: a transaction is late by the time that it waits for the others.
		fail(draw(w.db))
		wait(ctx, open)
		open = 0
		w.one.Lock()
		defer w.one.Unlock()
	}
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		fail(err)
		return
	}
	if !w.c.serial {
		fail(draw(tx))
	}
	text := w.c.insert
	if !insert {
		text, args = w.c.update, append(args, id)
	}
	if strings.Count(text, "?") == 0 && !strings.Contains(text, "$") && !strings.Contains(text, "@") {
		args = nil
	}
	if _, err := tx.ExecContext(ctx, text, args...); err != nil {
		fail(err)
		rollback = true
	}
	wait(ctx, open)
	if rollback {
		fail(tx.Rollback())
		if insert {
			w.rolledBack.Add(1)
		}
		return
	}
	fail(tx.Commit())
	w.committed.Add(1)
}

// wait waits for as long as a transaction is open: it is part of what is tested, not a wait for something to happen.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func openPostgres(t *testing.T) (*sql.DB, string) {
	url := testenv.Postgres(t)
	return openDatabase(t, "pgx", url), url
}

func openMySQL(t *testing.T) (*sql.DB, string) {
	url := testenv.MySQL(t)
	return openDatabase(t, "mysql", testenv.MySQLDSN(t, url)), url
}

func openSQLite(t *testing.T) (*sql.DB, string) {
	url := testenv.SQLite(t)
	return openDatabase(t, "sqlite",
		strings.TrimPrefix(url, "sqlite:")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_txlock=immediate"), url
}

func openSQLServer(t *testing.T) (*sql.DB, string) {
	url := testenv.SQLServer(t)
	return openDatabase(t, "sqlserver", url), url
}

func openDatabase(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(64) // every writer's: opening one costs a server more than a write
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
