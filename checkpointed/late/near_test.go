package late

import (
	"context"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
)

// TestLateRowsComeWithTheNextPage: a row that commits late need not wait for a sweep, where the server shows its open
// transactions or they are short.
func TestLateRowsComeWithTheNextPage(t *testing.T) {
	quick.Skip(t)
	for _, test := range []struct {
		shown bool
		open  time.Duration
		soon  bool
	}{
		{true, 3 * time.Second, true},
		{false, 500 * time.Millisecond, true},
		{false, 3 * time.Second, false},
	} {
		inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
			d.table.Shown = test.shown
			d.cfg.Window = 2 * time.Minute // and no sweep before 5 s
			d.start()
			d.ticks(1)
			long := d.table.Begin(time.Hour)
			key := d.table.Insert(long)
			for end := time.Now().Add(test.open); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				short := d.table.Begin(time.Hour)
				d.table.Insert(short)
				d.table.End(short, true)
				d.drain()
			}
			d.table.End(long, true)
			time.Sleep(10 * time.Millisecond)
			d.drain()
			if found := d.last[key] != ""; found != test.soon {
				t.Errorf("shown %t, open for %v: found by the next page: %t", test.shown, test.open, found)
			}
			d.ticks(20)
			if lost := d.lost(); len(lost) > 0 || d.repeats > 0 {
				t.Errorf("lost %v, %d duplicates", lost, d.repeats)
			}
			fetches := d.table.Fetches
			for range 100 { // too few for another sweep, or for the end of the window
				time.Sleep(time.Millisecond)
				d.drain()
			}
			if n := d.table.Fetches - fetches; n > 101 {
				t.Errorf("%d reads for 100 idle ticks", n)
			}
		})
	}
}

// slowly is a database that takes a while for what lies before the position.
type slowly struct {
	database
	takes time.Duration
	spent time.Duration
}

func (s *slowly) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	if !r.UpTo.IsStart() {
		time.Sleep(s.takes)
		s.spent += s.takes
	}
	return s.database.Fetch(ctx, r, limit)
}

// TestAnOpenTransactionLeavesTimeForLiveRows: what lies before the position is read again and again as long as a
// transaction is open; by sweeps a quarter of the time, and as much for late rows.
func TestAnOpenTransactionLeavesTimeForLiveRows(t *testing.T) {
	inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
		d.table.Shown = true
		d.ticks(1)
		d.table.Insert(d.table.Begin(time.Hour))
		slow := &slowly{database: d.table, takes: 100 * time.Millisecond}
		d.source = slow
		begun := time.Now()
		for time.Since(begun) < 20*time.Second {
			short := d.table.Begin(time.Hour)
			d.table.Insert(short)
			d.table.End(short, true)
			d.drain()
			time.Sleep(10 * time.Millisecond)
		}
		if part := slow.spent.Seconds() / time.Since(begun).Seconds(); part < 0.2 || part > 0.75 {
			t.Errorf("%.2f of the time went into what lies before the position", part)
		}
	})
}

// again counts the rows that a database gives of those before the position.
type again struct {
	database
	rows  int
	past  int64  // a cursor
	after func() // called once, after the next page of these that ends beyond it
}

func (a *again) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	if known := r.Known; known != nil {
		r.Known = func(e *change.Event, numbers string) bool { a.rows++; return known(e, numbers) }
	}
	page, err := a.database.Fetch(ctx, r, limit)
	end := page.To
	if n := len(page.Events); r.Known == nil && !r.UpTo.IsStart() && n > 0 {
		a.rows += n
		end = page.Events[n-1].Cursor
	}
	if a.after != nil && (r.Known != nil || end != nil && latetest.PositionOf(end).Value > a.past) {
		a.after()
		a.after = nil
	}
	return page, err
}

// TestLateRowsAreReadOnce: where rows tell who wrote them, a read of what lies before the position brings what the one
// before it may not have shown, and not all that was written in the meantime of two sweeps. What ends during such a
// read is for the next one.
func TestLateRowsAreReadOnce(t *testing.T) {
	for _, groups := range []int{0, 2} {
		inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
			d.table.Shown, d.table.Groups, d.table.Numbers = true, groups, "life 1"
			d.cfg.Window = 2 * time.Minute // no sweep before 5 s
			source := &again{database: d.table}
			d.source = source
			d.start()
			d.ticks(1)
			write := func(n int) {
				for range n {
					short := d.table.Begin(time.Hour)
					d.table.Insert(short)
					d.table.End(short, true)
					d.drain()
					time.Sleep(10 * time.Millisecond)
				}
			}
			if write(100); source.rows > 300 {
				t.Errorf("%d order keys: %d rows are read again after 100 writes", groups, source.rows)
			}
			one, two := d.table.Begin(time.Hour), d.table.Begin(time.Hour)
			keys := []int{d.table.Insert(one), d.table.Insert(two)}
			source.past = d.table.Counter
			write(20)
			source.after = func() { d.table.End(one, true); d.table.End(two, true) }
			write(2)
			for _, key := range keys {
				if d.last[key] == "" {
					t.Errorf("%d order keys: what was committed during a read did not come with the next one", groups)
				}
			}
		})
	}
}

