package tracking_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/tracked"
	"github.com/rowrelay/rowrelay/tracking"
)

// TestEveryChange has writers at work, some of which stay open for a while, processes that end in the middle of a tick,
// and a destination that refuses a key for a while. The row before each change is the one that the receiver has of its
// key: not one change is missing, none came in another order, and their number is that of the history.
func TestEveryChange(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	for _, name := range everyEngine {
		for _, operations := range [][]string{nil, {"update"}} {
			t.Run(strings.Join(append([]string{name}, operations...), " "), func(t *testing.T) {
				t.Parallel()
				everyChange(t, name, operations)
			})
		}
	}
}

func everyChange(t *testing.T, name string, operations []string) {
	r := newRig(t, name)
	r.recordEvery(tracking.Writes{Every: true, Before: true})
	r.hold, r.to.some = holds[name], len(operations) > 0
	s := settings{ttl: time.Second, delay: 200 * time.Millisecond, maxAttempts: 1000, batch: 50, every: true,
		operations: operations}
	r.siege(s, 8, func(int) time.Duration { return time.Duration(50+rand.IntN(400)) * time.Millisecond }, func() {})
	r.allTold(s)
}

// TestEveryChangeAltered has columns come and go while writers are at work: no change is missed.
func TestEveryChangeAltered(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name)
			all := tracking.Writes{Every: true, Before: true}
			r.recordEvery(all)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			writers := r.writers(ctx, 4)
			s := settings{ttl: time.Minute, delay: time.Second, maxAttempts: 5, batch: 50, every: true}
			i := r.instance(s)
			tick := func() { // writers leave it no end
				ctx, end := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer end()
				i.Tick(ctx)
			}
			tick()
			few := all
			few.Columns = []string{"v"}
			for range 3 {
				before := r.changes("")
				programtest.Until(t, "a change to be made", func() bool { return r.changes("") > before })
				r.patiently("ALTER TABLE orders ADD COLUMN w bigint")
				tick()
				r.recordEvery(all)
				tick()
				r.recordEvery(few)
				r.patiently("ALTER TABLE orders DROP COLUMN w")
				tick()
			}
			end()
			writers.Wait()
			r.allTold(s)
		})
	}
}

// patiently runs what waits for writers, and may be the victim of a deadlock.
func (r *rig) patiently(statement string) {
	r.Helper()
	var err error
	for range 20 {
		if _, err = r.db.ExecContext(r.Context(), statement); err == nil {
			return
		}
	}
	r.Fatalf("%s: %v", statement, err)
}

// allTold ticks until the receiver has as many changes as the history, and holds what it has against the table.
func (r *rig) allTold(s settings) {
	r.Helper()
	chosen := ""
	if len(s.operations) > 0 {
		chosen = " WHERE rowrelay_operation = '" + s.operations[0] + "'"
	}
	changes := r.changes(chosen)
	last := r.instance(s)
	told := func() int {
		r.to.mu.Lock()
		defer r.to.mu.Unlock()
		return len(r.to.seen)
	}
	for until := time.Now().Add(programtest.Patience); told() < changes && time.Now().Before(until); {
		last.Tick(r.Context())
	}
	r.Logf("%d changes, %d told, %d repeated", changes, told(), r.to.repeated)
	var differ []string
	if len(s.operations) == 0 {
		differ = r.differ()
	}
	if told() != changes || len(differ) > 0 || changes == 0 {
		r.Errorf("LOST %d of %d: %v", changes-told(), changes, differ[:min(5, len(differ))])
	}
	r.verdict()
}

// changes counts what the history has.
func (r *rig) changes(chosen string) (n int) {
	r.Helper()
	err := r.db.QueryRowContext(r.Context(), "SELECT COUNT(*) FROM rowrelay_history_orders"+chosen).Scan(&n)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// recordEvery has a history in place of the change table, or has the history record other columns.
func (r *rig) recordEvery(writes tracking.Writes) {
	r.Helper()
	r.uninstall(tracking.Writes{})
	var w tracking.Work
	var err error
	for range 20 { // it waits for writers, and may be the victim of a deadlock
		w, err = tracking.Install(r.Context(), r.conn, "orders", "", "orders", writes)
		if err == nil && w.Apply(r.Context(), r.db) == nil {
			return
		}
	}
	r.Fatalf("%v\n%s", err, w.Script())
}

// TestEveryChangePurgedBesideAnOpenTransaction: what a transaction wrote that was open for longer than changes are kept
// is not purged before it was told: the position waits for it, and a purge for the position.
func TestEveryChangePurgedBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	for _, name := range []string{"postgres", "mysql"} { // SQLite has one writer at a time
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name)
			writes := tracking.Writes{Every: true, Before: true}
			r.recordEvery(writes)
			s := settings{ttl: time.Minute, maxAttempts: 5, batch: 50, every: true, window: time.Second}
			i := r.instance(s)
			r.exec("INSERT INTO orders VALUES (1, 1)")
			work := func() { // for some windows
				for until := time.Now().Add(3 * s.window); time.Now().Before(until); {
					r.exec("UPDATE orders SET v = v + 1 WHERE id = 1")
					i.Tick(t.Context())
				}
			}
			work()
			tx := testenv.Begin(t, r.db)
			testenv.ExecOn(t, tx, "INSERT INTO orders VALUES (2, 1)")
			work()
			testenv.Commit(t, tx) // and nobody looks before the purge
			before := r.changes("")
			testenv.Exec(t, r.db, "UPDATE rowrelay_history_orders SET rowrelay_written = '2026-01-01 00:00:00'")
			readers, err := i.src.Readers(t.Context(), &tracked.Needs{At: r.document().Checkpoint.Cursor})
			if err != nil {
				t.Fatal(err)
			}
			w, err := tracking.Purge(t.Context(), r.conn, "orders", "", "orders", writes, readers,
				tracking.Keep{For: 9000 * time.Hour})
			if err == nil {
				err = w.Apply(t.Context(), r.db)
			}
			if err != nil {
				t.Fatal(err)
			}
			left := r.changes("")
			r.to.take()
			for until := time.Now().Add(programtest.Patience); len(r.differ()) > 0 && time.Now().Before(until); {
				if rep := i.Tick(t.Context()); rep.Err != nil {
					t.Fatal(rep.Err)
				}
			}
			if got := r.to.take(); got != "insert 2=1" || left == before {
				t.Errorf("told %q; of %d changes %d were left", got, before, left)
			}
		})
	}
}

// TestEveryChangePurgedInParts: many changes are removed by several statements, each in a transaction of its own.
func TestEveryChangePurgedInParts(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	writes := tracking.Writes{Every: true}
	r.recordEvery(writes)
	r.exec("INSERT INTO orders WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000) SELECT i, 1 FROM n",
		"UPDATE rowrelay_history_orders SET rowrelay_written = '2020-01-01 00:00:00'", "UPDATE orders SET v = 2 WHERE id = 1")
	w, err := tracking.Purge(t.Context(), r.conn, "orders", "", "orders", writes, nil, tracking.Keep{For: time.Hour})
	if err != nil || w.AtOnce || len(w.Statements) != 4 {
		t.Fatalf("%v\n%s", err, w.Script())
	}
	for _, s := range w.Statements {
		gone, err := r.db.ExecContext(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := gone.RowsAffected(); err != nil || n > 50_000 {
			t.Errorf("%s: %d rows, %v", s, n, err)
		}
	}
	if left := r.changes(""); left != 1 {
		t.Errorf("%d changes are left", left)
	}
}
