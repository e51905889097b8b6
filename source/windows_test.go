package source

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// snapshotTable makes a table as `rowrelay check --ddl` would have it.
func snapshotTable(t *testing.T) (url string, db *sql.DB) {
	t.Helper()
	url = testenv.Postgres(t)
	db = writer(t, "pgx", url, `CREATE TABLE o (id bigint PRIMARY KEY, tenant int NOT NULL DEFAULT 0, v int NOT NULL DEFAULT 0)`,
		`INSERT INTO o SELECT i FROM generate_series(1, 5) i`)
	testenv.Exec(t, db, postgres.ExactColumn(&engine.Table{Name: "o", From: `"o"`}, "xid", []string{"id"})...)
	return url, db
}

func snapshotSource(t *testing.T, url string, change func(*plan.Config)) *Cursor {
	t.Helper()
	cfg := plan.Config{Poller: "orders", Table: "o", Cursor: []string{"xid"}}
	if change != nil {
		change(&cfg)
	}
	return newSource(t, url, cfg)
}

// reader follows a source as a session does: from position to position, each taken through its stored form.
type reader struct {
	t   *testing.T
	src *Cursor
	at  change.Cursor
	// stored are the positions that a session could have stored, each with how many events were read before it.
	stored []storedAt
	events []change.Event
}

type storedAt struct {
	at   change.Cursor
	read int
}

