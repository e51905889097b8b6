package late

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/internal/quick"
)

// oldRows is a driver before a table of rows that a transaction wrote which has ended.
func oldRows(t *testing.T, rows, memory int) *driver {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	table := latetest.New(rng)
	table.Numbers, table.Number = "life 1", 100
	for range rows {
		table.NextKey++
		table.Put(table.NextKey, latetest.Row{Cursor: table.Draw(), Text: "old", Writer: table.Number})
	}
	d := newDriver(t, table, rng, Overlap)
	d.cfg.Memory = memory
	d.start()
	return d
}

// TestBacklogIsStoredWithEachBatch: a process that dies in a backlog costs the batches that were in flight, and the
// backlog takes no memory, whatever its size. A row that commits late below it is found.
func TestBacklogIsStoredWithEachBatch(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		d := oldRows(t, 1000, 10)
		tx := d.table.Begin(time.Hour)
		d.table.Write(tx, 2000, 3) // among the first rows
		for step := 0; len(d.delivered) < 1000; step++ {
			more := d.next()
			if !more && len(d.line) == 0 || step > 1000 {
				t.Fatalf("held after %d rows: %v", len(d.delivered), d.warned)
			}
			if d.late.remembered.len()+d.late.inFlight.len() > 0 {
				t.Fatalf("%d rows are remembered, %d in flight", d.late.remembered.len(), d.late.inFlight.len())
			}
			switch {
			case more && len(d.line) < 2:
			case step%40 == 0:
				d.crash()
			default:
				d.settle(d.limit.Rows, false, "")
			}
		}
		if most := d.crashes * 2 * d.limit.Rows; d.crashes == 0 || d.repeats > most {
			t.Errorf("%d rows came twice after %d crashes, with two batches of %d in flight", d.repeats, d.crashes,
				d.limit.Rows)
		}
		d.drain()
		d.table.End(tx, true)
		d.quiet(5 * d.cfg.Window)
		if lost := d.lost(); len(lost) > 0 || !d.late.low.Equal(d.late.front) {
			t.Errorf("lost: %v", lost)
		}
	})
}

// TestServerSaysLaterWhoHasEnded: a server that writes all the time cannot say with the first page which transactions
// have ended for good. A backlog waits for that rather than be remembered; a server that never says it holds up none.
func TestServerSaysLaterWhoHasEnded(t *testing.T) {
	quick.Skip(t)
	for unsaid, remembered := range map[int]bool{0: false, 3: false, 1 << 30: true} {
		synctest.Test(t, func(t *testing.T) {
			d := oldRows(t, 1000, 2000)
			d.table.Unsaid = unsaid
			begun, most := time.Now(), 0
			for len(d.delivered) < 1000 {
				for len(d.line) < 2 && d.next() {
				}
				d.settle(d.limit.Rows, false, "")
				most = max(most, d.late.remembered.len())
			}
			if took := time.Since(begun); most > 0 != remembered || took > 2*time.Second {
				t.Errorf("after %d pages: %d rows were remembered, in %s", unsaid, most, took)
			}
		})
	}
}

// TestOpenTransactionFillsTheMemory: while a write transaction is open, what is written after it began is remembered,
// and held back where there is no room. Its end frees the memory, long before the window is over.
func TestOpenTransactionFillsTheMemory(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		d := oldRows(t, 100, 30)
		d.cfg.Window = time.Hour
		d.start()
		d.drain()
		tx := d.table.Begin(24 * time.Hour)
		d.table.Insert(tx)
		for range 100 {
			other := d.table.Begin(0)
			d.table.Insert(other)
			d.table.End(other, true)
		}
		for range 20 {
			d.drain()
			time.Sleep(10 * time.Second)
		}
		if n := d.report.Remembered; n < 30 || n > 30+d.limit.Rows || d.report.HeldBack == 0 {
			t.Errorf("%d rows are remembered, held back for %s", n, d.report.HeldBack)
		}
		d.table.End(tx, true)
		for range 60 {
			d.drain()
			time.Sleep(10 * time.Second)
		}
		if lost := d.lost(); len(lost) > 0 || d.repeats > 0 || d.report.HeldBack > 0 {
			t.Errorf("lost %v, %d came twice, held back for %s", lost, d.repeats, d.report.HeldBack)
		}
	})
}

// TestOlderBinaryMovesTheFrontier: what is known of writers is of two positions. A binary that does not know the member
// leaves it as it is when it moves them.
func TestOlderBinaryMovesTheFrontier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := oldRows(t, 100, 1000)
		d.drain()
		if d.doc.Late.Known.Below != 101 || d.late.known.below != 101 {
			t.Fatalf("known is %+v", d.doc.Late.Known)
		}
		d.start()
		if d.late.known.below != 101 {
			t.Errorf("a new process knows %+v", d.late.known)
		}
		d.doc.Late.Frontier = latetest.Position{Kind: "test", Value: 1 << 40}.Cursor()
		d.start()
		if d.late.known.below != 0 {
			t.Errorf("of other positions it knows %+v", d.late.known)
		}
	})
}
