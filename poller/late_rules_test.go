package poller

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// inLate runs a test of one mode in virtual time, over a table with n old rows.
func inLate(t *testing.T, mode LateCommits, n int, f func(t *testing.T, d *lateDriver)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		table := newLateTable(rng)
		for range n {
			table.nextKey++
			table.rows[table.nextKey] = lateRow{table.draw(), "old"}
		}
		f(t, newLateDriver(t, table, rng, mode))
	})
}

// ticks runs a tick each second.
func (d *lateDriver) ticks(n int) {
	d.t.Helper()
	for range n {
		d.drain()
		time.Sleep(time.Second)
	}
}

// TestLowEdgeWaitsForTheWindow: the checkpoint moves once, a window after the rows were delivered, and is durable.
func TestLowEdgeWaitsForTheWindow(t *testing.T) {
	inLate(t, LateOverlap, 20, func(t *testing.T, d *lateDriver) {
		d.ticks(24) // the window, to the second
		if !d.doc.Checkpoint.Cursor.IsStart() || len(d.delivered) != 20 {
			t.Fatalf("after less than the window the checkpoint is %s, %d rows are delivered", d.doc.Checkpoint.Cursor, len(d.delivered))
		}
		if want := (latePosition{"test", 21, 20}).cursor(); !d.doc.Late.Frontier.Equal(want) || d.doc.Late.Memory.Count != 20 {
			t.Errorf("stored: frontier %s, memory %d rows", d.doc.Late.Frontier, d.doc.Late.Memory.Count)
		}
		d.ticks(8)
		if want := (latePosition{"test", 21, 20}).cursor(); !d.doc.Checkpoint.Cursor.Equal(want) || d.doc.Late.Memory.Object != "" {
			t.Errorf("after the window the checkpoint is %s, the memory %q", d.doc.Checkpoint.Cursor, d.doc.Late.Memory.Object)
		}
		commits, fetches := d.commits, d.table.fetches
		d.ticks(60)
		if d.commits != commits || d.table.fetches != fetches+60 {
			t.Errorf("60 idle ticks: %d commits, %d fetches", d.commits-commits, d.table.fetches-fetches)
		}
		if d.repeats > 0 {
			t.Errorf("%d duplicates", d.repeats)
		}
	})
}

// TestOpenTransactionKeepsTheLowEdge: where the server shows it, a transaction may take much longer than the window.
func TestOpenTransactionKeepsTheLowEdge(t *testing.T) {
	for _, shown := range []bool{true, false} {
		inLate(t, LateOverlap, 5, func(t *testing.T, d *lateDriver) {
			d.table.shown = shown
			long := d.table.begin(time.Hour)
			key := d.table.insert(long)
			short := d.table.begin(time.Hour)
			d.table.insert(short)
			d.table.end(short, true)
			d.ticks(100) // four windows
			if d.doc.Checkpoint.Cursor.IsStart() != shown {
				t.Errorf("shown %t: the checkpoint is %s", shown, d.doc.Checkpoint.Cursor)
			}
			d.table.end(long, true)
			d.ticks(40)
			if lost := d.lost(); len(lost) > 0 == shown || len(lost) > 0 && lost[0] != key {
				t.Errorf("shown %t: lost %v", shown, lost)
			}
			if shown && d.doc.Checkpoint.Cursor.IsStart() {
				t.Error("the checkpoint did not move after the transaction's end")
			}
		})
	}
}

// endsAfterRead ends a transaction just after the first page of a sweep that is read at or after due.
type endsAfterRead struct {
	*lateTable
	tx  *lateTx
	due time.Time
}

func (s *endsAfterRead) Fetch(ctx context.Context, r Range, limit Limit) (Page, error) {
	page, err := s.lateTable.Fetch(ctx, r, limit)
	if s.tx != nil && !r.UpTo.IsStart() && !time.Now().Before(s.due) {
		s.end(s.tx, true)
		s.tx = nil
	}
	return page, err
}

// TestTransactionEndsBehindTheRead: the look at the open transactions comes before the read. Were it the other way round, a transaction
// that ends between the two would be neither read nor seen open.
func TestTransactionEndsBehindTheRead(t *testing.T) {
	inLate(t, LateOverlap, 0, func(t *testing.T, d *lateDriver) {
		d.table.shown = true
		long := d.table.begin(time.Hour)
		d.table.insert(long)
		short := d.table.begin(time.Hour)
		d.table.insert(short)
		d.table.end(short, true)
		source := &endsAfterRead{d.table, long, time.Now().Add(d.cfg.LateWindow + 2*time.Second)}
		d.source, d.cfg.Source = source, source
		d.start()
		d.ticks(60)
		if lost := d.lost(); source.tx != nil || len(lost) > 0 {
			t.Errorf("lost %v", lost)
		}
		if d.doc.Checkpoint.Cursor.IsStart() {
			t.Error("the checkpoint does not move after the transaction's end")
		}
	})
}