func (r *reader) start() *reader {
	r.t.Helper()
	at, _, err := r.src.Start(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.move(at)
	return r
}

func (r *reader) move(at change.Cursor) {
	back, err := change.ParseCursor(at)
	if err != nil {
		r.t.Fatalf("no position: %s", at)
	}
	r.at = back
	r.stored = append(r.stored, storedAt{back, len(r.events)})
}

// page reads one page, and reports whether there may be more at once.
func (r *reader) page(rows int) bool {
	r.t.Helper()
	page, err := r.src.Fetch(r.t.Context(), change.Range{After: r.at}, poller.Limit{Rows: rows, Bytes: 8 << 20})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(page.Events) > rows || page.Safe != nil {
		r.t.Fatalf("a page of %d rows, limit %d, safe %s", len(page.Events), rows, page.Safe)
	}
	for i := range page.Events {
		r.events = append(r.events, page.Events[i])
		r.move(page.Events[i].Position())
	}
	if page.To != nil {
		r.move(page.To)
	}
	return page.More
}

// drain reads until there is no more, and returns the keys of what it read.
func (r *reader) drain(rows int) string {
	r.t.Helper()
	begin := len(r.events)
	for range 10_000 {
		if !r.page(rows) {
			return rowKeys(r.events[begin:])
		}
	}
	r.t.Fatal("the source does not end")
	return ""
}

func (r *reader) want(what string, rows int, ids ...int) {
	r.t.Helper()
	if got := r.drain(rows); got != idKeys(ids...) {
		r.t.Errorf("%s: %s, want %s", what, got, idKeys(ids...))
	}
}

func TestPostgresSnapshots(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	src := snapshotSource(t, url, nil)
	if d, err := src.Describe(t.Context()); err != nil || d.Late != late.Exact {
		t.Fatalf("%+v %v", d, err)
	}
	r := (&reader{t: t, src: src}).start()
	if !strings.HasPrefix(string(r.at), `{"kind":"snapshot+pk","scan":"`) {
		t.Errorf("earliest begins with %s", r.at)
	}
	// Written after the start: not in the scan, and not lost. Row 4 in its new state only.
	testenv.Exec(t, db, "UPDATE o SET v = 1 WHERE id = 4", "INSERT INTO o VALUES (6)")
	r.want("scan, then what came since", 2, 1, 2, 3, 5, 4, 6)
	if e := r.events[4]; !strings.Contains(string(e.Row), `"v":1`) ||
		!strings.HasPrefix(string(e.Cursor), `{"kind":"xid8+pk","value":`) ||
		!strings.HasSuffix(string(e.Cursor), `"tiebreaker":{"id":4}}`) || !strings.Contains(string(e.At), `"s1":`) {
		t.Errorf("%s %s at %s", e.Row, e.Cursor, e.At)
	}
	r.want("nothing new", 10)

	// A transaction that is open: what commits meanwhile comes at once, and the open one's when it commits.
	naive := snapshotSource(t, url, func(c *plan.Config) { c.LateCommits, c.Start = "none", "latest" })
	passed, _, err := naive.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old := testenv.Begin(t, db, "INSERT INTO o VALUES (10)")
	testenv.Exec(t, db, "INSERT INTO o VALUES (11)", "INSERT INTO o VALUES (12)")
	r.want("beside an open transaction", 1, 11, 12)
	jumped, _ := fetchAll(t, naive, change.Range{After: passed}, 10)
	rolled := testenv.Begin(t, db, "INSERT INTO o VALUES (13)")
	testenv.Exec(t, db, "UPDATE o SET v = 2 WHERE id = 11")
	r.want("beside two", 10, 11)
	testenv.Commit(t, old)
	testenv.Exec(t, db, "INSERT INTO o VALUES (14)")
	r.want("the late one first", 1, 10, 14)
	if lost, _ := fetchAll(t, naive, change.Range{After: jumped[len(jumped)-1].Position()},
		10); rowKeys(lost) != idKeys(11, 14) {
		t.Errorf("by xid alone row 10 should be lost, or this test proves nothing: %s, then %s", rowKeys(jumped),
			rowKeys(lost))
	}
	if err := rolled.Rollback(); err != nil {
		t.Fatal(err)
	}
	r.want("rolled back", 10)

	// One transaction of many rows, page by page, with one that is open in the middle of the window.
	testenv.Exec(t, db, "INSERT INTO o SELECT i FROM generate_series(100, 109) i")
	open := testenv.Begin(t, db, "INSERT INTO o VALUES (200)")
	testenv.Exec(t, db, "INSERT INTO o VALUES (110)")
	r.want("a bulk", 3, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110)
	testenv.Commit(t, open)
	r.want("and the open one", 3, 200)

	latest := (&reader{t: t, src: snapshotSource(t, url, func(c *plan.Config) { c.Start = "latest" })}).start()
	latest.want("latest", 10)
	testenv.Exec(t, db, "DELETE FROM o WHERE id = 1", "INSERT INTO o VALUES (300)")
	latest.want("after the latest", 10, 300)

	// A row's own cursor is a position too, of which its own transaction's rows come again.
	n := len(r.events)
	again := &reader{t: t, src: src}
	again.move(r.events[n-1].Cursor)
	again.want("after a row's cursor: its transaction's, and later ones'", 10, 200, 110, 300)

	// The newest state of a row has the id that its event has.
	rows, err := src.Reread(t.Context(), [][]byte{[]byte(`{"id":200}`)})
	if err != nil || len(rows) != 1 || rows[0].ID != r.events[n-1].ID || rows[0].At != nil {
		t.Errorf("%+v %v", rows, err)
	}
	for _, c := range []struct {
		r    change.Range
		want int64
	}{{change.Range{}, 22}, {change.Range{After: latest.stored[0].at}, 1},
		{change.Range{After: r.stored[0].at, UpTo: r.stored[0].at}, 0}} {
		if n, err := src.Count(t.Context(), c.r); err != nil || n != c.want {
			t.Errorf("%+v: %d rows, want %d (%v)", c.r, n, c.want, err)
		}
	}
}

// TestPostgresSnapshotFew: where few rows are chosen a page reads no further than its limit, in a scan and in a window,
// and the position passes the others.
func TestPostgresSnapshotFew(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	testenv.Exec(t, db, "INSERT INTO o SELECT i FROM generate_series(6, 5000) i", "ANALYZE o")
	// To look for a row that is chosen would divide by zero: the start must not.
	src := snapshotSource(t, url, func(c *plan.Config) { c.Where = "id IN (4000, 4500, 5120) OR 1 / (id - 3000) > 1" })
	r := (&reader{t: t, src: src}).start()
	testenv.Exec(t, db, "DELETE FROM o WHERE id = 3000")
	r.want("the scan", 500, 4000, 4500)
	if len(r.stored) < 10 {
		t.Errorf("5000 rows were read in %d pages of 500", len(r.stored))
	}
	testenv.Exec(t, db, "INSERT INTO o SELECT i FROM generate_series(5001, 5160) i", "UPDATE o SET v = 1 WHERE id = 4500")
	n := len(r.stored)
	r.want("a window", 20, 5120, 4500)
	if pages := len(r.stored) - n; pages < 8 {
		t.Errorf("161 rows were read in %d pages of 20", pages)
	}
	at := r.at
	if r.page(10); !r.at.Equal(at) {
		t.Errorf("a page without a row moves the position from %s to %s", at, r.at)
	}
}

// TestPostgresSnapshotCrash fetches again from every position that could have been stored: the same events come, and
// the rest of a scan or window in the same order. (Later windows end elsewhere, so that transactions that were open
// beside each other may come in another order there.)
func TestPostgresSnapshotCrash(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	src := snapshotSource(t, url, nil)
	r := (&reader{t: t, src: src}).start()
	open := testenv.Begin(t, db, "INSERT INTO o VALUES (10)", "INSERT INTO o VALUES (11)")
	testenv.Exec(t, db, "INSERT INTO o SELECT i FROM generate_series(20, 26) i", "INSERT INTO o VALUES (30)")
	r.drain(3)
	testenv.Commit(t, open)
	testenv.Exec(t, db, "INSERT INTO o VALUES (31), (32)")
	r.drain(3)
	want := len(r.events)
	for _, s := range r.stored {
		for _, rows := range []int{1, 2, 100} {
			again := &reader{t: t, src: src}
			again.move(s.at)
			again.drain(rows)
			if got := len(again.events); got != want-s.read {
				t.Fatalf("from %s: %d events, want %d: %s", s.at, got, want-s.read, rowKeys(again.events))
			}
			window, _, within := strings.Cut(string(s.at), `,"after"`)
			ids := map[string]bool{}
			for i, e := range again.events {
				first := r.events[s.read+i]
				ids[first.ID] = true
				if within && strings.HasPrefix(string(first.At), window+`,"after"`) && e.ID != first.ID {
					t.Errorf("from %s, %d rows: event %d is %s, was %s", s.at, rows, i, e.Key, first.Key)
				}
			}
			for _, e := range again.events {
				if !ids[e.ID] {
					t.Errorf("from %s: %s has another id", s.at, e.Key)
				}
			}
		}
	}
}

// rangeOf reads a range of snapshots, in pages of two rows.
func rangeOf(t *testing.T, src *Cursor, r change.Range) (got string) {
	t.Helper()
	for range 20 {
		page, err := src.Fetch(t.Context(), r, poller.Limit{Rows: 2, Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		got += rowKeys(page.Events)
		if end := page.End(); end != nil {
			r.After = end
		}
		if !page.More {
			return got
		}
	}
	t.Fatal("the range does not end")
	return ""
}

// TestPostgresRangeEndsAtItsRow: a range that ends within a scan, or a window, brings no row that comes after its end.
// Else a backfill would send it before live rows that are to come before it, and rows share an order key.
func TestPostgresRangeEndsAtItsRow(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	src := snapshotSource(t, url, nil)
	whole := func(c change.Range) string { return rangeOf(t, src, c) }
	r := (&reader{t: t, src: src}).start()
	r.page(3)
	if got, want := whole(change.Range{UpTo: r.at}), idKeys(1, 2, 3); got != want {
		t.Errorf("within a scan: %s, want %s", got, want)
	}
	r.want("the scan", 10, 4, 5)
	first := r.at
	testenv.Exec(t, db, "INSERT INTO o VALUES (9)", "INSERT INTO o VALUES (8)", "INSERT INTO o VALUES (7)",
		"INSERT INTO o VALUES (6)")
	r.page(4)
	second := r.events[len(r.events)-3].Position() // of the row 8
	if got, want := whole(change.Range{After: first, UpTo: second}), idKeys(9, 8); got != want {
		t.Errorf("within a window: %s, want %s", got, want)
	}
	if got, want := whole(change.Range{UpTo: second}), idKeys(1, 2, 3, 4, 5, 8, 9); got != want {
		t.Errorf("from the beginning to within a window: %s, want %s", got, want)
	}
}

// TestPostgresSnapshotRange: a range that ends with a position holds what that position has behind it.
func TestPostgresSnapshotRange(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	src := snapshotSource(t, url, nil)
	r := (&reader{t: t, src: src}).start()
	r.want("the scan", 10, 1, 2, 3, 4, 5)
	first := r.at
	testenv.Exec(t, db, "INSERT INTO o VALUES (6), (7)")
	r.want("more", 10, 6, 7)
	for want, c := range map[string]change.Range{
		idKeys(1, 2, 3, 4, 5): {UpTo: first}, idKeys(1, 2, 3, 4, 5, 6, 7): {UpTo: r.at},
		idKeys(6, 7): {After: first, UpTo: r.at}, "": {After: r.at, UpTo: r.at},
	} {
		if got := rangeOf(t, src, c); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	// Written again meanwhile: it is not what the end saw any more.
	testenv.Exec(t, db, "UPDATE o SET v = 9 WHERE id = 6")
	page, err := src.Fetch(t.Context(), change.Range{After: first, UpTo: r.stored[len(r.stored)-1].at}, everything)
	if err != nil || rowKeys(page.Events) != idKeys(7) {
		t.Errorf("%s %v", rowKeys(page.Events), err)
	}
}

// TestPostgresSnapshotOther: a probe finds another order key behind many rows of one.
func TestPostgresSnapshotOther(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	src := snapshotSource(t, url, func(c *plan.Config) { c.OrderKey, c.Start = []string{"tenant"}, "latest" })
	r := (&reader{t: t, src: src}).start()
	testenv.Exec(t, db, "INSERT INTO o SELECT i, 1 FROM generate_series(1000, 2999) i", "INSERT INTO o VALUES (3000, 2)")
	e, err := src.Other(t.Context(), r.at, [][]byte{[]byte(`{"tenant":1}`)})
	if err != nil || e == nil || string(e.Key) != `{"id":3000}` {
		t.Fatalf("%+v %v", e, err)
	}
	if e, err = src.Other(t.Context(), r.at, [][]byte{[]byte(`{"tenant":1}`), []byte(`{"tenant":2}`)}); err != nil ||
		e != nil {
		t.Errorf("%+v %v", e, err)
	}
}

// TestPostgresSnapshotGap: a position ahead of the server's transactions is a gap, and one that is none is refused.
func TestPostgresSnapshotGap(t *testing.T) {
	t.Parallel()
	url, _ := snapshotTable(t)
	src := snapshotSource(t, url, nil)
	for _, at := range []string{
		`{"kind":"snapshot+pk","s1":"99999999:99999999:"}`, `{"kind":"snapshot+pk","scan":"99999999:99999999:"}`,
		`{"kind":"xid8+pk","value":99999999}`, `{"kind":"xid8+pk","value":"18446744073709551615"}`,
		`{"kind":"snapshot+pk","s1":"10:10:","s2":"10:99999999:","after":{"value":10,"tiebreaker":{"id":1}}}`,
	} {
		if _, err := src.Fetch(t.Context(), change.Range{After: change.Cursor(at)}, everything); !errors.Is(err,
			poller.ErrGap) || !strings.Contains(err.Error(), "the server has come to") {
			t.Errorf("%s: %v", at, err)
		}
	}
	for _, at := range []string{
		`{"kind":"snapshot+pk"}`, `{"kind":"snapshot+pk","s1":"x"}`, `{"kind":"snapshot+pk","s1":"5:4:"}`,
		`{"kind":"snapshot+pk","s1":"5:9:4"}`, `{"kind":"snapshot+pk","s1":"5:9:7,6"}`,
		`{"kind":"snapshot+pk","s1":"5:9:","s2":"5:9:"}`, `{"kind":"snapshot+pk","s1":"5:9:","scan":"5:9:"}`,
		`{"kind":"snapshot+pk","scan":"5:9:","after":{"x":1}}`,
		`{"kind":"snapshot+pk","s1":"5:9:","s2":"5:9:","after":{"value":null,"tiebreaker":{"id":1}}}`,
		`{"kind":"snapshot+pk","s1":"5:9:","s2":"5:9:","after":{"value":7,"tiebreaker":{}}}`,
		`{"kind":"timestamp+pk","value":"2026-04-07T00:00:00Z"}`, `{"kind":"xid8+pk","value":"x"}`,
		`{"kind":"snapshot+pk","s1":"5:9:","s3":"5:9:"}`,
	} {
		if _, err := src.Fetch(t.Context(), change.Range{After: change.Cursor(at)}, everything); !errors.Is(err,
			poller.ErrConfig) || !strings.Contains(err.Error(), "state reset") {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestPostgresLastNumber: a row may carry the last number that there is. It is from the future as any other.
func TestPostgresLastNumber(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	testenv.Exec(t, db, "ALTER TABLE o DISABLE TRIGGER USER", "DELETE FROM o",
		"INSERT INTO o (id, xid) VALUES (1, '18446744073709551615')")
	src := snapshotSource(t, url, nil)
	at, _, err := src.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = src.Fetch(t.Context(), change.Range{After: at}, everything); !errors.Is(err, poller.ErrGap) ||
		!strings.Contains(err.Error(), "a row carries transaction 18446744073709551615") {
		t.Error(err)
	}
	if at, err = src.Latest(t.Context()); err != nil || strings.Contains(string(at), "18446744073709551615") {
		t.Errorf("the latest is %s, %v", at, err)
	}
}
