package tracking_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

func (r *rig) open() *source.Cursor {
	r.Helper()
	src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true}, r.conn)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = src.Close() })
	return src
}

// start is where a poller begins that has no position.
func (r *rig) start(src *source.Cursor) change.Cursor {
	r.Helper()
	at, _, err := src.Start(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return at
}

// follow is read of so many events.
func (r *rig) follow(src *source.Cursor, at change.Cursor, want int) change.Cursor {
	r.Helper()
	at, events, err := r.read(src, at)
	if err != nil || len(events) != want {
		r.Fatalf("%d events, want %d: %v", len(events), want, err)
	}
	return at
}

func (r *rig) isGap(at change.Cursor) {
	r.Helper()
	if _, told, err := r.read(r.open(), at); !errors.Is(err, poller.ErrGap) || !strings.Contains(err.Error(), "purged") {
		r.Errorf("a position before what was purged: %+v, %v", told, err)
	}
}

// finished waits until no transaction is open that is older than a change, in PostgreSQL: those of other tests count.
func (r *rig) finished() {
	r.Helper()
	for older := r.conn.Engine == "postgres"; older; {
		if err := r.db.QueryRowContext(r.Context(), `SELECT EXISTS (SELECT 1 FROM rowrelay_changes_orders
			WHERE rowrelay_version >= pg_snapshot_xmin(pg_current_snapshot()))`).Scan(&older); err != nil {
			r.Fatal(err)
		}
	}
}

// age makes all that was written on this day two hours older, for purge, which removes what is older than one.
func (r *rig) age(src *source.Cursor, positions ...change.Cursor) {
	r.Helper()
	if r.conn.Engine == "mysql" {
		r.exec("UPDATE rowrelay_changes_orders SET rowrelay_version = rowrelay_version - INTERVAL 2 HOUR " +
			"WHERE rowrelay_version > UTC_TIMESTAMP(6) - INTERVAL 1 DAY")
		return
	}
	r.finished()
	r.purge(src, positions...)
	r.exec(map[string]string{"postgres": "UPDATE rowrelay_changes_orders_marks SET taken = taken - interval '2 hours'",
		"sqlite": "UPDATE rowrelay_changes_orders_marks SET taken = taken - 7200"}[r.conn.Engine])
}

// TestPurgeByAge: deletes that are older than the retention go, although a position is before them. It is a gap then,
// and no other is.
func TestPurgeByAge(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			src := r.open()
			start := r.start(src)
			r.insert(1, 6)
			if name == "mysql" { // versions are times, and a day after a position may be read already
				r.exec("UPDATE rowrelay_changes_orders SET rowrelay_version = rowrelay_version - INTERVAL 9 DAY",
					"UPDATE rowrelay_changes_orders_state SET rowrelay_floor = rowrelay_floor - INTERVAL 10 DAY")
			}
			slow := r.follow(src, start, 6)
			r.exec("DELETE FROM orders WHERE id <= 3", "UPDATE orders SET v = 2 WHERE id = 4")
			r.age(src, slow)
			r.exec("UPDATE orders SET v = 2 WHERE id = 5")
			fast := r.follow(src, slow, 5)
			if left := r.purgeOlder(24*time.Hour, src, fast, slow); left != 6 {
				t.Errorf("%d keys are left, and nothing is a day old", left)
			}
			if left := r.purge(src, fast, slow, start); left != 3 {
				t.Errorf("%d keys are left: those that are there", left)
			}
			r.isGap(slow)
			r.follow(src, fast, 0)
		})
	}
}

