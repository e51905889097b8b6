package late

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/internal/quick"
)

// TestClockFallsUnread: the clock is set back by more than the window after a reading, and has come to the position
// again at the next one. Rows were written below the low edge meanwhile. The next reading is another process's, or of
// this one much later.
func TestClockFallsUnread(t *testing.T) {
	quick.Skip(t)
	for _, another := range []bool{true, false} {
		for _, gap := range []time.Duration{time.Minute, 10 * time.Minute} {
			t.Run(fmt.Sprint("another process ", another, ", ", gap), func(t *testing.T) {
				inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
					d.writes(100)
					d.quiet(5 * time.Minute)
					d.table.Skew -= 50 * time.Second
					for range 10 {
						d.put(0)
						time.Sleep(time.Second)
					}
					time.Sleep(gap)
					if another {
						d.crash()
					}
					d.writes(60)
					d.quiet(5 * time.Minute)
					if lost := d.lost(); len(lost) > 0 {
						t.Errorf("%d of %d rows never came", len(lost), len(d.table.Rows))
					}
				})
			})
		}
	}
}

// TestClockSetForwardUnread: the clock is set forward by most of a window, and the process that marked the position
// dies before it has read that. The next one does not take the time for passed: a transaction is open still.
func TestClockSetForwardUnread(t *testing.T) {
	for _, shown := range []bool{true, false} {
		t.Run(fmt.Sprint("shown ", shown), func(t *testing.T) {
			inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
				d.table.Shown = shown
				tx := d.table.Begin(20 * time.Second)
				key := d.table.Insert(tx)
				d.table.NextKey++
				d.table.Put(d.table.NextKey, latetest.Row{Cursor: d.table.Draw(), Text: "row"})
				d.drain()
				d.table.Skew += d.cfg.Window - time.Second
				d.crash()
				d.ticks(18)
				d.table.End(tx, true)
				d.ticks(60)
				if d.last[key] == "" {
					t.Error("the row of the open transaction never came")
				}
				if !d.late.low.Equal(d.late.front) {
					t.Error("the checkpoint does not move after that")
				}
			})
		})
	}
}

// TestClocksFallTogether: between two processes the database's clock is set back, and the store's too, by
// less. The second one's clock makes the time between the two readings seem shorter than it was.
func TestClocksFallTogether(t *testing.T) {
	quick.Skip(t)
	inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
		d.writes(100)
		d.quiet(5 * time.Minute)
		d.table.Skew -= time.Hour
		for range 15 {
			d.put(0)
			time.Sleep(time.Second)
		}
		d.storeOff = -20 * time.Second
		d.crash()
		d.writes(60)
		d.quiet(5 * time.Minute)
		if lost := d.lost(); len(lost) > 0 {
			t.Errorf("%d of %d rows never came", len(lost), len(d.table.Rows))
		}
	})
}

// TestFallIsKeptUntilThePositionIsBack: a process that has seen a fall, and dies before the position has gone back,
// leaves the reading before it in the document.
func TestFallIsKeptUntilThePositionIsBack(t *testing.T) {
	inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
		d.writes(100)
		d.quiet(5 * time.Minute)
		kept := d.doc.Late.Clock
		d.put(0)
		d.put(0)
		d.next() // these two are in flight: the position waits
		d.table.Skew -= 70 * time.Second
		d.put(0)
		time.Sleep(clockFor)
		d.next()
		d.settle(1, true, "unseen")
		if now := d.doc.Late.Clock; !now.Equal(kept) {
			t.Errorf("the reading %s is stored although the position has not gone back; before it was %s", now, kept)
		}
		d.writes(60)
		d.quiet(5 * time.Minute)
		if lost := d.lost(); len(lost) > 0 {
			t.Errorf("%d of %d rows never came", len(lost), len(d.table.Rows))
		}
	})
}

// TestFallThatAnotherDidNotSee: the clock is set back and soon right again. The one that saw it takes the position
// back, and before it stores that, another one, which read the clock only before and after, commits. The fall is not
// forgotten with that.
func TestFallThatAnotherDidNotSee(t *testing.T) {
	for _, mode := range []Mode{Overlap, None} {
		t.Run(string(mode), func(t *testing.T) {
			inDated(t, mode, FutureDeliver, func(t *testing.T, d *dated) {
				d.writes(100)
				d.quiet(5 * time.Minute)
				time.Sleep(clockFor)
				d.table.Skew -= time.Hour
				d.put(0)
				d.next()
				saw := d.late
				d.table.Skew += time.Hour
				d.start()
				d.writes(10)
				d.late = saw
				d.open()
				d.writes(60)
				d.quiet(5 * time.Minute)
				if lost := d.lost(); len(lost) > 0 {
					t.Errorf("%d of %d rows never came", len(lost), len(d.table.Rows))
				}
			})
		})
	}
}

// TestNewProcessesSeeNoFall: processes that follow each other, beside a store whose clock is a little off with each
// answer, do not take that for a fall: nothing comes twice, and the low edge moves.
func TestNewProcessesSeeNoFall(t *testing.T) {
	quick.Skip(t)
	inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
		for i := range 200 {
			d.put(0)
			d.storeOff = time.Duration(i%5-2) * time.Second
			d.drain()
			d.crash()
			time.Sleep(time.Second)
		}
		d.quiet(5 * time.Minute)
		if d.repeats > 0 || !d.late.low.Equal(d.late.front) {
			t.Errorf("%d events came twice; the low edge is %s of %s", d.repeats, d.late.low, d.late.front)
		}
	})
}

// TestClockFallsLittleByLittle: twice by less than the window, with a new process after each fall, which reads the
// clock at once.
func TestClockFallsLittleByLittle(t *testing.T) {
	quick.Skip(t)
	for since := 0; since < 40; since += quick.Runs(1, 20) {
		inDated(t, Overlap, FutureDeliver, func(t *testing.T, d *dated) {
			d.writes(100 + since)
			d.table.Skew -= 21 * time.Second
			d.crash()
			d.writes(1)
			d.table.Skew -= 21 * time.Second
			for range 50 {
				d.put(0)
				time.Sleep(time.Second)
			}
			d.crash()
			d.writes(60)
			d.quiet(5 * time.Minute)
			if lost := d.lost(); len(lost) > 0 {
				t.Errorf("after %d seconds, %d of %d rows never came", since, len(lost), len(d.table.Rows))
			}
		})
	}
}
