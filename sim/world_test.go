package sim

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// world is everything that surrounds the instances of one run, and its scheduler. Its members belong to the scheduler's
// goroutine, but for those under mu.
type world struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand
	pro   profile
	began time.Time
	calm  bool // faults have stopped
	siege bool // but for one that goes on

	mu       sync.Mutex
	arrivals []*call
	over     bool
	bell     chan struct{}

	waiting, ready []*call
	late           []lateEffect
	slots, lives   []*process
	serials        int

	store   *store
	table   *table
	outputs []*output
	*output // that the present step is about

	set      *settings // as they are now
	loose    bool      // ordering=none was set at some time
	fewest   int       // max_attempts
	versions map[string]*version
	naming   sync.Mutex
	names    map[string]string // of events, under naming

	trace     []string
	violation string
	tally     tally
}

// lateEffect is what an answer did not tell of: a write that lands after it was given up, a request that takes effect
// late.
type lateEffect struct {
	what string
	do   func()
	out  *output
}

// tally counts what happened in runs.
type tally struct {
	Seeds, Steps, Ticks                         int
	Crashes, Freezes, ClockFaults               int
	StoreFaults, StoreLate, SourceFaults        int
	SinkFaults, SinkLost, SinkLate, Outages     int
	LateCommits, Rollbacks, Restores, Operators int
	Rows, Updates, Delivered, Duplicates        int
	Parked, DeadLettered, Refused               int
	Inverted                                    int // without the receiver's rule
	Deletes, LetterHangs, Settings, Jumps       int
	Unread, Held                                int
	Purged, Wholes, Resyncs                     int // of change tracking
}

func (t *tally) add(o tally) {
	t.Seeds += o.Seeds
	t.Steps += o.Steps
	t.Ticks += o.Ticks
	t.Crashes += o.Crashes
	t.Freezes += o.Freezes
	t.ClockFaults += o.ClockFaults
	t.StoreFaults += o.StoreFaults
	t.StoreLate += o.StoreLate
	t.SourceFaults += o.SourceFaults
	t.SinkFaults += o.SinkFaults
	t.SinkLost += o.SinkLost
	t.SinkLate += o.SinkLate
	t.Outages += o.Outages
	t.LateCommits += o.LateCommits
	t.Rollbacks += o.Rollbacks
	t.Restores += o.Restores
	t.Operators += o.Operators
	t.Rows += o.Rows
	t.Updates += o.Updates
	t.Delivered += o.Delivered
	t.Duplicates += o.Duplicates
	t.Parked += o.Parked
	t.DeadLettered += o.DeadLettered
	t.Refused += o.Refused
	t.Inverted += o.Inverted
	t.Deletes += o.Deletes
	t.LetterHangs += o.LetterHangs
	t.Settings += o.Settings
	t.Jumps += o.Jumps
	t.Unread += o.Unread
	t.Held += o.Held
	t.Purged += o.Purged
	t.Wholes += o.Wholes
	t.Resyncs += o.Resyncs
}

// chance is true with probability p.
func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// span draws a time between low and high, odd to the nanosecond so that no two timers of different instances meet.
func (w *world) span(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rng.Int64N(int64(high-low)+1))
}

// say adds a line to the trace.
func (w *world) say(who, format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%12.6f  %-4s %s", time.Since(w.began).Seconds(), who,
		fmt.Sprintf(format, args...)))
}

// fail notes the first promise that was broken.
func (w *world) fail(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
		w.say("!!", "%s", w.violation)
	}
}

// fate answers whether a fault of probability p happens: never once faults have stopped.
func (w *world) fate(p float64) bool { return !w.calm && w.chance(p) }

