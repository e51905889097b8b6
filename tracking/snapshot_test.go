package tracking_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/state"
)

// filled writes the rows 1..n, each with the value v.
func filled(n, v int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("(%d, %d)", i+1, v)
	}
	return "INSERT INTO orders VALUES " + strings.Join(rows, ", ")
}

// document is what the store has.
func (r *rig) document() state.Document {
	r.Helper()
	stored, err := r.store.Load(r.Context(), "state/app/orders.json")
	if errors.Is(err, state.ErrNotFound) {
		return state.Document{}
	}
	if err != nil {
		r.Fatal(err)
	}
	doc, err := state.Decode(stored.Data)
	if err != nil {
		r.Fatal(err)
	}
	return doc
}

// TestSnapshotTellsEveryRow: rows from before the triggers come first, in pages, each as an insert, and every later
// change comes as itself.
func TestSnapshotTellsEveryRow(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name, filled(7, 1))
			r.exec("INSERT INTO orders VALUES (8, 1)", "UPDATE orders SET v = 2 WHERE id = 3", "DELETE FROM orders WHERE id = 4")
			i := r.instance(settings{ttl: time.Minute, maxAttempts: 5, batch: 3, snapshot: true})
			if rep := i.Tick(t.Context()); rep.Err != nil {
				t.Fatal(rep.Err)
			}
			seen := map[string]bool{}
			for _, text := range strings.Split(r.to.take(), ", ") {
				seen[text] = true
			}
			for _, want := range []string{"insert 1=1", "insert 2=1", "insert 3=2", "insert 5=1", "insert 6=1", "insert 7=1",
				"insert 8=1"} {
				if !seen[want] {
					t.Errorf("not told: %s of %v", want, seen)
				}
			}
			if doc := r.document(); doc.Backfill != nil {
				t.Errorf("the snapshot goes on: %+v", doc.Backfill)
			}
			r.exec("UPDATE orders SET v = 9 WHERE id = 1", "DELETE FROM orders WHERE id = 2",
				"INSERT INTO orders VALUES (10, 1)")
			i.Tick(t.Context())
			if differ := r.differ(); len(differ) > 0 {
				t.Error(differ)
			}
			if got := r.to.take(); !strings.Contains(got, "update 1=9") || !strings.Contains(got, "delete 2") ||
				!strings.Contains(got, "insert 10=1") {
				t.Errorf("told %s", got)
			}
		})
	}
}

// TestSnapshotOfNothing: an empty table has no rows to tell of, and its changes come.
func TestSnapshotOfNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	i := r.instance(settings{ttl: time.Minute, maxAttempts: 5, batch: 3, snapshot: true})
	i.Tick(t.Context())
	if doc := r.document(); doc.Backfill != nil {
		t.Errorf("a snapshot of nothing: %+v", doc.Backfill)
	}
	r.exec(filled(2, 1))
	i.Tick(t.Context())
	if got := r.to.take(); got != "insert 1=1, insert 2=1" {
		t.Errorf("told %s", got)
	}
}

// TestSnapshotSiege has writers at work while the rows of the table come beside the net changes, or beside every
// change, and the process ended again and again in the middle: no key ends on another state than the table's. Of a
// history every change since the begin comes, in its order.
func TestSnapshotSiege(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	for _, name := range everyEngine {
		for _, every := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " every ", every), func(t *testing.T) {
				t.Parallel()
				snapshotSiege(t, name, every)
			})
		}
	}
}

func snapshotSiege(t *testing.T, name string, every bool) {
	var r *rig
	s := settings{ttl: time.Second, delay: 200 * time.Millisecond, maxAttempts: 1000, batch: 20, snapshot: true}
	if every {
		r, s = everySnapshot(t, name, 1000)
		r.hold = holds[name]
	} else {
		r = newRig(t, name, filled(1000, 1))
	}
	middle, want, since := 0, 0, int64(0)
	r.siege(s, 4, func(killed int) time.Duration { return time.Duration(20+rand.IntN(60+30*killed)) * time.Millisecond },
		func() {
			b := r.document().Backfill
			if b == nil {
				return
			}
			if middle += min(1, int(b.Done)); every {
				since = r.since()
			}
		})
	if every {
		if want = r.changes(fmt.Sprint(" WHERE rowrelay_change > ", since)); want == 0 {
			t.Error("nothing was written")
		}
	}
	last := r.instance(s)
	var differ []string
	for until := time.Now().Add(programtest.Patience); time.Now().Before(until); {
		last.Tick(t.Context())
		doc := r.document()
		if differ = r.differ(); len(differ) == 0 && doc.Backfill == nil && doc.Parked.Count == 0 && r.to.changes >= want {
			break
		}
	}
	t.Logf("%d ended in the middle of the snapshot; %d events, %d repeated", middle, len(r.to.seen), r.to.repeated)
	if len(differ) > 0 || r.document().Backfill != nil || r.to.changes < want {
		t.Errorf("LOST %d rows: %v; %d changes of %d; %+v", len(differ), differ[:min(5, len(differ))], r.to.changes, want,
			r.document().Backfill)
	}
	r.verdict()
}