// TestFullMemoryHoldsBack: at late_memory new rows wait for the low edge, visibly, and nothing is forgotten.
func TestFullMemoryHoldsBack(t *testing.T) {
	inLate(t, LateOverlap, 100, func(t *testing.T, d *lateDriver) {
		d.cfg.LateMemory = 40
		d.table.shown = true
		long := d.table.begin(time.Hour)
		d.table.insert(long)
		d.start()
		d.drain()
		if !strings.Contains(strings.Join(d.warned, "\n"), "source__late_memory") {
			t.Errorf("warnings: %q", d.warned)
		}
		d.ticks(30)
		if n := len(d.delivered); n < 40 || n > 40+d.limit.Rows {
			t.Fatalf("%d rows are delivered with room for 40", n)
		}
		if r := &d.report; r.HeldBack < 20*time.Second || !strings.Contains(r.HeldBy, "40 rows") || !strings.Contains(r.HeldBy, "tx ") {
			t.Errorf("held back for %s by %q", r.HeldBack, r.HeldBy)
		}
		d.table.end(long, true)
		began := time.Now()
		d.quiet(time.Hour)
		if lost := d.lost(); len(lost) > 0 || d.repeats > 0 {
			t.Errorf("lost %v, %d duplicates", lost, d.repeats)
		}
		if d.drain(); d.report.HeldBack != 0 || d.report.HeldBy != "" || d.report.Remembered != 0 {
			t.Errorf("afterwards: held back for %s by %q, %d remembered", d.report.HeldBack, d.report.HeldBy, d.report.Remembered)
		}
		if took := time.Since(began); took > 4*d.cfg.LateWindow {
			t.Errorf("61 rows in portions of 40 took %s, more than a window for each", took)
		}
	})
}

// TestDatabaseClock: without the database's clock the low edge does not move, and a jump begins the window again.
func TestDatabaseClock(t *testing.T) {
	t.Run("it fails", func(t *testing.T) {
		inLate(t, LateOverlap, 5, func(t *testing.T, d *lateDriver) {
			d.late.source = blindSource{d.table}
			d.ticks(100)
			if !d.doc.Checkpoint.Cursor.IsStart() || len(d.delivered) != 5 {
				t.Errorf("the checkpoint is %s, %d rows are delivered", d.doc.Checkpoint.Cursor, len(d.delivered))
			}
			d.late.source = d.table
			d.ticks(60)
			if d.doc.Checkpoint.Cursor.IsStart() {
				t.Error("the checkpoint does not move after the clock is back")
			}
		})
	})
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			inLate(t, LateOverlap, 5, func(t *testing.T, d *lateDriver) {
				d.cfg.LateWindow = 90 * time.Second // the clock is read in between
				d.start()
				d.ticks(30)
				d.table.skew += jump
				d.ticks(89)
				if !d.doc.Checkpoint.Cursor.IsStart() {
					t.Error("the checkpoint moved before a window had passed since the jump")
				}
				d.ticks(130)
				if d.doc.Checkpoint.Cursor.IsStart() {
					t.Error("the checkpoint does not move after a jump")
				}
			})
		})
	}
}

// blindSource does not tell the time.
type blindSource struct{ *lateTable }

func (blindSource) Horizon(context.Context) (Horizon, error) { return Horizon{}, errors.New("denied") }

// TestMarkFromTheFuture: a stored mark that lies ahead of the database's clock does not hold the low edge for ever.
func TestMarkFromTheFuture(t *testing.T) {
	inLate(t, LateOverlap, 5, func(t *testing.T, d *lateDriver) {
		d.drain()
		d.doc.Late.Since = time.Now().Add(365 * 24 * time.Hour)
		d.crash()
		d.ticks(40)
		if d.doc.Checkpoint.Cursor.IsStart() {
			t.Error("the checkpoint does not move")
		}
	})
}

// TestShorterWindow: a window that the settings change holds from the next tick on.
func TestShorterWindow(t *testing.T) {
	inLate(t, LateOverlap, 5, func(t *testing.T, d *lateDriver) {
		d.cfg.LateWindow = time.Hour
		d.start()
		d.ticks(60)
		d.cfg.LateWindow = 30 * time.Second
		d.crash()
		d.ticks(3)
		if d.doc.Checkpoint.Cursor.IsStart() {
			t.Error("the checkpoint still waits for the longer window")
		}
		if d.repeats > 0 {
			t.Errorf("%d duplicates", d.repeats)
		}
	})
}

// TestHotRowInOverlap: a row that changes all the time takes one place in the memory, or a few, and not one for each
// version.
func TestHotRowInOverlap(t *testing.T) {
	inLate(t, LateOverlap, 1, func(t *testing.T, d *lateDriver) {
		most := 0
		for i := range 400 {
			tx := d.table.begin(time.Hour)
			d.table.update(tx, 1, 0)
			d.table.end(tx, true)
			time.Sleep(50 * time.Millisecond)
			if i%2 == 0 {
				d.drain()
			}
			most = max(most, d.report.Remembered)
		}
		d.quiet(time.Minute)
		if d.versions[1] < 200 || most > 30 {
			t.Errorf("%d versions delivered, %d remembered at most", d.versions[1], most)
		}
		if lost := d.lost(); len(lost) > 0 {
			t.Error("the last version was not delivered")
		}
	})
}

