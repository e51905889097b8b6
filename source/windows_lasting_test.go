package source

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// rollBack uses up ids of transactions that leave nothing: the server forgets them when it crashes at this moment.
func rollBack(t *testing.T, db *sql.DB) {
	t.Helper()
	for range 3 {
		tx := testenv.Begin(t, db, "SELECT pg_current_xact_id()")
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPostgresSnapshotLasts: no position counts a transaction that is above every row's. Its id may not be on the
// server's disk, and after a crash another transaction would get it, whose rows were then behind the position.
func TestPostgresSnapshotLasts(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	last := func() uint64 {
		t.Helper()
		var xid uint64
		if err := db.QueryRowContext(t.Context(),
			"SELECT coalesce(max(xid::text::numeric), 2)::text FROM o").Scan(&xid); err != nil {
			t.Fatal(err)
		}
		return xid
	}
	src := snapshotSource(t, url, nil)
	p, err := src.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lasts := func(what string, at change.Cursor) {
		t.Helper()
		w, err := p.Snapshots().Decode(at)
		if err != nil {
			t.Fatal(err)
		}
		if max := last() + 1; w.Seen.XMax > max || w.UpTo.XMax > max {
			t.Errorf("%s: %s counts transactions that have no row; the last row's is %d", what, at, max-1)
		}
	}
	rollBack(t, db)
	for _, start := range []string{"earliest", "latest"} {
		at, _, err := snapshotSource(t, url, func(c *plan.Config) { c.Start = start }).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lasts(start, at)
	}
	at, err := src.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lasts("Latest", at)
	page, err := src.Fetch(t.Context(), change.Range{}, poller.Limit{Rows: 2, Bytes: 1 << 20})
	if err != nil || len(page.Events) != 2 {
		t.Fatalf("%d rows (%v)", len(page.Events), err)
	}
	lasts("a scan from the beginning", page.Events[0].At)

	r := (&reader{t: t, src: src}).start()
	r.drain(10)
	for _, id := range []string{"10", "11", "12", "13", "14"} {
		testenv.Exec(t, db, "INSERT INTO o VALUES ("+id+")")
		rollBack(t, db)
	}
	r.page(2)
	lasts("within a window", r.at)
	if w, err := p.Snapshots().Decode(r.at); err != nil || w.UpTo.XMax >= last() {
		t.Errorf("within a window: %s counts more than was read (%v)", r.at, err)
	}
	r.want("the rest", 2, 12, 13, 14)
	lasts("a window's end", r.at)
	r.want("nothing", 2)
	lasts("an idle poll", r.at)

	testenv.Exec(t, db, "DELETE FROM o")
	rollBack(t, db)
	at, err = src.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lasts("an empty table", at)
	r = &reader{t: t, src: src}
	r.move(at)
	testenv.Exec(t, db, "INSERT INTO o VALUES (20)")
	r.want("the first row", 2, 20)
}

// TestPostgresSnapshotOfRow: a position that is a row's, as another mode or an import leaves it, does not count what is
// open below it when it is first used; and from then on it is a snapshot, so that nothing that commits later is behind
// it.
func TestPostgresSnapshotOfRow(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	naive := snapshotSource(t, url, func(c *plan.Config) { c.LateCommits = "none" })
	open := testenv.Begin(t, db, "INSERT INTO o VALUES (10)")
	testenv.Exec(t, db, "INSERT INTO o VALUES (11)")
	rows, _ := fetchAll(t, naive, change.Range{}, 10)
	at := rows[len(rows)-1].Position()
	if rowKeys(rows) != idKeys(1, 2, 3, 4, 5, 11) {
		t.Fatalf("read: %s", rowKeys(rows))
	}
	value, _, _ := strings.Cut(string(at), `,"tiebreaker"`)
	var readers []*reader
	for _, from := range []string{string(at), value + "}"} {
		r := &reader{t: t, src: snapshotSource(t, url, nil)}
		r.move(change.Cursor(from))
		r.drain(10)
		if !strings.Contains(string(r.at), `"s1":`) {
			t.Errorf("from %s the position stays %s", from, r.at)
		}
		readers = append(readers, r)
	}
	testenv.Commit(t, open)
	for _, r := range readers {
		r.want("the late row", 10, 10)
	}
}