// TestPurgeByNumber: of the deletes that a position has not passed the newest stay, so many as the limit says. It is a
// gap then, and for no other; where the limit holds all, none goes.
func TestPurgeByNumber(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			src := r.open()
			start := r.start(src)
			r.insert(1, 9)
			slow := r.follow(src, start, 9)
			for id := range 6 {
				r.exec(fmt.Sprintf("DELETE FROM orders WHERE id = %d", id+1))
			}
			r.finished() // or its position names a transaction of another database, and the purge is past that
			near := r.follow(src, slow, 6)
			r.exec("UPDATE orders SET v = 2 WHERE id = 7", "DELETE FROM orders WHERE id = 8")
			r.finished()
			for _, most := range []int{0, 7, 8} {
				if left := r.purgeTo(tracking.Keep{For: time.Hour, Most: most}, src, slow); left != 9 {
					t.Errorf("%d keys are left, and no more than %d deletes are there", left, most)
				}
			}
			r.follow(r.open(), slow, 8)
			if left := r.purgeTo(tracking.Keep{For: time.Hour, Most: 2}, src, slow, near); left != 4 {
				t.Errorf("%d keys are left: two that are there, and two deletes", left)
			}
			r.isGap(slow)
			r.purgeTo(tracking.Keep{For: time.Hour, Most: 1}, src, slow, near)
			r.follow(r.open(), near, 2) // it has one delete to come, and one is kept
		})
	}
}

// TestPurgeByNumberBesideAnOpenTransaction: what a limit removes is below every transaction that is open, so that a
// position which has seen a later one and not that one is told of it.
func TestPurgeByNumberBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	r := newRig(t, "postgres")
	src := r.open()
	start := r.start(src)
	r.insert(1, 5)
	at := r.follow(src, start, 5)
	open := testenv.Begin(t, r.db, "DELETE FROM orders WHERE id = 1")
	r.exec("DELETE FROM orders WHERE id = 2", "DELETE FROM orders WHERE id = 3")
	if left := r.purgeTo(tracking.Keep{For: time.Hour, Most: 1}, src, at); left != 5 {
		t.Errorf("%d keys are left, although an older transaction is open", left)
	}
	testenv.Commit(t, open)
	r.finished()
	r.follow(src, at, 3)
	if left := r.purgeTo(tracking.Keep{For: time.Hour, Most: 1}, src, at); left != 3 {
		t.Errorf("%d keys are left: two that are there, and one delete", left)
	}
	r.isGap(at)
}

// TestPurgeByAgeKeepsWhatIsThePositions: the change that a quiet poller read last is not removed under it.
func TestPurgeByAgeKeepsWhatIsThePositions(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite") // PostgreSQL has windows, and MySQL a day
	src := r.open()
	at := r.start(src)
	r.insert(1, 2)
	r.exec("DELETE FROM orders WHERE id = 1")
	quiet := r.follow(src, at, 2)
	r.exec("UPDATE orders SET v = 2 WHERE id = 2") // it is not interested in that
	r.age(src, quiet)
	if left := r.purge(src, quiet); left != 2 {
		t.Errorf("%d keys are left", left)
	}
	r.follow(src, quiet, 1)
}

// TestPurgeByAgeOfAnOpenTransaction: a position that sees a later transaction and not an earlier one lacks the earlier
// one's delete. The later one alone does not tell.
func TestPurgeByAgeOfAnOpenTransaction(t *testing.T) {
	t.Parallel()
	r := newRig(t, "postgres")
	src := r.open()
	start := r.start(src)
	r.insert(1, 4)
	at := r.follow(src, start, 4)
	open := testenv.Begin(t, r.db, "DELETE FROM orders WHERE id = 1")
	r.exec("DELETE FROM orders WHERE id = 2")
	slow := r.follow(src, at, 1)
	testenv.Commit(t, open)
	fast := r.follow(src, slow, 1)
	r.age(src, fast, slow)
	r.exec("UPDATE orders SET v = 2 WHERE id = 4")
	fast = r.follow(src, fast, 1)
	if left := r.purge(src, fast, slow); left != 2 {
		t.Errorf("%d keys are left: those that are there", left)
	}
	r.isGap(slow)
	r.exec("DELETE FROM orders WHERE id = 3")
	r.follow(src, fast, 1)
}