// TestRowThatReturns: a row that changes behind the frontier and becomes again what it was, cursor included, is
// delivered each time.
func TestRowThatReturns(t *testing.T) {
	inLate(t, LateOverlap, 10, func(t *testing.T, d *lateDriver) {
		d.ticks(3)
		was := d.table.rows[3]
		d.table.rows[3] = lateRow{was.cursor, "other"}
		d.ticks(3)
		d.table.rows[3] = was
		d.ticks(3)
		if d.versions[3] != 3 || len(d.lost()) > 0 {
			t.Errorf("%d events of the row, lost %v", d.versions[3], d.lost())
		}
	})
}

// TestModeChange: another mode than the document's is refused, with what to do.
func TestModeChange(t *testing.T) {
	inLate(t, LateOverlap, 5, func(t *testing.T, d *lateDriver) {
		d.drain()
		var fault *Fault
		err := newLate(&d.cfg).adopt(context.Background(), &d.doc, time.Now(), LateExact, nil)
		if !errors.As(err, &fault) || fault.Event != FingerprintMismatch || !strings.Contains(err.Error(), "accept-fingerprint") {
			t.Errorf("got %v", err)
		}
	})
}

// TestUnreadableMemory: a store that fails is a fault; an object that is gone or damaged costs duplicates, and is told.
func TestUnreadableMemory(t *testing.T) {
	inLate(t, LateOverlap, 20, func(t *testing.T, d *lateDriver) {
		d.ticks(5)
		var fault *Fault
		l := newLate(&d.cfg)
		failing := func(context.Context, string) ([]byte, error) { return nil, errors.New("timeout") }
		if err := l.adopt(context.Background(), &d.doc, time.Now(), d.mode, failing); !errors.As(err, &fault) || fault.Event != CheckpointLoadFailed {
			t.Errorf("a store that fails: %v", err)
		}
		for name, data := range d.objects {
			data[20] ^= 1
			d.objects[name] = data
		}
		d.crash()
		d.drain()
		if d.repeats != 20 || !strings.Contains(strings.Join(d.warned, "\n"), "damaged") {
			t.Errorf("damaged: %d duplicates, warnings %q", d.repeats, d.warned)
		}
		clear(d.objects)
		d.crash()
		d.drain()
		if d.repeats != 40 || !strings.Contains(strings.Join(d.warned, "\n"), state.ErrNotFound.Error()) {
			t.Errorf("missing: %d duplicates, warnings %q", d.repeats, d.warned)
		}
		d.quiet(time.Minute)
		if lost := d.lost(); len(lost) > 0 || d.repeats != 40 {
			t.Errorf("lost %v, %d duplicates", lost, d.repeats)
		}
	})
}

// TestUnstoredIsNotTrusted: what a session settled and could not store is settled again, because what else had to be
// stored with it (a parked event) is not there.
func TestUnstoredIsNotTrusted(t *testing.T) {
	inLate(t, LateOverlap, 5, func(t *testing.T, d *lateDriver) {
		d.drain()
		tx := d.table.begin(time.Hour)
		d.table.insert(tx)
		d.table.end(tx, true)
		d.next()
		d.late.settled(&d.line[0], 1) // and the commit fails
		d.open()
		d.drain()
		if len(d.lost()) > 0 {
			t.Errorf("lost %v", d.lost())
		}
	})
}

// TestPassThroughIsCheap: modes without a memory cost no allocation for each event.
func TestPassThroughIsCheap(t *testing.T) {
	for _, mode := range []LateCommits{LateNone, LateSettle, LateExact} {
		inLate(t, mode, 500, func(t *testing.T, d *lateDriver) {
			page, err := d.table.Fetch(context.Background(), Range{}, Limit{Rows: 500})
			if err != nil {
				t.Fatal(err)
			}
			allocations := testing.AllocsPerRun(20, func() {
				step := d.late.next(context.Background())
				batch := d.late.fetched(step, &page)
				d.late.settled(&batch, len(batch.Events))
				if len(batch.Events) != 500 || batch.Kind != change.Live {
					t.Error("rows are missing")
				}
			})
			if allocations > 0 {
				t.Errorf("%s: %g allocations for a batch", mode, allocations)
			}
		})
	}
}

// TestModeIsStored: the first commit stores the choice.
func TestModeIsStored(t *testing.T) {
	for _, mode := range []LateCommits{LateNone, LateSettle, LateExact, LateOverlap} {
		inLate(t, mode, 3, func(t *testing.T, d *lateDriver) {
			d.drain()
			if d.doc.Late.Mode != string(mode) || len(d.delivered) != 3 {
				t.Errorf("%s: stored %q, %d rows delivered", mode, d.doc.Late.Mode, len(d.delivered))
			}
			if before := d.commits; mode != LateOverlap {
				d.ticks(3)
				if d.commits != before || d.doc.Checkpoint.Cursor.IsStart() {
					t.Errorf("%s: %d more commits, checkpoint %s", mode, d.commits-before, d.doc.Checkpoint.Cursor)
				}
			}
		})
	}
}