// pass lets time pass: d, or until a call comes to the gate.
func (w *world) pass(d time.Duration, wake bool) {
	d = w.table.atMost(d)
	if !wake {
		time.Sleep(d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.bell:
	}
}

// maxCalmSteps bounds the steps until everything must have arrived, once faults have stopped.
const maxCalmSteps = 60_000

// run runs one seed. It returns what was counted; a broken promise is in w.violation.
func (w *world) run() {
	w.began = time.Now()
	w.setUp()
	for w.tally.Steps < w.pro.Steps && w.violation == "" {
		w.step()
	}
	if w.violation == "" {
		w.stopFaults()
		w.drain()
		if w.pro.Siege && w.violation == "" {
			w.besiege()
			w.drain()
		}
		if w.pro.Newest {
			w.table.insert(w.pro.Groups) // so that the receiver is known to accept something
			w.drain()
			w.table.seal()
			w.drain()
		}
	}
	w.each(func() {
		w.checkLastStates()
		for _, r := range w.table.rows {
			switch v := r.cur; {
			case v == nil || w.arrived(v):
			case w.held(v):
				w.tally.Held++
			case w.unread(v):
				w.tally.Unread++
			}
		}
	})
	w.end()
}

// drain goes on until everything has arrived.
func (w *world) drain() {
	limit, steps := time.Now().Add(w.pro.Patience), 0
	for w.violation == "" && !w.finished() {
		if steps++; time.Now().After(limit) || steps > maxCalmSteps {
			w.fail("no progress: %s and %d steps after faults stopped, %s",
				time.Since(limit.Add(-w.pro.Patience)).Round(time.Second), steps, w.missing())
			break
		}
		w.step()
	}
}

// setUp makes everything that a run needs.
func (w *world) setUp() {
	w.bell = make(chan struct{}, 1)
	w.names, w.versions = map[string]string{}, map[string]*version{}
	w.set, w.loose, w.fewest = w.firstSettings(), w.pro.Ordering == poller.OrderNone, w.pro.Policy.MaxAttempts
	w.tally.Seeds = 1
	w.store, w.table = newStore(w), newTable(w)
	w.addOutput("")
	if w.pro.Second {
		w.addOutput("audit")
	}
	w.table.fill()
}

// step is one decision of the scheduler.
func (w *world) step() {
	synctest.Wait()
	select { // here, where nobody else runs: whoever rings from now on is not to be missed
	case <-w.bell:
	default:
	}
	w.admit()
	w.table.expire()
	w.aboutAny()
	w.tally.Steps++
	ready := w.eligible()
	if w.calm {
		w.calmStep(ready)
		return
	}
	type choice struct {
		weight float64
		do     func()
	}
	var choices [17]choice
	n := 0
	add := func(weight float64, do func()) {
		if weight > 0 {
			choices[n] = choice{weight, do}
			n++
		}
	}
	p := &w.pro
	if len(ready) > 0 {
		add(10, func() { w.releaseOne(ready) })
		add(2*p.Slowness, func() { w.pass(w.latency(), false) })
	} else {
		add(6, func() { w.pass(w.latency(), true) })
	}
	add(p.Leaps, func() { w.pass(w.span(time.Second, 2*p.TTL), w.chance(0.5)) })
	add(p.Writes, w.table.act)
	add(p.Ticks, w.tickSome)
	if len(w.late) > 0 {
		add(1, w.applyLate)
	}
	add(p.Crashes, w.crashSome)
	add(p.Freezes, w.freezeSome)
	add(p.Outages, w.sink.weather)
	add(p.LetterOutages, w.letters.weather)
	add(p.ClockFaults, w.store.shiftClock)
	add(p.Human, w.human.act)
	add(p.Settings, w.resettle)
	add(p.Jumps, w.table.jump)
	add(p.Purges, w.table.purge)
	add(p.Modes, w.remode)
	total := 0.0
	for _, c := range choices[:n] {
		total += c.weight
	}
	at := w.rng.Float64() * total
	for i, c := range choices[:n] {
		if at -= c.weight; at < 0 || i == n-1 {
			c.do()
			return
		}
	}
}

// latency is how long nothing happens, mostly milliseconds.
func (w *world) latency() time.Duration {
	most := 10
	if w.pro.Once {
		most = 9 // nobody loses patience
	}
	switch n := w.rng.IntN(most); {
	case n < 6:
		return w.span(time.Millisecond, 30*time.Millisecond)
	case n < 9:
		return w.span(30*time.Millisecond, time.Second)
	default:
		return w.span(time.Second, 12*time.Second)
	}
}

func (w *world) releaseOne(ready []*call) {
	c := ready[w.rng.IntN(len(ready))]
	if w.fate(w.pro.CrashAtCall) {
		w.crashAt(c)
		return
	}
	w.release(c)
}

// applyLate lets one thing happen of which nobody hears.
func (w *world) applyLate() {
	i := w.rng.IntN(len(w.late))
	e := w.late[i]
	w.late = append(w.late[:i], w.late[i+1:]...)
	w.about(e.out)
	w.say("~", "late: %s", e.what)
	e.do()
}

// calmStep is a decision once faults have stopped: calls are answered at once, idle instances tick.
func (w *world) calmStep(ready []*call) {
	if w.chance(0.1) { // also in the middle of ticks: see trafficEvery
		w.table.traffic()
	}
	if len(ready) > 0 {
		w.release(ready[w.rng.IntN(len(ready))])
		return
	}
	if len(w.late) > 0 {
		w.applyLate()
		return
	}
	if w.human.tidy() {
		return
	}
	w.tickDue()
	w.pass(w.span(200*time.Millisecond, 3*time.Second), true)
}

// stopFaults ends everything that hinders: from here on there must be progress.
func (w *world) stopFaults() {
	w.say("--", "faults stop")
	w.calm = true
	for i := range w.slots { // a process that is idle, with old settings, would go on with them
		w.update(i)
	}
	w.table.settleOpen()
	w.each(func() {
		w.sink.clear()
		w.letters.down = false
	})
	w.store.frozen = time.Time{}
	for _, p := range w.slots {
		p.thaw()
	}
	for _, c := range w.waiting {
		c.notBefore = time.Time{}
	}
	for i, p := range w.slots {
		if p.dead {
			w.slots[i] = w.newProcess(i)
		}
	}
}

// end lets every goroutine of the run go.
func (w *world) end() {
	w.mu.Lock()
	w.over = true
	waiting := append(w.waiting, w.arrivals...)
	w.mu.Unlock()
	for _, p := range w.lives {
		p.thaw()
		p.kill()
	}
	for _, c := range waiting {
		close(c.done)
	}
	// Time stands still once this goroutine is gone: what waits for a deadline gets it now.
	time.Sleep(time.Hour)
}
