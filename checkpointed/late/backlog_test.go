package late

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/quick"
)

// TestBacklogWaitsForOneWindow: what nothing will be added to needs no memory. A backlog of many times the memory waits
// for the window of its last row once, and the checkpoint moves with each batch from then on.
func TestBacklogWaitsForOneWindow(t *testing.T) {
	quick.Skip(t)
	for _, shown := range []bool{true, false} {
		inLate(t, Overlap, 2000, func(t *testing.T, d *driver) {
			d.table.Shown = shown
			d.cfg.Memory = 100
			d.start()
			begun := time.Now()
			d.ticks(30)
			if n := len(d.delivered); n != 2000 {
				t.Fatalf("%d rows of the backlog are delivered after %v", n, time.Since(begun))
			}
			if d.repeats > 0 {
				t.Errorf("%d duplicates", d.repeats)
			}
			d.crash()
			if d.ticks(1); d.repeats > 2*d.limit.Rows {
				t.Errorf("%d duplicates after a crash", d.repeats)
			}
		})
	}
}

// TestClosedBacklogWaitsForOpenTransactions: where the server shows that one is open that began before the last row was
// asked for, its rows may lie anywhere in the backlog.
func TestClosedBacklogWaitsForOpenTransactions(t *testing.T) {
	quick.Skip(t)
	inLate(t, Overlap, 10, func(t *testing.T, d *driver) {
		d.table.Shown = true
		d.cfg.Memory = 100
		long := d.table.Begin(time.Hour)
		key := d.table.Insert(long)
		short := d.table.Begin(time.Hour)
		for range 1000 {
			d.table.Insert(short)
		}
		d.table.End(short, true)
		d.start()
		d.ticks(100)
		if n := len(d.delivered); n > 150 {
			t.Errorf("%d rows are delivered beside the open transaction: more than are remembered", n)
		}
		d.table.End(long, true)
		d.ticks(60)
		if lost := d.lost(); len(lost) > 0 || d.last[key] == "" || d.repeats > 0 {
			t.Errorf("lost %v, %d duplicates", lost, d.repeats)
		}
	})
}

// commitsLate holds a transaction that draws its value before a backlog, and commits it when much of the window has
// passed. Nobody sees that it is open.
func (d *driver) commitsLate(backlog int, open time.Duration) {
	d.t.Helper()
	late := d.table.Begin(time.Hour)
	key := d.table.Insert(late)
	short := d.table.Begin(time.Hour)
	for range backlog {
		d.table.Insert(short)
	}
	d.table.End(short, true)
	for end := time.Now().Add(open); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		d.drain()
	}
	d.table.End(late, true)
	d.ticks(90)
	if lost := d.lost(); len(lost) > 0 || d.last[key] == "" || d.repeats > 0 {
		d.t.Errorf("lost %v, %d duplicates", lost, d.repeats)
	}
}

// TestBacklogIsNotClosedByAnEarlierMark: what live rows brought after the mark has to be read once more, although
// nothing will be added to it.
func TestBacklogIsNotClosedByAnEarlierMark(t *testing.T) {
	inLate(t, Overlap, 40, func(t *testing.T, d *driver) {
		d.cfg.Memory = 100
		d.start()
		late, short := d.table.Begin(time.Hour), d.table.Begin(time.Hour)
		key := d.table.Insert(late)
		for range 200 {
			d.table.Insert(short)
		}
		d.table.End(short, true)
		reach := func(n int) {
			for len(d.delivered) < n {
				d.next()
				for len(d.line) > 0 {
					d.settle(1<<20, false, "")
				}
			}
		}
		reach(28) // the mark is here
		time.Sleep(5 * time.Second)
		reach(80)
		time.Sleep(15 * time.Second)
		d.table.End(late, true)
		time.Sleep(6 * time.Second)
		d.ticks(90)
		if lost := d.lost(); len(lost) > 0 || d.last[key] == "" || d.repeats > 0 {
			t.Errorf("lost %v, %d duplicates", lost, d.repeats)
		}
	})
}

// TestBacklogIsNotClosedByAnOlderMark: live rows went no further than the mark, but the backlog's last row is newer.
func TestBacklogIsNotClosedByAnOlderMark(t *testing.T) {
	inLate(t, Overlap, 500, func(t *testing.T, d *driver) {
		d.cfg.Memory = 20
		d.start()
		for range 3 {
			d.next()
		}
		for len(d.line) > 0 {
			d.settle(1<<20, false, "")
		}
		time.Sleep(5 * time.Second)
		d.commitsLate(50, 22*time.Second)
	})
}

// TestOldRowsAreReadOnce: of a backlog whose rows carry their times only those of the window are read again.
func TestOldRowsAreReadOnce(t *testing.T) {
	for _, shown := range []bool{true, false} {
		inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
			d.table.Shown = shown
			d.limit.Rows = 100
			for i := range 4000 {
				d.put(-time.Hour + time.Duration(i)*time.Millisecond)
			}
			for i := range 200 {
				d.put(time.Duration(i-200) * time.Millisecond)
			}
			s := &slowRows{database: d.table}
			d.source = s
			d.start()
			d.drain()
			if n := len(d.delivered); n != 4200 || d.repeats > 0 {
				t.Fatalf("%d rows are delivered, %d twice", n, d.repeats)
			}
			if s.again > 200 {
				t.Errorf("shown %t: %d rows were read again", shown, s.again)
			}
		})
	}
}