// TestResync: after a gap the poller stops, or reads the whole table again where it is told to, once.
func TestResync(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name, filled(7, 1))
			s := settings{ttl: time.Minute, maxAttempts: 5, batch: 3, snapshot: true}
			r.instance(s).Tick(t.Context())
			r.exec("UPDATE orders SET v = 2 WHERE id = 2", "DELETE FROM orders WHERE id = 5")
			r.install("orders") // the floor is raised: changes may be missing
			r.to.take()
			if rep := r.instance(s).Tick(t.Context()); rep.Event != poller.SourceGap {
				t.Fatalf("source__on_gap=stop: %s, %v", rep.Event, rep.Err)
			}
			s.resync = true
			i := r.instance(s)
			rep := i.Tick(t.Context())
			if rep.Err != nil || !strings.Contains(strings.Join(rep.Warnings, "\n"), "source__on_gap=resync begins again") {
				t.Errorf("%v, %q", rep.Err, rep.Warnings)
			}
			if doc := r.document(); doc.Backfill != nil {
				t.Errorf("the snapshot goes on: %+v", doc.Backfill)
			}
			// The row that was deleted within the gap is not guessed; all others are as in the table.
			if differ := r.differ(); len(differ) != 1 || !strings.HasPrefix(differ[0], "5 is gone") {
				t.Errorf("%v", differ)
			}
			if got := r.to.take(); got != "insert 2=2" { // the others were told of before, with these ids
				t.Errorf("told %s", got)
			}
			r.exec("DELETE FROM orders WHERE id = 3", "INSERT INTO orders VALUES (5, 7)")
			if rep := i.Tick(t.Context()); rep.Err != nil || strings.Contains(strings.Join(rep.Warnings, "\n"), "resync") {
				t.Errorf("%v, %q", rep.Err, rep.Warnings)
			}
			if differ := r.differ(); len(differ) > 0 {
				t.Error(differ)
			}
		})
	}
}

// TestSnapshotParks: a row that is refused waits and is read again, also where nobody has ever written it; one that
// is deleted meanwhile is told of as deleted; one that stays refused becomes a dead letter, and none holds up the rest.
func TestSnapshotParks(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name, filled(9, 1))
			refused := map[string]bool{"2": true, "4": true, "6": true, "8": true}
			r.to.set(func(e *change.Event) bool { return refused[keyOf(e)] && e.Op != change.Delete }, false)
			s := settings{ttl: time.Minute, delay: 50 * time.Millisecond, maxAttempts: 20, batch: 4, snapshot: true}
			r.instance(s).Tick(t.Context())
			if doc := r.document(); doc.Parked.Count != 4 || doc.Backfill != nil {
				t.Fatalf("parked %d, %+v", doc.Parked.Count, doc.Backfill)
			}
			r.exec("DELETE FROM orders WHERE id = 4", "UPDATE orders SET v = 5 WHERE id = 6")
			r.to.set(func(e *change.Event) bool { return keyOf(e) == "8" }, false)
			i := r.instance(s)
			for until := time.Now().Add(programtest.Patience); r.document().Parked.Count > 0 && time.Now().Before(until); {
				i.Tick(t.Context())
			}
			for _, text := range r.differ() {
				if !strings.HasPrefix(text, "8 is") {
					t.Error(text)
				}
			}
			if len(r.letters) != 1 || string(r.letters[0].Event.Key) != `{"id":8}` || r.letters[0].Attempts != 20 {
				t.Errorf("dead letters: %+v", r.letters)
			}
		})
	}
}

// TestSnapshotFindsLateCommits: what a transaction wrote before the snapshot began, and commits after its rows were
// read, is told of.
func TestSnapshotFindsLateCommits(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"postgres", "mysql"} { // the others commit one write at a time
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, name, filled(5, 1))
			tx := testenv.Begin(t, r.db)
			testenv.ExecOn(t, tx, []string{"UPDATE orders SET v = 2 WHERE id = 2", "DELETE FROM orders WHERE id = 3",
				"INSERT INTO orders VALUES (9, 1)"}...)
			r.exec("UPDATE orders SET v = 5 WHERE id = 5") // a later version, which is visible
			i := r.instance(settings{ttl: time.Minute, maxAttempts: 5, batch: 2, snapshot: true})
			i.Tick(t.Context())
			if doc := r.document(); doc.Backfill != nil || len(r.to.rows) != 5 {
				t.Fatalf("%d rows, %+v", len(r.to.rows), doc.Backfill)
			}
			testenv.Commit(t, tx)
			var differ []string
			for until := time.Now().Add(programtest.Patience); time.Now().Before(until); {
				i.Tick(t.Context())
				if differ = r.differ(); len(differ) == 0 {
					return
				}
			}
			t.Error(differ)
		})
	}
}

// TestPurgeBesideASnapshot: of a row that a snapshot found and the receiver refused, the delete is kept until that is
// told of.
func TestPurgeBesideASnapshot(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name, filled(3, 1))
			src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true, Start: "snapshot"}, r.conn)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = src.Close() }()
			s, err := src.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			page, err := src.Fetch(t.Context(), s.Rows, poller.Limit{Rows: 9, Bytes: 1 << 20})
			if err != nil || len(page.Events) != 3 {
				t.Fatalf("%d rows, %v", len(page.Events), err)
			}
			r.exec("DELETE FROM orders WHERE id <= 2")
			at, _, err := r.read(src, s.After)
			if err != nil {
				t.Fatal(err)
			}
			parked := &page.Events[0]
			if left := r.purge(src, at, parked.Cursor); left != 2 {
				t.Errorf("%d keys are left", left)
			}
			again, err := src.Reread(t.Context(), [][]byte{parked.Key})
			if err != nil || len(again) != 1 || again[0].Op != change.Delete {
				t.Errorf("read again: %+v, %v", again, err)
			}
			if name == "mysql" { // its purge waits for the window
				return
			}
			left := 2
			for until := time.Now().Add(programtest.Patience); left > 1 && time.Now().Before(until); {
				r.exec("UPDATE orders SET v = v + 1 WHERE id = 3")
				if at, _, err = r.read(src, at); err != nil {
					t.Fatal(err)
				}
				left = r.purge(src, at) // PostgreSQL's waits for whoever has a transaction open, other tests too
			}
			if left > 1 {
				t.Errorf("%d keys are left, and nobody waits for them", left)
			}
		})
	}
}
