package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// trackedTable makes a table whose changes are recorded, and writes as many rows.
func trackedTable(t *testing.T, url string, exec func(...string), rows int, writes tracking.Writes) engine.Connection {
	t.Helper()
	exec("CREATE TABLE o (id bigint NOT NULL PRIMARY KEY, v int NOT NULL, note int)")
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	w, err := tracking.Install(t.Context(), conn, "o", "", "orders", writes)
	if err == nil {
		one := conn.WriteDB(1)
		defer func() { _ = one.Close() }() // nothing is under way
		err = w.Apply(t.Context(), one)
	}
	if err != nil {
		t.Fatal(err)
	}
	exec(fmt.Sprintf("INSERT INTO o WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i, 1, 1 FROM n", rows))
	return conn
}

// trackedSource is a source of such a table, which ends with the test.
func trackedSource(t *testing.T, cfg plan.Config, conn engine.Connection) *Cursor {
	t.Helper()
	cfg.Poller, cfg.Table, cfg.Tracked = "orders", "o", true
	src, err := New(cfg, conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

// atLatest is a source at the latest of 50,000 changes. n counts the statements of SQLite.
func atLatest(t *testing.T, url string, exec func(...string), changed ...string) (src *Cursor, n *int) {
	t.Helper()
	conn := trackedTable(t, url, exec, 50_000, tracking.Writes{Changed: changed})
	n = new(int)
	if conn.Engine == "sqlite" {
		conn.Connectors.Reading = countingConnector{conn.Connectors.Reading, n}
	}
	return trackedSource(t, plan.Config{Start: "latest", Changed: changed}, conn), n
}

// drained reads to the end, and returns the position and how many events there were.
func drained(t *testing.T, src *Cursor, at change.Cursor) (change.Cursor, int) {
	t.Helper()
	events := 0
	for {
		page, err := src.Fetch(t.Context(), change.Range{After: at}, everything)
		if err != nil {
			t.Fatal(err)
		}
		events += len(page.Events)
		if page.To != nil {
			at = page.To
		} else if k := len(page.Events); k > 0 {
			at = page.Events[k-1].Position()
		}
		if !page.More && len(page.Events) == 0 {
			return at, events
		}
	}
}

// TestPostgresIdleCostOfChanges: a poll that finds nothing touches a few pages, however many changes are retained, and
// starts no further processes, as it would for 10,000,000 of them (here these count as cheap); and what source__changed
// leaves out is read once.
func TestPostgresIdleCostOfChanges(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	exec := func(texts ...string) { t.Helper(); testenv.Exec(t, db, texts...) }
	for _, cheap := range []string{"parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size",
		"min_parallel_index_scan_size"} {
		exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET " + cheap + " = 0', current_database()); END $$")
	}
	src, _ := atLatest(t, url, exec, "v")
	at, _, err := src.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec("VACUUM ANALYZE o", "VACUUM ANALYZE rowrelay_changes_o")
	for _, state := range []string{"idle", "after 20,000 that were left out"} {
		var events int
		if at, events = drained(t, src, at); events > 0 {
			t.Errorf("%s: %d events", state, events)
		}
		text := explainAnalyze(t, src, at)
		if touched := buffersOf(t, text); touched > 60 || strings.Contains(text, "Seq Scan on rowrelay_changes_o ") ||
			strings.Contains(text, "Gather") {
			t.Errorf("%s: a poll that finds nothing touches %d pages:\n%s", state, touched, text)
		}
		exec("UPDATE o SET note = 2 WHERE id <= 20000", "VACUUM ANALYZE rowrelay_changes_o")
	}
}

// TestPostgresPageOfABacklog: a page touches what belongs to its rows, and not the backlog after it, nor the table
// before it: the planner knows nothing of how many rows lie between two snapshots, and was seen to join and sort all of
// them for each page.
func TestPostgresPageOfABacklog(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	exec := func(texts ...string) { t.Helper(); testenv.Exec(t, db, texts...) }
	src, _ := atLatest(t, url, exec)
	at, _, err := src.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 50000; n += 100 {
		exec(fmt.Sprintf("UPDATE o SET v = 2 WHERE id > %d AND id <= %d", n, n+100))
	}
	exec("VACUUM ANALYZE o", "VACUUM ANALYZE rowrelay_changes_o")
	for name, at := range map[string]change.Cursor{"window": at, "scan": nil} {
		for n := range 40 {
			page, err := src.Fetch(t.Context(), change.Range{After: at}, everything)
			if err != nil {
				t.Fatal(err)
			}
			at = page.Events[len(page.Events)-1].Position()
			if n%20 > 0 {
				continue
			}
			text := explainAnalyze(t, src, at)
			if touched := buffersOf(t, text); touched > 4000 || strings.Contains(text, "Merge Left Join") {
				t.Errorf("%s, page %d: touches %d pages for 500 rows, or merges:\n%s", name, n, touched, text)
			}
		}
	}
}

// TestSQLiteIdleCostOfChanges: the same, by the number of statements and the way they find their rows.
func TestSQLiteIdleCostOfChanges(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	url := testenv.SQLite(t)
	db := testenv.Open(t, "sqlite", strings.TrimPrefix(url, "sqlite:"))
	exec := func(texts ...string) { t.Helper(); testenv.Exec(t, db, texts...) }
	src, n := atLatest(t, url, exec, "v")
	at, _, err := src.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"idle", "after 20,000 that were left out"} {
		var events int
		if at, events = drained(t, src, at); events > 0 {
			t.Errorf("%s: %d events", state, events)
		}
		*n = 0
		if again, events := drained(t, src, at); *n > 4 || events > 0 || !again.Equal(at) {
			t.Errorf("%s: a poll that finds nothing is %d statements, and goes from %s to %s", state, *n, at, again)
		}
		exec("UPDATE o SET note = 2 WHERE id <= 20000")
	}
	p, err := src.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, next := src.strategy(p).statements(500)
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+next.Text, make([]any, len(next.Args))...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(detail, "SCAN c") {
			t.Errorf("a page reads the whole change table: %s", detail)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
