package late

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/internal/quick"
)

// lateRun is one random life: writers whose transactions last up to longest, a reader that settles now and then, and
// what goes wrong.
type lateRun struct {
	mode    Mode
	crashes bool
	shown   bool
	safe    bool
	longest time.Duration
	memory  int
	steps   int
	writers bool // rows tell who wrote them
	fails   bool // the database fails over now and then
	groups  int  // of order keys that several rows share
	alone   bool // one transaction writes at a time, and pages tell whether one has ended
	few     int  // latetest.Table.Few
}

func (run lateRun) drive(t *testing.T, seed uint64) *driver {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	table := latetest.New(rng)
	table.Shown, table.Safe, table.Skew = run.shown, run.safe, time.Duration(rng.IntN(7200)-3600)*time.Second
	table.Groups, table.Idle, table.Few = run.groups, run.groups > 0, run.few
	if run.writers {
		table.Numbers, table.Number = "life 0", 100
	}
	for range rng.IntN(100) { // a backlog
		table.Put(table.NextKey+1, latetest.Row{Cursor: table.Draw(), Text: "old", Writer: table.Number, Ended: 1})
		table.NextKey++
	}
	d := newDriver(t, table, rng, run.mode)
	if run.memory > 0 {
		d.cfg.Memory = run.memory
		d.start()
	}
	if run.alone {
		table.Counters = 2
	}
	hot := table.NextKey + 1
	for range run.steps {
		time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		table.Settle(false)
		if run.fails && rng.IntN(150) == 0 {
			table.FailOver(fmt.Sprint("life ", rng.Int()), uint64(rng.IntN(30)))
		}
		what := rng.IntN(10)
		if what < 5 && run.alone {
			writeAlone(table, rng, run.longest)
			continue
		}
		switch what {
		case 0, 1, 2:
			tx := table.Begin(time.Duration(rng.Int64N(int64(run.longest))))
			for range rng.IntN(3) + 1 {
				table.Insert(tx)
			}
		case 3: // an update; half of them with the value of the transaction's beginning
			if len(table.Open) > 0 && table.NextKey > 0 {
				tx := table.Open[rng.IntN(len(table.Open))]
				key := rng.IntN(table.NextKey) + 1
				if _, ok := table.Rows[key]; ok {
					table.Update(tx, key, tx.Drawn*int64(rng.IntN(2)))
				}
			}
		case 4: // the hot row
			tx := table.Begin(time.Duration(rng.Int64N(int64(time.Second))))
			table.Update(tx, hot, 0)
			table.NextKey = max(table.NextKey, hot)
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
	table.Settle(true)
	d.quiet(40 * d.cfg.Window)
	return d
}

// writeAlone begins a transaction, which draws a value and waits for the one right to write; it gives up when it waited
// for too long. Who has the right writes more.
func writeAlone(table *latetest.Table, rng *rand.Rand, longest time.Duration) {
	table.Begin(waits)
	for _, tx := range table.Open {
		if len(tx.Writes) > 0 {
			if table.Insert(tx); rng.IntN(2) == 0 {
				table.Anew(tx)
			}
			return
		}
	}
	tx := table.Open[0]
	tx.Ends = time.Now().Add(time.Duration(rng.Int64N(int64(longest))))
	table.NextKey++
	table.Write(tx, table.NextKey, tx.Drawn)
	table.Update(tx, rng.IntN(table.NextKey)+1, 0)
}

// lateSeeds is how many random runs a test makes: with twelve the bug met-outlives-its-session (sim/bugs) is not found.
func lateSeeds() uint64 { return quick.Runs[uint64](20, 1) }

// TestOverlapLosesNothing is the promise: every inserted row, and the last committed state of every row, whatever
// crashes.
func TestOverlapLosesNothing(t *testing.T) {
	for _, test := range []struct {
		name string
		run  lateRun
	}{
		{"no crash", lateRun{mode: Overlap, longest: 20 * time.Second, steps: 1200}},
		{"crashes", lateRun{mode: Overlap, crashes: true, longest: 20 * time.Second, steps: 1200}},
		{"transactions beyond the window",
			lateRun{mode: Overlap, crashes: true, shown: true, longest: 2 * time.Minute, steps: 1200}},
		{"writers are told", lateRun{mode: Overlap, longest: 20 * time.Second, steps: 1200, writers: true}},
		{"writers are told, crashes, transactions beyond the window",
			lateRun{mode: Overlap, crashes: true, shown: true, longest: 2 * time.Minute, steps: 1200, writers: true}},
		{"writers are told, crashes and failovers",
			lateRun{mode: Overlap, crashes: true, longest: 20 * time.Second, steps: 1200, writers: true, fails: true}},
		{"writers are told, little memory",
			lateRun{mode: Overlap, crashes: true, longest: 20 * time.Second, steps: 1200, writers: true, memory: 20}},
		{"little memory", lateRun{mode: Overlap, crashes: true, longest: 20 * time.Second, steps: 1200, memory: 60}},
		{"few rows are chosen",
			lateRun{mode: Overlap, crashes: true, longest: 20 * time.Second, steps: 1200, few: 3}},
		{"few rows are chosen, transactions beyond the window, little memory",
			lateRun{mode: Overlap, crashes: true, shown: true, longest: 2 * time.Minute, steps: 1200, memory: 60, few: 3}},
		{"few rows are chosen, shared order keys",
			lateRun{mode: Overlap, shown: true, longest: 20 * time.Second, steps: 1200, groups: 3, few: 4}},
		{"shared order keys", lateRun{mode: Overlap, shown: true, longest: 20 * time.Second, steps: 1200, groups: 3}},
		{"shared order keys, writers are told",
			lateRun{mode: Overlap, shown: true, longest: 20 * time.Second, steps: 1200, writers: true, groups: 3}},
		{"shared order keys, crashes, transactions beyond the window",
			lateRun{mode: Overlap, crashes: true, shown: true, longest: 2 * time.Minute, steps: 1200, groups: 3}},
		{"shared order keys, writers are told, crashes and failovers",
			lateRun{mode: Overlap, crashes: true, shown: true, longest: 40 * time.Second, steps: 1200, writers: true,
				fails: true, groups: 3}},
		{"shared order keys, writers are told, little memory",
			lateRun{mode: Overlap, crashes: true, shown: true, longest: 20 * time.Second, steps: 1200, writers: true,
				memory: 20, groups: 3}},
		{"shared order keys, one writer at a time",
			lateRun{mode: Overlap, longest: 6 * time.Second, steps: 1200, groups: 3, alone: true}},
		{"shared order keys, one writer at a time, crashes",
			lateRun{mode: Overlap, crashes: true, longest: 6 * time.Second, steps: 1200, groups: 3, alone: true}},
	} {
		test.run.steps = quick.Runs(test.run.steps, 200)
		t.Run(test.name, func(t *testing.T) {
			found, repeats, crashes, seeds := 0, 0, 0, lateSeeds()
			if test.run.groups > 0 {
				seeds = max(1, seeds/4) // each page reads the window again
			}
			for seed := range seeds {
				synctest.Test(t, func(t *testing.T) {
					d := test.run.drive(t, seed)
					if lost := d.lost(); len(lost) > 0 {
						t.Errorf("seed %d: %d of %d rows lost: %v", seed, len(lost), len(d.table.Rows), lost)
					}
					if d.inverted > 0 {
						t.Errorf("seed %d: %d inverted", seed, d.inverted)
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
	for seed := range quick.Runs[uint64](10, 2) {
		synctest.Test(t, func(t *testing.T) {
			lost += len(lateRun{mode: None, longest: 20 * time.Second, steps: 1200}.drive(t, seed).lost())
		})
	}
	if lost == 0 {
		t.Error("late_commits=none lost nothing: the model has no late commits")
	}
}
