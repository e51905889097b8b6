package checkpointed

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
				table := newLateTable(rng)
				table.safe, table.shown = true, true
				d := newLateDriver(t, table, rng, LateExact)
				d.cfg.Wait = test.wait
				d.start()
				long := table.begin(time.Hour)
				table.insert(long)
				for range 10 {
					tx := table.begin(time.Hour)
					table.insert(tx)
					table.end(tx, true)
				}
				for range 4 {
					d.drain()
					time.Sleep(time.Second)
				}
				if d.repeats+len(d.delivered) != 0 {
					t.Fatalf("%d rows above the safe point were delivered before the limit", len(d.delivered))
				}
				if d.report.HeldBack < time.Second || d.report.HeldBack > 4*time.Second || !strings.HasPrefix(d.report.HeldBy, "tx ") {
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
				table.end(long, test.ends)
				d.ticks(40)
				d.drain()
				if lost := d.lost(); len(lost) > 0 || d.repeats > 0 || len(d.delivered) != len(table.rows) {
					t.Errorf("lost %v, %d duplicates, %d delivered", lost, d.repeats, len(d.delivered))
				}
				if d.report.Remembered != 0 || d.report.HeldBack != 0 {
					t.Errorf("%d remembered, held back for %s, when nothing is above the safe point", d.report.Remembered, d.report.HeldBack)
				}
			})
		})
	}
}

// TestExactHotRow: a row that overlapping writers keep above the safe point for ever is delivered once in each limit or
// so.
func TestExactHotRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		table := newLateTable(rng)
		table.safe = true
		d := newLateDriver(t, table, rng, LateExact)
		first := table.begin(time.Hour)
		key := table.insert(first)
		table.end(first, true)
		d.drain()
		holder := table.begin(time.Hour)
		table.insert(holder)
		for i := range 120 { // half a minute
			time.Sleep(250 * time.Millisecond)
			tx := table.begin(time.Hour)
			table.update(tx, key, 0)
			table.end(tx, true)
			if i%6 == 5 { // overlapping writers: there is always one that is older than the row
				next := table.begin(time.Hour)
				table.insert(next)
				table.end(holder, true)
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
		table.settle(true)
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
	for seed := range uint64(lateSeeds) {
		synctest.Test(t, func(t *testing.T) {
			d := lateRun{mode: LateExact, safe: true, crashes: seed%2 == 0, longest: 20 * time.Second, steps: 800}.drive(t, seed)
			for range 4 {
				time.Sleep(time.Second)
				d.drain()
			}
			if lost := d.lost(); len(lost) > 0 {
				t.Errorf("seed %d: %d of %d rows lost: %v", seed, len(lost), len(d.table.rows), lost)
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

// TestPeekIsOvertaken: a look that takes long is given up when live rows come in between, because it would hand them out again.
func TestPeekIsOvertaken(t *testing.T) {
	inLate(t, LateExact, 0, func(t *testing.T, d *lateDriver) {
		d.table.safe = true
		d.limit.Rows = 20
		long := d.table.begin(time.Hour)
		for range 30 {
			tx := d.table.begin(time.Hour)
			d.table.insert(tx)
			d.table.end(tx, true)
		}
		d.ticks(4)
		time.Sleep(time.Second)
		for !d.late.on {
			d.next()
		}
		if len(d.line) != 1 {
			t.Fatal("the first page of the look was to be delivered early")
		}
		d.table.end(long, false)
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