// TestABacklogIsNotReadTwice: when it ends, only what came before its end was asked for is read again, by a read of
// late rows; and sweeps wait until then.
func TestABacklogIsNotReadTwice(t *testing.T) {
	quick.Skip(t)
	for _, shown := range []bool{true, false} {
		inLate(t, Overlap, 4000, func(t *testing.T, d *driver) {
			d.table.Shown = shown
			d.limit.Rows = 100
			d.cfg.Window = 2 * time.Minute
			s := &slowRows{database: d.table}
			d.source = s
			d.start()
			d.drain()
			if n := len(d.delivered); n != 4000 || d.repeats > 0 {
				t.Fatalf("%d rows are delivered, %d twice", n, d.repeats)
			}
			if s.again > 2500 {
				t.Errorf("shown %t: %d rows were read again", shown, s.again)
			}
			d.ticks(130)
			if !d.late.low.Equal(d.late.front) {
				t.Error("the window does not close")
			}
		})
	}
}

// TestALateRowAmongABacklog: it is found when the backlog ends at the latest, also where it lies in what is not read
// again.
func TestALateRowAmongABacklog(t *testing.T) {
	quick.Skip(t)
	for _, shown := range []bool{true, false} {
		inLate(t, Overlap, 2000, func(t *testing.T, d *driver) {
			d.table.Shown = shown
			d.limit.Rows = 100
			d.source = &slowRows{database: d.table}
			long := d.table.Begin(time.Hour)
			key := d.table.Insert(long)
			short := d.table.Begin(time.Hour)
			for range 2000 {
				d.table.Insert(short)
			}
			d.table.End(short, true)
			d.start()
			for len(d.delivered) < 3000 {
				d.next()
				for len(d.line) > 0 {
					d.settle(1<<20, false, "")
				}
			}
			d.table.End(long, true)
			d.drain()
			if shown && d.last[key] == "" {
				t.Error("the row is not delivered with the backlog")
			}
			d.ticks(60)
			if lost := d.lost(); len(lost) > 0 || d.repeats > 0 {
				t.Errorf("lost %v, %d duplicates", lost, d.repeats)
			}
		})
	}
}

// slowRows is a database that takes a millisecond for a row.
type slowRows struct {
	database
	again int // rows of reads that were no live ones
	to    int64
}

func (s *slowRows) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	page, err := s.database.Fetch(ctx, r, limit)
	time.Sleep(time.Duration(len(page.Events)) * time.Millisecond)
	for i := range page.Events {
		if at := latetest.PositionOf(page.Events[i].Cursor).Value; at <= s.to {
			s.again++
		} else {
			s.to = at
		}
	}
	return page, err
}

// TestASweepMeetsWhatReadsOfLateRowsLeaveOut: a sweep meets also what reads of late rows have shown and leave out from
// then on. Else it would forget that: and where its end proves nothing, because the session fails before what it handed
// out is settled, it would be delivered again.
func TestASweepMeetsWhatReadsOfLateRowsLeaveOut(t *testing.T) {
	quick.Skip(t)
	for _, groups := range []int{0, 2} {
		inLate(t, Overlap, 5, func(t *testing.T, d *driver) {
			d.table.Shown, d.table.Groups, d.table.Numbers = true, groups, "life 1"
			d.cfg.Window = 2 * time.Minute // a sweep after 5 s
			d.start()
			d.ticks(1)
			insert := func(pause time.Duration) {
				short := d.table.Begin(time.Hour)
				d.table.Insert(short)
				d.table.End(short, true)
				time.Sleep(pause)
			}
			write := func(n int) {
				for range n {
					insert(60 * time.Millisecond)
					d.drain()
				}
			}
			write(40)
			for begun := false; !begun || d.late.sweep.on; begun = begun || d.late.sweep.on {
				insert(10 * time.Millisecond)
				if d.next(); !d.late.sweep.on && !begun {
					for len(d.line) > 0 {
						d.settle(1<<20, false, "")
					}
				}
			}
			if len(d.line) == 0 {
				t.Fatal("nothing is in flight when the sweep ends")
			}
			d.settle(0, true, "")
			for range 20 {
				write(1)
				time.Sleep(time.Second)
			}
			if lost := d.lost(); len(lost) > 0 || d.repeats > 0 {
				t.Errorf("%d order keys: lost %v, %d duplicates", groups, lost, d.repeats)
			}
		})
	}
}
