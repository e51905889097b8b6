package late

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// inLate runs a test of one mode in virtual time, over a table with n old rows.
func inLate(t *testing.T, mode Mode, n int, f func(t *testing.T, d *driver)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		table := latetest.New(rng)
		for range n {
			table.NextKey++
			table.Put(table.NextKey, latetest.Row{Cursor: table.Draw(), Text: "old"})
		}
		f(t, newDriver(t, table, rng, mode))
	})
}

// ticks runs a tick each second.
func (d *driver) ticks(n int) {
	d.t.Helper()
	for range n {
		d.drain()
		time.Sleep(time.Second)
	}
}

// TestLowEdgeWaitsForTheWindow: the checkpoint moves once, a window after the rows were delivered, and is durable.
func TestLowEdgeWaitsForTheWindow(t *testing.T) {
	inLate(t, Overlap, 20, func(t *testing.T, d *driver) {
		d.ticks(24) // the window, to the second
		if !d.doc.Checkpoint.Cursor.IsStart() || len(d.delivered) != 20 {
			t.Fatalf("after less than the window the checkpoint is %s, %d rows are delivered", d.doc.Checkpoint.Cursor,
				len(d.delivered))
		}
		if want := (latetest.Position{Kind: "test", Value: 21, Key: 20}).Cursor(); !d.doc.Late.Frontier.Equal(want) ||
			d.doc.Late.Memory.Count != 20 {
			t.Errorf("stored: frontier %s, memory %d rows", d.doc.Late.Frontier, d.doc.Late.Memory.Count)
		}
		d.ticks(8)
		if want := (latetest.Position{Kind: "test", Value: 21, Key: 20}).Cursor(); !d.doc.Checkpoint.Cursor.Equal(want) ||
			d.doc.Late.Memory.Object != "" {
			t.Errorf("after the window the checkpoint is %s, the memory %q", d.doc.Checkpoint.Cursor, d.doc.Late.Memory.Object)
		}
		commits, fetches := d.commits, d.table.Fetches
		d.ticks(60)
		if d.commits != commits || d.table.Fetches != fetches+60 {
			t.Errorf("60 idle ticks: %d commits, %d fetches", d.commits-commits, d.table.Fetches-fetches)
		}
		if d.repeats > 0 {
			t.Errorf("%d duplicates", d.repeats)
		}
	})
}

// TestOpenTransactionKeepsTheLowEdge: where the server shows it, a transaction may take much longer than the window.
func TestOpenTransactionKeepsTheLowEdge(t *testing.T) {
	for _, shown := range []bool{true, false} {
		inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
			d.table.Shown = shown
			long := d.table.Begin(time.Hour)
			key := d.table.Insert(long)
			short := d.table.Begin(time.Hour)
			d.table.Insert(short)
			d.table.End(short, true)
			d.ticks(100) // four windows
			if d.doc.Checkpoint.Cursor.IsStart() != shown {
				t.Errorf("shown %t: the checkpoint is %s", shown, d.doc.Checkpoint.Cursor)
			}
			d.table.End(long, true)
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
	*latetest.Table
	tx  *latetest.Tx
	due time.Time
}

func (s *endsAfterRead) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	page, err := s.Table.Fetch(ctx, r, limit)
	if s.tx != nil && !r.UpTo.IsStart() && !time.Now().Before(s.due) {
		s.End(s.tx, true)
		s.tx = nil
	}
	return page, err
}

