package tracking_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/tracking"
)

// everySnapshot is a rig whose history began after some rows were there, and the settings of a poller that reads both.
func everySnapshot(t *testing.T, name string, rows int) (*rig, settings) {
	t.Helper()
	r := newRig(t, name, filled(rows, 1))
	r.recordEvery(tracking.Writes{Every: true, Before: true})
	r.to.some, r.to.numbers = true, map[string]int64{}
	return r, settings{ttl: time.Second, delay: 100 * time.Millisecond, maxAttempts: 1000, batch: 20, snapshot: true,
		every: true}
}

// since is the number that a snapshot's rows were read beside.
func (r *rig) since() int64 {
	r.Helper()
	var from struct{ Read int64 }
	if b := r.document().Backfill; b == nil {
		r.Fatal("no snapshot is under way")
	} else if err := json.Unmarshal(b.From, &from); err != nil {
		r.Fatal(err)
	}
	return from.Read
}

// TestEverySnapshotFindsLateCommits: the changes of a transaction that was open when the snapshot began, and commits
// after its rows were read, are told.
func TestEverySnapshotFindsLateCommits(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"postgres", "mysql"} { // SQLite commits one write at a time
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := everySnapshot(t, name, 5)
			tx := testenv.Begin(t, r.db)
			testenv.ExecOn(t, tx, []string{"UPDATE orders SET v = 2 WHERE id = 2", "DELETE FROM orders WHERE id = 3",
				"INSERT INTO orders VALUES (9, 1)"}...)
			r.exec("UPDATE orders SET v = 5 WHERE id = 5") // a higher number, which is visible
			i := r.instance(s)
			rep := i.Tick(t.Context())
			if doc := r.document(); rep.Err != nil || doc.Backfill != nil || len(r.to.rows) != 5 {
				t.Log(rep.Err)
				t.Fatalf("%d rows, %+v", len(r.to.rows), doc.Backfill)
			}
			r.to.take()
			testenv.Commit(t, tx)
			for until := time.Now().Add(programtest.Patience); len(r.differ()) > 0 && time.Now().Before(until); {
				i.Tick(t.Context())
			}
			if got := r.to.take(); got != "update 2=2, delete 3, insert 9=1" {
				t.Errorf("told %q, and %v", got, r.differ())
			}
		})
	}
}

// TestEveryResync: after a gap of the history the whole table is read again, with other ids than before, and changes
// go on from there.
func TestEveryResync(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := everySnapshot(t, name, 4)
			r.instance(s).Tick(t.Context())
			r.exec("UPDATE orders SET v = 2 WHERE id = 2")
			i := r.instance(s)
			i.Tick(t.Context())
			if got := r.to.take(); !strings.HasSuffix(got, ", update 2=2") || len(r.to.rows) != 4 {
				t.Fatalf("told %s", got)
			}
			none := tracking.Writes{Every: true, Before: true}
			r.uninstall(none)
			r.exec("UPDATE orders SET v = 1 WHERE id = 2", "DELETE FROM orders WHERE id = 4") // nobody sees it
			r.recordEvery(none)
			if rep := r.instance(s).Tick(t.Context()); rep.Event != poller.SourceGap {
				t.Fatalf("source__on_gap=stop: %s, %v", rep.Event, rep.Err)
			}
			s.resync = true
			i = r.instance(s)
			rep := i.Tick(t.Context())
			if rep.Err != nil || !strings.Contains(strings.Join(rep.Warnings, "\n"), "source__on_gap=resync begins again") {
				t.Errorf("%v, %q", rep.Err, rep.Warnings)
			}
			// Row 2 is as it was when its row came first, and the receiver has been told of another state since.
			if got := r.to.take(); got != "insert 1=1, insert 2=1, insert 3=1" {
				t.Errorf("told %s", got)
			}
			if differ := r.differ(); len(differ) != 1 || !strings.HasPrefix(differ[0], "4 is gone") {
				t.Errorf("%v", differ)
			}
			r.exec("INSERT INTO orders VALUES (4, 7)")
			if rep := i.Tick(t.Context()); rep.Err != nil {
				t.Error(rep.Err)
			}
			if got := r.to.take(); got != "insert 4=7" || len(r.differ()) > 0 {
				t.Errorf("told %s; %v", got, r.differ())
			}
		})
	}
}

// TestEverySnapshotParks: a row that is refused waits and is read again from the table; one that is deleted meanwhile
// is told of by its change; one that stays refused becomes a dead letter.
func TestEverySnapshotParks(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := everySnapshot(t, name, 9)
			s.delay, s.maxAttempts, s.batch = 50*time.Millisecond, 20, 4
			refused := map[string]bool{"2": true, "4": true, "6": true, "8": true}
			r.to.set(func(e *change.Event) bool { return refused[keyOf(e)] }, false)
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
			if differ := r.differ(); len(differ) != 1 || !strings.HasPrefix(differ[0], "8 is") {
				t.Errorf("%v", differ)
			}
			if got := r.to.take(); strings.Index(got, "insert 6=5") > strings.Index(got, "update 6=5") ||
				!strings.Contains(got, "delete 4") {
				t.Errorf("told %s", got)
			}
			if len(r.letters) != 1 || !strings.HasPrefix(string(r.letters[0].Event.Key), `{"id":8,"rowrelay_read":`) {
				t.Errorf("dead letters: %+v", r.letters)
			}
		})
	}
}
