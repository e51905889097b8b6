package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

// simulate runs one seed.
func simulate(t *testing.T, seed uint64) *world {
	t.Helper()
	cryptotest.SetGlobalRandom(t, seed)
	seedRuntime(seed)
	w := &world{seed: seed, rng: rand.New(rand.NewPCG(seed, 0x5eed))}
	w.pro = draw(w.rng)
	w.pro.widen(seed)
	synctest.Test(t, func(t *testing.T) {
		w.t = t
		w.run()
	})
	return w
}

// seedRuntime seeds the global functions of math/rand/v2, from which the product draws the jitter of its pauses. Only
// the runner's build can do that (see builder.random): without it a seed decides everything but that jitter.
var seedRuntime = func(uint64) {}

// seeded reports whether this is the runner's build.
var seeded = false

// result is what a worker tells the runner.
type result struct {
	Tally      tally
	Violations []violation
	Trace      []string // of the only seed
}

type violation struct {
	Seed  uint64
	Text  string
	Trace []string
}

// number reads an environment variable.
func number(name string, otherwise int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return otherwise
	}
	return n
}

// hungSeed is how long a seed may take at all, by the real clock: time stands still in a run in which a goroutine never
// waits.
const hungSeed = 2 * time.Minute

// slowSeed is how long a seed may take without a remark.
const slowSeed = 2 * time.Second

// TestSeeds runs seeds in this process. The runner (TestSimulation) starts it in builds of its own; by itself it runs a
// few, so that the race detector sees them.
func TestSeeds(t *testing.T) {
	first, n, most := number("SIM_FIRST", 1), number("SIM_COUNT", 40), number("SIM_VIOLATIONS", 1)
	again := number("SIM_AGAIN", 40) // every so many seeds one is run twice, to see that it gives the same trace
	var progress *os.File
	if name := os.Getenv("SIM_RESULT"); name != "" {
		var err error
		if progress, err = os.Create(name + ".seed"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = progress.Close() }() // nothing is lost that matters
	}
	var r result
	for i := range n {
		seed := uint64(first + i)
		if progress != nil { // a panic of a goroutine ends the process: this is how the runner learns of which seed
			if _, err := progress.WriteAt(fmt.Appendf(nil, "%020d", seed), 0); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		watch := time.AfterFunc(hungSeed, func() {
			panic(fmt.Sprintf("seed %d hangs: something goes round and round without a call", seed))
		})
		w := simulate(t, seed)
		watch.Stop()
		if took := time.Since(begun); took > slowSeed {
			t.Logf("seed %d took %s: %d steps", seed, took.Round(time.Millisecond), w.tally.Steps)
		}
		r.Tally.add(w.tally)
		if n == 1 {
			r.Trace = w.trace
		}
		text := w.violation
		if text == "" && seeded && i%again == 0 {
			text = differ(w.trace, simulate(t, seed).trace)
		}
		if text != "" {
			r.Violations = append(r.Violations, violation{seed, text, w.trace})
			if len(r.Violations) == most {
				break
			}
		}
	}
	if name := os.Getenv("SIM_RESULT"); name != "" {
		data, err := json.Marshal(r)
		if err == nil {
			err = os.WriteFile(name, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return // the runner judges
	}
	for _, v := range r.Violations {
		t.Error(v.String())
	}
	t.Log(r.Tally.String())
}

// notTheSame is what is wrong with a seed that runs in another way the second time.
const notTheSame = "the seed does not replay"

// differ compares the traces of two runs of one seed; "" when they are equal.
func differ(a, b []string) string {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			var first, second string
			if i < len(a) {
				first = a[i]
			}
			if i < len(b) {
				second = b[i]
			}
			return fmt.Sprintf(notTheSame+": line %d is\n%s\nand then\n%s", i+1, first, second)
		}
	}
	return ""
}

// shownLines is how much of a trace is printed, from its end.
const shownLines = 120

// String is the violation with its trace.
func (v *violation) String() string {
	trace := v.Trace
	cut := ""
	if len(trace) > shownLines && os.Getenv("FULL") == "" {
		cut = fmt.Sprintf("… %d lines before (FULL=1 shows them)\n", len(trace)-shownLines)
		trace = trace[len(trace)-shownLines:]
	}
	return fmt.Sprintf("seed %d: %s\nrepeat it with: make sim SEED=%d\n%s%s", v.Seed, v.Text, v.Seed, cut,
		strings.Join(trace, "\n"))
}

// String tells what happened in runs.
func (t *tally) String() string {
	return fmt.Sprintf("%d seeds, %d steps, %d ticks; %d crashes, %d freezes, %d clock faults, %d store faults and %d late writes, %d source "+
		"faults, %d sink faults, %d lost answers, %d late effects, %d outages, %d late commits, %d rollbacks, %d restores, %d operators' "+
		"commands, %d changes of settings, %d jumps of the database's clock, %d rows of falls that nobody read, %d rows held until the end, %d dead letters without an answer; %d rows, %d updates, %d deletes, %d delivered, %d duplicates, %d refused by the receiver's rule, %d inverted without it, %d dead-lettered",
		t.Seeds, t.Steps, t.Ticks, t.Crashes, t.Freezes, t.ClockFaults, t.StoreFaults, t.StoreLate, t.SourceFaults,
		t.SinkFaults, t.SinkLost,
		t.SinkLate, t.Outages, t.LateCommits, t.Rollbacks, t.Restores, t.Operators, t.Settings, t.Jumps, t.Unread, t.Held,
		t.LetterHangs, t.Rows, t.Updates, t.Deletes, t.Delivered, t.Duplicates, t.Refused,
		t.Inverted, t.DeadLettered)
}