// TestPurgeBesideAnOpenTransaction: a poller that nobody spoke of saw a later delete and not an earlier one, which was
// open then. It is told of the gap, or the earlier delete is still there.
func TestPurgeBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	r := newRig(t, "postgres")
	src := r.open()
	start := r.start(src)
	r.insert(1, 4)
	at := r.follow(src, start, 4)
	open := testenv.Begin(t, r.db, "DELETE FROM orders WHERE id = 1")
	r.exec("DELETE FROM orders WHERE id = 2")
	other := r.follow(src, at, 1)
	if left := r.purge(src, other); left != 4 {
		t.Errorf("%d keys are left, although an older transaction is open", left)
	}
	r.follow(src, other, 0)
	testenv.Commit(t, open)
	r.finished()
	fast := r.follow(src, other, 1)
	if left := r.purge(src, fast); left != 2 {
		t.Errorf("%d keys are left: those that are there", left)
	}
	r.isGap(other)
	r.follow(src, fast, 0)
}

// TestPurgeByAgeWhileItsRowIsParked: an update is refused, its row is deleted meanwhile, and that grows old before the
// next attempt. The attempt tells of the delete all the same: the row is not there. One that source__where leaves out
// is.
func TestPurgeByAgeWhileItsRowIsParked(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			src := r.open()
			at := r.start(src)
			r.insert(1, 3)
			at, events, err := r.read(src, at)
			if err != nil || len(events) != 3 {
				t.Fatalf("%+v, %v", events, err)
			}
			parked := events[0].Cursor
			r.exec("DELETE FROM orders WHERE id = 1", "UPDATE orders SET v = 2 WHERE id > 1")
			at = r.follow(src, at, 3)
			r.age(src, at, parked)
			if name == "mysql" { // a day after the parked change may be read already
				r.exec("DELETE FROM rowrelay_changes_orders WHERE id = 1")
			} else if left := r.purge(src, at, parked); left != 2 {
				t.Errorf("%d keys are left: the delete is old", left)
			}
			keys := [][]byte{[]byte(`{"id":1}`), []byte(`{"id":2}`)}
			again, err := src.Reread(t.Context(), keys)
			if err != nil || len(again) != 2 || again[0].Op != change.Delete || string(again[0].Row) != `{"id":1}` ||
				again[1].Op != change.Update {
				t.Errorf("read again: %+v, %v", again, err)
			}
			first, err := src.Reread(t.Context(), keys[:1])
			if err != nil || len(first) != 1 || len(again) == 0 || first[0].ID != again[0].ID {
				t.Errorf("its id is another one at the next attempt: %+v, %v", first, err)
			}
			some, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true, Where: "v < 2"}, r.conn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = some.Close() })
			r.exec("DELETE FROM rowrelay_changes_orders")
			if left, err := some.Reread(t.Context(), keys); err != nil || len(left) != 1 || left[0].Op != change.Delete {
				t.Errorf("with source__where: %+v, %v", left, err)
			}
		})
	}
}

// TestSnapshotBesideATransactionOlderThanThePurge: what such a transaction wrote lies before the first position that
// has no gap, so that a read of the whole table waits for its end.
func TestSnapshotBesideATransactionOlderThanThePurge(t *testing.T) {
	t.Parallel()
	r := newRig(t, "mysql", filled(3, 1))
	src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true, LateWindow: time.Second},
		r.conn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	tx := testenv.Begin(t, r.db, "UPDATE orders SET v = 2 WHERE id = 2")
	var own string
	if err := tx.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&own); err != nil {
		t.Fatal(err)
	}
	r.exec("UPDATE rowrelay_changes_orders_state SET rowrelay_floor = UTC_TIMESTAMP(6) + INTERVAL 1 SECOND")
	programtest.Until(t, "the transaction to be seen", func() bool {
		_, err := src.Snapshot(t.Context())
		return err != nil && strings.Contains(err.Error(), "end it")
	})
	testenv.Commit(t, tx)
	programtest.Until(t, "its end to be seen", func() bool {
		_, err := src.Snapshot(t.Context())
		// Another test's transaction on this server may be as old, and stay.
		return err == nil || strings.Contains(err.Error(), "end it") && !strings.Contains(err.Error(), "connection "+own+" ")
	})
}
