package checkpointed

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// lateRun is one random life: writers whose transactions last up to longest, a reader that settles now and then, and what
// goes wrong.
type lateRun struct {
	mode    LateCommits
	crashes bool
	shown   bool
	safe    bool
	longest time.Duration
	memory  int
	steps   int
}

func (run lateRun) drive(t *testing.T, seed uint64) *lateDriver {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	table := newLateTable(rng)
	table.shown, table.safe, table.skew = run.shown, run.safe, time.Duration(rng.IntN(7200)-3600)*time.Second
	for range rng.IntN(100) { // a backlog
		table.rows[table.nextKey+1] = lateRow{table.draw(), "old"}
		table.nextKey++
	}
	d := newLateDriver(t, table, rng, run.mode)
	if run.memory > 0 {
		d.cfg.Memory = run.memory
		d.start()
	}
	hot := table.nextKey + 1
	for range run.steps {
		time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		table.settle(false)
		switch rng.IntN(10) {
		case 0, 1, 2:
			tx := table.begin(time.Duration(rng.Int64N(int64(run.longest))))
			for range rng.IntN(3) + 1 {
				table.insert(tx)
			}
		case 3: // an update; half of them with the value of the transaction's beginning
			if len(table.open) > 0 && table.nextKey > 0 {
				tx := table.open[rng.IntN(len(table.open))]
				key := rng.IntN(table.nextKey) + 1
				if _, ok := table.rows[key]; ok {
					table.update(tx, key, tx.drawn*int64(rng.IntN(2)))
				}
			}
		case 4: // the hot row
			tx := table.begin(time.Duration(rng.Int64N(int64(time.Second))))
			table.update(tx, hot, 0)
			table.nextKey = max(table.nextKey, hot)
		case 5, 6, 7:
			if len(d.line) < 3 {
				d.next()
			}
		default:
			switch r := rng.IntN(40); {
			case r < 2 && run.crashes:
				d.settle(1<<20, false, []string{"never", "unseen"}[r])
			case r == 2 && run.crashes:
				d.crash()
			case r == 3 && run.crashes: // a settlement that falls short ends the session
				d.settle(rng.IntN(4), false, "")
			case r == 4:
				d.drain()
			default:
				d.settle(1<<20, false, "")
			}
		}
	}
	table.settle(true)
	d.quiet(40 * d.cfg.Window)
	return d
}

const lateSeeds = 20

// TestOverlapLosesNothing is the promise: every inserted row, and the last committed state of every row, whatever
// crashes.
func TestOverlapLosesNothing(t *testing.T) {
	for _, test := range []struct {
		name string
		run  lateRun
	}{
		{"no crash", lateRun{mode: LateOverlap, longest: 20 * time.Second, steps: 1200}},
		{"crashes", lateRun{mode: LateOverlap, crashes: true, longest: 20 * time.Second, steps: 1200}},
		{"transactions beyond the window", lateRun{mode: LateOverlap, crashes: true, shown: true, longest: 2 * time.Minute, steps: 1200}},
		{"little memory", lateRun{mode: LateOverlap, crashes: true, longest: 20 * time.Second, steps: 1200, memory: 60}},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, repeats, crashes := 0, 0, 0
			for seed := range uint64(lateSeeds) {
				synctest.Test(t, func(t *testing.T) {
					d := test.run.drive(t, seed)
					if lost := d.lost(); len(lost) > 0 {
						t.Errorf("seed %d: %d of %d rows lost: %v", seed, len(lost), len(d.table.rows), lost)
					}
					if !test.run.crashes && d.repeats > 0 {
						t.Errorf("seed %d: %d duplicates without a crash", seed, d.repeats)
					}
					if d.report.Remembered > 0 || !d.late.low.Equal(d.late.front) {
						t.Errorf("seed %d: the window did not close: %d remembered", seed, d.report.Remembered)
					}
					found, repeats, crashes = found+d.late0, repeats+d.repeats, crashes+d.crashes
				})
			}
			t.Logf("%d late rows found, %d crashes, %d duplicates", found, crashes, repeats)
			if found == 0 {
				t.Error("no row was late: the test shows nothing")
			}
		})
	}
}

// TestNoneLosesRows shows that the test bites.
func TestNoneLosesRows(t *testing.T) {
	lost := 0
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			lost += len(lateRun{mode: LateNone, longest: 20 * time.Second, steps: 1200}.drive(t, seed).lost())
		})
	}
	if lost == 0 {
		t.Error("late_commits=none lost nothing: the model has no late commits")
	}
}
