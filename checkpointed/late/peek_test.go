package late

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
)

// TestExactDeliversAboveTheSafePointEarly: while one long transaction keeps the safe point back, what others commit is
// delivered after LateLimit, and once.
func TestExactDeliversAboveTheSafePointEarly(t *testing.T) {
	for _, test := range []struct {
		name string
		wait bool
		want int // of ten rows, while the transaction is open
		ends bool
	}{
		{"deliver_late", false, 10, true},
		{"deliver_late, and nothing more comes", false, 10, false},
		{"wait", true, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 1))
				table := latetest.New(rng)
				table.Safe, table.Shown = true, true
				d := newDriver(t, table, rng, Exact)
				d.cfg.Wait = test.wait
				d.start()
				long := table.Begin(time.Hour)
				table.Insert(long)
				for range 10 {
					tx := table.Begin(time.Hour)
					table.Insert(tx)
					table.End(tx, true)
				}
				for range 4 {
					d.drain()
					time.Sleep(time.Second)
				}
				if d.repeats+len(d.delivered) != 0 {
					t.Fatalf("%d rows above the safe point were delivered before the limit", len(d.delivered))
				}
				if d.report.HeldBack < time.Second || d.report.HeldBack > 4*time.Second ||
					!strings.HasPrefix(d.report.HeldBy, "tx ") {
					t.Errorf("held back for %s by %q", d.report.HeldBack, d.report.HeldBy)
				}
				for range 3 {
					d.drain()
					time.Sleep(time.Second)
				}
				d.drain()
				if len(d.delivered) != test.want {
					t.Fatalf("%d rows were delivered after the limit, want %d", len(d.delivered), test.want)
				}
				if d.report.Remembered != test.want || (d.report.HeldBack > 0) != test.wait {
					t.Errorf("%d remembered, held back for %s", d.report.Remembered, d.report.HeldBack)
				}
				d.crash() // what was delivered early is stored with the release
				table.End(long, test.ends)
				d.ticks(40)
				d.drain()
				if lost := d.lost(); len(lost) > 0 || d.repeats > 0 || len(d.delivered) != len(table.Rows) {
					t.Errorf("lost %v, %d duplicates, %d delivered", lost, d.repeats, len(d.delivered))
				}
				if d.report.Remembered != 0 || d.report.HeldBack != 0 {
					t.Errorf("%d remembered, held back for %s, when nothing is above the safe point", d.report.Remembered,
						d.report.HeldBack)
				}
			})
		})
	}
}

// TestExactHotRow: a row that overlapping writers keep above the safe point for ever is delivered once in each limit or
// TestEarlyRowsAreStoredBeside: what was delivered above the safe point is remembered with what a commit says of it
// elsewhere.
func TestEarlyRowsAreStoredBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		table := latetest.New(rng)
		table.Safe, table.Shown = true, true
		d := newDriver(t, table, rng, Exact)
		long := table.Begin(time.Hour)
		table.Insert(long)
		d.beside = true
		for len(d.delivered) < 3 { // one after the other: sooner than the memory is stored for its own sake
			tx := table.Begin(time.Hour)
			table.Insert(tx)
			table.End(tx, true)
			time.Sleep(time.Second)
			for d.next() && len(d.delivered) < 3 {
				d.settle(1<<20, false, "")
			}
		}
		d.crash()
		table.End(long, true)
		d.ticks(40)
		d.drain()
		if lost := d.lost(); len(lost) > 0 || d.repeats > 0 {
			t.Errorf("lost %v, %d duplicates", lost, d.repeats)
		}
	})
}

// so.
func TestExactHotRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		table := latetest.New(rng)
		table.Safe = true
		d := newDriver(t, table, rng, Exact)
		first := table.Begin(time.Hour)
		key := table.Insert(first)
		table.End(first, true)
		d.drain()
		holder := table.Begin(time.Hour)
		table.Insert(holder)
		for i := range 120 { // half a minute
			time.Sleep(250 * time.Millisecond)
			tx := table.Begin(time.Hour)
			table.Update(tx, key, 0)
			table.End(tx, true)
			if i%6 == 5 { // overlapping writers: there is always one that is older than the row
				next := table.Begin(time.Hour)
				table.Insert(next)
				table.End(holder, true)
				holder = next
			}
			if i%4 == 0 {
				d.drain()
			}
		}
		if n := d.versions[key]; n < 4 || n > 12 {
			t.Errorf("the hot row was delivered %d times in 30 s with a limit of %s", n, d.cfg.Limit)
		}
		if d.report.Remembered > 25 {
			t.Errorf("%d rows are remembered", d.report.Remembered)
		}
		table.Settle(true)
		for range 10 {
			d.drain()
			time.Sleep(time.Second)
		}
		if lost := d.lost(); len(lost) > 0 {
			t.Errorf("lost %v", lost)
		}
	})
}

// TestExactLosesNothing: early deliveries and live rows, with crashes.
func TestExactLosesNothing(t *testing.T) {
	early := 0
	for seed := range lateSeeds() {
		synctest.Test(t, func(t *testing.T) {
			d := lateRun{mode: Exact, safe: true, crashes: seed%2 == 0, longest: 20 * time.Second, steps: 800}.drive(t, seed)
			for range 4 {
				time.Sleep(time.Second)
				d.drain()
			}
			if lost := d.lost(); len(lost) > 0 {
				t.Errorf("seed %d: %d of %d rows lost: %v", seed, len(lost), len(d.table.Rows), lost)
			}
			if seed%2 == 1 && d.repeats > 0 {
				t.Errorf("seed %d: %d duplicates without a crash", seed, d.repeats)
			}
			if d.report.Remembered > 0 {
				t.Errorf("seed %d: %d remembered when nothing is open", seed, d.report.Remembered)
			}
			early += d.late0
		})
	}
	if early == 0 {
		t.Error("nothing was delivered early: the test shows nothing")
	}
}

// TestPeekIsOvertaken: a look that takes long is given up when live rows come in between, because it would hand them
// out again.
func TestPeekIsOvertaken(t *testing.T) {
	inLate(t, Exact, 0, func(t *testing.T, d *driver) {
		d.table.Safe = true
		d.limit.Rows = 20
		long := d.table.Begin(time.Hour)
		for range 30 {
			tx := d.table.Begin(time.Hour)
			d.table.Insert(tx)
			d.table.End(tx, true)
		}
		d.ticks(4)
		time.Sleep(time.Second)
		for !d.late.on {
			d.next()
		}
		if len(d.line) != 1 {
			t.Fatal("the first page of the look was to be delivered early")
		}
		d.table.End(long, false)
		d.limit.Rows = 50 // the live rows come in one page, before the second of the look
		for range 20 {
			time.Sleep(2 * peekAlone)
			d.next()
		}
		for len(d.line) > 0 {
			d.settle(20, false, "")
		}
		d.ticks(5)
		if len(d.delivered) != 30 || d.repeats > 0 {
			t.Errorf("%d rows delivered of 30, %d duplicates", len(d.delivered), d.repeats)
		}
	})
}
