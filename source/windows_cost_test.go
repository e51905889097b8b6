package source

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// explainAnalyze runs a page's statement as the source would, and returns how many rows its scans of the table's index
// and heap touched.
func explainAnalyze(t *testing.T, src *Cursor, at change.Cursor) (plan string) {
	t.Helper()
	p, err := src.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Snapshots().Decode(at)
	if err != nil {
		t.Fatal(err)
	}
	st, args, err := p.Snapshots().Statement(501, w, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = src.sessions.Run(t.Context(), func(ctx context.Context, s *pool.Session) (err error) {
		plan, err = analyzed(ctx, s, postgres.Dialect{}.ReadInOrder, st.Text, args)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// analyzed runs a statement by one of the dialect's ways to read, and returns what its plan did.
func analyzed(ctx context.Context, s *pool.Session, read reads, text string, args []any) (plan string, err error) {
	line := []engine.Column{{Name: "line", Value: postgres.Dialect{}.Syntax().Words}}
	err = read(ctx, s.Conn, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF) "+text, args,
		line, func(r engine.Row) (bool, error) {
			var line string
			v, err := r.AppendJSON(nil, 0)
			if err == nil {
				err = json.Unmarshal(v, &line)
			}
			plan += line + "\n"
			return true, err
		})
	return plan, err
}

// reads is the type of engine.Dialect.Read.
type reads func(ctx context.Context, conn *sql.Conn, text string, args []any, cols []engine.Column,
	each func(engine.Row) (bool, error)) error

// buffersOf is the number of pages that a plan touched, in shared buffers or behind them.
func buffersOf(t *testing.T, plan string) int {
	t.Helper()
	line, _, _ := strings.Cut(plan[strings.Index(plan, "Buffers: shared"):], "\n")
	total := 0
	for part := range strings.FieldsSeq(line) {
		var n int
		if _, err := fmt.Sscanf(part, "hit=%d", &n); err == nil {
			total += n
		}
		if _, err := fmt.Sscanf(part, "read=%d", &n); err == nil {
			total += n
		}
	}
	return total
}

// TestPostgresSnapshotCost: a poll reads few pages although a transaction has been open since long before many rows
// that were delivered, and although another has many rows that are not committed.
func TestPostgresSnapshotCost(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	src := snapshotSource(t, url, func(c *plan.Config) { c.Start = "latest" })
	testenv.Begin(t, db, "INSERT INTO o VALUES (-1)") // the oldest: everything below comes after it
	testenv.Begin(t, db, "INSERT INTO o SELECT -i FROM generate_series(10, 20000) i")
	testenv.Exec(t, db, "INSERT INTO o SELECT i FROM generate_series(100000, 150000) i", "ANALYZE o")
	r := (&reader{t: t, src: src}).start()
	testenv.Exec(t, db, "INSERT INTO o VALUES (6), (7)")
	plan := explainAnalyze(t, src, r.at)
	if n := buffersOf(t, plan); n > 60 {
		t.Errorf("a poll of two rows touches %d pages:\n%s", n, plan)
	}
	r.want("two rows", 10, 6, 7)
	plan = explainAnalyze(t, src, r.at)
	if n := buffersOf(t, plan); n > 60 || strings.Contains(plan, "Seq Scan") {
		t.Errorf("a poll of no rows touches %d pages:\n%s", n, plan)
	}
	// In the middle of a transaction of many rows a page begins where the last ended.
	testenv.Exec(t, db, "INSERT INTO o SELECT i FROM generate_series(200000, 220000) i")
	for range 30 {
		r.page(500)
	}
	plan = explainAnalyze(t, src, r.at)
	if n := buffersOf(t, plan); n > 700 {
		t.Errorf("a page in the middle of a large transaction touches %d pages:\n%s", n, plan)
	}
	t.Logf("in the middle of a large transaction: %d pages", buffersOf(t, plan))
}

// TestPostgresPagesAreNotSorted: the rows of a page come by an index in their order, and nothing but the row that says
// where they end is sorted beside them, whatever the rows are: of a scan, of a window with and without transactions
// that were open, and of a change table.
func TestPostgresPagesAreNotSorted(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	open := testenv.Begin(t, db, "INSERT INTO o SELECT -i FROM generate_series(1, 2000) i")
	testenv.Exec(t, db, "INSERT INTO o SELECT generate_series(1000, 4000)", "CREATE TABLE tracked (id bigint PRIMARY KEY)")
	conn := install(t, url, db, "tracked")
	testenv.Exec(t, db, "INSERT INTO tracked SELECT generate_series(1, 2000)")
	changes, err := New(plan.Config{Poller: "changes", Table: "tracked", Tracked: true}, conn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = changes.Close() }()
	for table, src := range map[string]*Cursor{"o": snapshotSource(t, url, nil), "tracked": changes} {
		t.Run(table, func(t *testing.T) {
			r := (&reader{t: t, src: src}).start()
			sorted := func(what string) {
				t.Helper()
				plan := strings.ReplaceAll(explainAnalyze(t, src, r.at), ".00 loops", " loops") // as PostgreSQL 18 counts rows
				if !strings.Contains(plan, "rows=501 ") {
					t.Fatalf("%s is no full page:\n%s", what, plan)
				}
				for node := range strings.SplitSeq(plan, "->") {
					if strings.HasPrefix(strings.TrimSpace(node), "Sort") && !strings.Contains(node, "rows=1 loops=1)") {
						t.Errorf("%s is sorted:\n%s", what, plan)
					}
				}
			}
			sorted("a scan")
			for r.page(5000) {
			}
			if src != changes {
				if err := open.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			testenv.Exec(t, db, "INSERT INTO "+table+" SELECT generate_series(10000, 14000)")
			sorted("a window")
			r.page(500)
			sorted("the window's next page")
		})
	}
}

// TestPostgresSnapshotFewOfLargeRows: what is large of rows that source__where does not choose is not sent, so that it
// fills no page; what is chosen comes whole, by a condition that asks for the large column and for none.
func TestPostgresSnapshotFewOfLargeRows(t *testing.T) {
	t.Parallel()
	for _, tracked := range []bool{false, true} {
		url, db := snapshotTable(t)
		testenv.Exec(t, db, "ALTER TABLE o ADD body text, ADD doc jsonb",
			"UPDATE o SET body = repeat('x', 1000000), doc = to_jsonb(repeat('y', 1000000)) WHERE id < 5",
			"INSERT INTO o (id, body) SELECT i, repeat('x', 1000000) FROM generate_series(6, 60) i")
		change := func(c *plan.Config) { c.Where = "id IN (4, 5, 50) AND (body IS NULL OR length(body) > 1)" }
		if tracked {
			install(t, url, db, "o")
			change = func(c *plan.Config) { c.Where, c.Cursor, c.Tracked = "id IN (4, 5, 50)", nil, true }
			testenv.Exec(t, db, "UPDATE o SET v = 1")
		}
		r := (&reader{t: t, src: snapshotSource(t, url, change)}).start()
		first := len(r.stored)
		r.want("large rows", 500, 4, 5, 50)
		if pages := len(r.stored) - first; pages > 6 {
			t.Errorf("tracked %t: 60 rows, 3 of them chosen, moved the position %d times", tracked, pages)
		}
		for i, want := range []int{2_000_000, 0, 1_000_000} {
			if got := len(r.events[i].Row); got < want || got > want+1000 {
				t.Errorf("tracked %t: %s has %d bytes, want %d and more", tracked, r.events[i].Key, got, want)
			}
		}
	}
}