// TestTransactionEndsBehindTheRead: the look at the open transactions comes before the read. Were it the other way
// round, a transaction that ends between the two would be neither read nor seen open.
func TestTransactionEndsBehindTheRead(t *testing.T) {
	inLate(t, Overlap, 0, func(t *testing.T, d *driver) {
		d.table.Shown = true
		long := d.table.Begin(time.Hour)
		d.table.Insert(long)
		short := d.table.Begin(time.Hour)
		d.table.Insert(short)
		d.table.End(short, true)
		source := &endsAfterRead{d.table, long, time.Now().Add(d.cfg.Window + 2*time.Second)}
		d.source, d.cfg.Database = source, source
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
	inLate(t, Overlap, 100, func(t *testing.T, d *driver) {
		d.cfg.Memory = 40
		d.table.Shown = true
		long := d.table.Begin(time.Hour)
		d.table.Insert(long)
		d.start()
		d.drain()
		if !strings.Contains(strings.Join(d.warned, "\n"), "source__late_memory") {
			t.Errorf("warnings: %q", d.warned)
		}
		d.ticks(30)
		if n := len(d.delivered); n < 40 || n > 40+d.limit.Rows {
			t.Fatalf("%d rows are delivered with room for 40", n)
		}
		if r := &d.report; r.HeldBack < 20*time.Second || !strings.Contains(r.HeldBy, "40 rows") ||
			!strings.Contains(r.HeldBy, "tx ") {
			t.Errorf("held back for %s by %q", r.HeldBack, r.HeldBy)
		}
		d.table.End(long, true)
		began := time.Now()
		d.quiet(time.Hour)
		if lost := d.lost(); len(lost) > 0 || d.repeats > 0 {
			t.Errorf("lost %v, %d duplicates", lost, d.repeats)
		}
		if d.drain(); d.report.HeldBack != 0 || d.report.HeldBy != "" || d.report.Remembered != 0 {
			t.Errorf("afterwards: held back for %s by %q, %d remembered", d.report.HeldBack, d.report.HeldBy,
				d.report.Remembered)
		}
		if took := time.Since(began); took > 4*d.cfg.Window {
			t.Errorf("61 rows in portions of 40 took %s, more than a window for each", took)
		}
	})
}

// TestShorterWindow: a window that the settings change holds from the next tick on.
func TestShorterWindow(t *testing.T) {
	inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
		d.cfg.Window = time.Hour
		d.start()
		d.ticks(60)
		d.cfg.Window = 30 * time.Second
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
	inLate(t, Overlap, 1, func(t *testing.T, d *driver) {
		most := 0
		for i := range 400 {
			tx := d.table.Begin(time.Hour)
			d.table.Update(tx, 1, 0)
			d.table.End(tx, true)
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
	inLate(t, Overlap, 10, func(t *testing.T, d *driver) {
		d.ticks(3)
		was := d.table.Rows[3]
		d.table.Put(3, latetest.Row{Cursor: was.Cursor, Text: "other"})
		d.ticks(3)
		d.table.Put(3, was)
		d.ticks(3)
		if d.versions[3] != 3 || len(d.lost()) > 0 {
			t.Errorf("%d events of the row, lost %v", d.versions[3], d.lost())
		}
	})
}

// TestModeChange: another mode than the document's is refused, with what to do.
func TestModeChange(t *testing.T) {
	inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
		d.drain()
		var fault *poller.Fault
		err := New(d.cfg).Adopt(context.Background(), &d.doc, time.Now(), Source{Mode: Exact}, nil)
		if !errors.As(err, &fault) || fault.Event != poller.FingerprintMismatch ||
			!strings.Contains(err.Error(), "accept-fingerprint") {
			t.Errorf("got %v", err)
		}
	})
}

// TestUnreadableMemory: a store that fails is a fault; an object that is gone or damaged costs duplicates, and is told.
func TestUnreadableMemory(t *testing.T) {
	inLate(t, Overlap, 20, func(t *testing.T, d *driver) {
		forget := func() { // what is forgotten asks for an object
			for range 3 {
				d.table.Put(3, latetest.Row{Cursor: d.table.Draw(), Text: fmt.Sprint(d.table.Counter)})
				d.ticks(3)
			}
		}
		forget()
		var fault *poller.Fault
		l := New(d.cfg)
		failing := func(context.Context, string) ([]byte, error) { return nil, errors.New("timeout") }
		if err := l.Adopt(context.Background(), &d.doc, time.Now(), Source{Mode: d.mode}, failing); !errors.As(err, &fault) ||
			fault.Event != poller.CheckpointLoadFailed {
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
		forget()
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
	inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
		d.drain()
		tx := d.table.Begin(time.Hour)
		d.table.Insert(tx)
		d.table.End(tx, true)
		d.next()
		d.late.Settled(&d.line[0], 1) // and the commit fails
		d.open()
		d.drain()
		if len(d.lost()) > 0 {
			t.Errorf("lost %v", d.lost())
		}
	})
}

// TestPassThroughIsCheap: modes without a memory cost no allocation for each event.
func TestPassThroughIsCheap(t *testing.T) {
	for _, mode := range []Mode{None, Settle, Exact} {
		inLate(t, mode, 500, func(t *testing.T, d *driver) {
			page, err := d.table.Fetch(context.Background(), change.Range{}, poller.Limit{Rows: 500})
			if err != nil {
				t.Fatal(err)
			}
			allocations := testing.AllocsPerRun(20, func() {
				step := d.late.Next(context.Background())
				batch, _ := d.late.Fetched(step, &page)
				d.late.Settled(&batch, len(batch.Events))
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
	for _, mode := range []Mode{None, Settle, Exact, Overlap} {
		inLate(t, mode, 3, func(t *testing.T, d *driver) {
			d.drain()
			if d.doc.Late.Mode != string(mode) || len(d.delivered) != 3 {
				t.Errorf("%s: stored %q, %d rows delivered", mode, d.doc.Late.Mode, len(d.delivered))
			}
			if before := d.commits; mode != Overlap {
				d.ticks(3)
				if d.commits != before || d.doc.Checkpoint.Cursor.IsStart() {
					t.Errorf("%s: %d more commits, checkpoint %s", mode, d.commits-before, d.doc.Checkpoint.Cursor)
				}
			}
		})
	}
}
