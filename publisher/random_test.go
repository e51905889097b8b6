package publisher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// world is a database, a broker and some instances, and what is to be known of them in the end.
type world struct {
	t    *testing.T
	db   *fakeDB
	cfg  Config
	seed uint64

	mu       sync.Mutex
	rnd      *rand.Rand
	inFlight map[string]string // aggregate → who sends an event of it
	accepted map[int64]int
	batches  map[string]bool     // instance, batch and event, of what was accepted
	newest   map[aggregate]int64 // the newest event that was accepted for the first time
	poison   map[int64]int       // seq → how many more times it is refused
	down     bool
	calm     bool // nothing goes wrong any more
	mixed    bool // instances have strategies of their own
	lossy    int  // of 1000 requests, how many answers are lost
	hang     int  // of 1000 requests, how many hang
	excuse   map[string]int
	notes    sync.Mutex
	history  []string
}

func (w *world) roll(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rnd.IntN(n)
}

func (w *world) note(format string, args ...any) {
	w.notes.Lock()
	defer w.notes.Unlock()
	w.history = append(w.history, fmt.Sprintf("%s ", time.Now().Format("05.000"))+fmt.Sprintf(format, args...))
}

// broker is the output as one instance sees it.
type broker struct {
	w    *world
	name string
	dead chan struct{}
}

func (b *broker) Deliver(ctx context.Context, d change.Delivery) error {
	w := b.w
	probe := (w.cfg.Strategy == SkipLocked || w.mixed) && strings.HasPrefix(d.BatchID, "probe")
	var marked []string
	w.mu.Lock()
	for i, e := range d.Events {
		// A witness against another event is evidence only, and not claimed for as long as it is sent: a probe under skip_locked,
		// and an accepted event that the tick repeats while its batch is settled.
		if !probe && !w.batches[fmt.Sprint(b.name, d.BatchID, seqOf(w.t, &d.Events[i]))] {
			if by := w.inFlight[string(e.OrderKey)]; by != "" && w.cfg.Ordering != poller.OrderNone {
				w.t.Errorf("seed %d: %s sends %s of %s while %s sends another", w.seed, b.name, e.Key, e.OrderKey, by)
			}
			w.inFlight[string(e.OrderKey)] = b.name
			marked = append(marked, string(e.OrderKey))
		}
		if strings.HasPrefix(d.BatchID, "probe") {
			w.excuse["probe"]++
		}
		w.note("%s sends %s of %s (%s, token %d)", b.name, e.Key, e.OrderKey, d.BatchID, d.Token)
	}
	lost, hangs, down, wait := w.rnd.IntN(1000) < w.lossy, !w.calm && w.rnd.IntN(1000) < w.hang, w.down, time.Duration(w.rnd.IntN(200))*time.Millisecond
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, key := range marked {
			delete(w.inFlight, key)
		}
	}()
	if hangs {
		wait = time.Hour
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.dead: // what was on its way arrives, or not
		if w.roll(2) == 0 {
			_ = w.accept(b.name, d, down)
		}
		return errors.New("the process is gone")
	case <-ctx.Done():
		if lost {
			_ = w.accept(b.name, d, down)
		}
		return context.Cause(ctx)
	}
	err := w.accept(b.name, d, down)
	if lost {
		w.mu.Lock()
		w.excuse["lost answer"]++
		w.mu.Unlock()
		return errors.New("the answer was lost")
	}
	return err
}

func (w *world) accept(by string, d change.Delivery, down bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if down {
		return poller.FailAll(len(d.Events), poller.Unavailable, 503, errors.New("down"))
	}
	var failed []poller.FailedEvent
	for i := range d.Events {
		seq := seqOf(w.t, &d.Events[i])
		if w.poison[seq] > 0 {
			w.poison[seq]--
			failed = append(failed, poller.FailedEvent{Index: i, Cause: poller.Refused, Status: 422, Named: true})
			continue
		}
		a := aggregate{d.Events[i].Outbox.AggregateType, d.Events[i].Outbox.AggregateID}
		once := fmt.Sprint(by, d.BatchID, seq)
		if w.batches[once] {
			continue // the tick repeats what was accepted, as a witness against another event
		}
		w.batches[once] = true
		w.accepted[seq]++
		if w.accepted[seq] > 1 {
			continue
		}
		if w.newest[a] > seq && w.cfg.Ordering != poller.OrderNone {
			w.t.Errorf("seed %d: event %d of %v was first accepted after %d", w.seed, seq, a, w.newest[a])
		}
		w.newest[a] = max(w.newest[a], seq)
	}
	if len(failed) > 0 {
		return &poller.DeliveryError{Failed: failed, Err: errors.New("refused")}
	}
	return nil
}

func seqOf(t *testing.T, e *change.Event) int64 {
	t.Helper()
	seq, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(string(e.Key), `{"seq":`), "}"), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return seq
}

// instance ticks until it crashes or the world ends.
func (w *world) instance(name string, table table, dead chan struct{}, faults func() int, stop chan struct{}) {
	own := w.cfg
	if w.mixed {
		own.Strategy = []Strategy{Leader, Partitioned, SkipLocked}[w.roll(3)]
	}
	p := newPublisher(own, table)
	feed := p.Feed()
	cfg := poller.Config{
		App: "app", Poller: "outbox", Feed: feed, To: &broker{w, name, dead}, Ordering: w.cfg.Ordering, Concurrency: 1 + w.roll(4),
		Fetch: poller.Limit{Rows: 1 + w.roll(40), Bytes: 1 << 20}, RequestEvents: 1 + w.roll(5), RequestBytes: 1 << 20,
		Size: func(e *change.Event) int { return e.Size() }, RejectStatus: []int{422}, Retries: 1 + w.roll(2), Timeout: 2 * time.Second,
		Budget: time.Duration(2+w.roll(20)) * time.Second, PollInterval: 100 * time.Millisecond, PollIntervalMax: time.Second,
	}
	relay, err := poller.NewRelay(cfg)
	if err != nil {
		w.t.Error(err)
		return
	}
	for {
		select {
		case <-stop:
			return
		case <-dead:
			return
		default:
		}
		report := relay.Tick(w.t.Context())
		w.mu.Lock()
		w.note("%s ends as %s: %v %v", name, report.Event, report.Err, report.Warnings)
		crashed := false
		select {
		case <-dead:
			crashed = true
		default:
		}
		if report.Event == poller.LostLease && !crashed {
			w.excuse["lost lease"]++
		}
		switch {
		case faults() > 0:
			w.excuse["fault"]++
		case crashed || w.excuse["stall"] > 0:
		case report.Event == poller.CommitFailed, report.Event == poller.FetchFailed, report.Event == poller.ConfigInvalid, report.Event == poller.LeaseAcquireFailed:
			w.t.Errorf("seed %d: %s ended as %s: %v", w.seed, name, report.Event, report.Err)
		}
		w.mu.Unlock()
		time.Sleep(time.Duration(w.roll(500)) * time.Millisecond)
	}
}

// TestRandomInstances runs instances that crash, freeze and fail in every way over one outbox, while writers write, operators
// pause and the broker refuses, hangs and loses answers. Then: every event was accepted, or given up; no aggregate had two
// events in flight; first acceptances of each came in order; and duplicates have a reason.
func TestRandomInstances(t *testing.T) {
	first, seeds := uint64(0), uint64(60)
	if testing.Short() {
		seeds = 30
	}
	if text := os.Getenv("PUBLISHER_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, seeds = n, 1
	}
	for seed := first; seed < first+seeds; seed++ {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomInstances(t, seed) })
		}) {
			return
		}
	}
}

func randomInstances(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 4))
	db := newFakeDB()
	db.block = rnd.IntN(2) == 0
	db.ordering = []poller.Ordering{poller.OrderKey, poller.OrderKey, poller.OrderKey, poller.OrderKey, poller.OrderNone, poller.OrderSource}[rnd.IntN(6)]
	w := &world{
		t: t, db: db, seed: seed, rnd: rnd, inFlight: map[string]string{}, accepted: map[int64]int{}, newest: map[aggregate]int64{},
		poison: map[int64]int{}, batches: map[string]bool{}, excuse: map[string]int{},
		cfg: Config{
			App: "app", Poller: "outbox", Instance: "test", Table: "outbox", Partitions: 1 + rnd.IntN(12), ClaimTTL: 3 * time.Second,
			Strategy: []Strategy{Leader, Partitioned, Partitioned, SkipLocked}[rnd.IntN(4)], Ordering: db.ordering,
			Policy: poller.Policy{MaxAttempts: 3, Delays: []time.Duration{time.Second, 2 * time.Second}, Block: db.block},
		},
	}
	if db.ordering == poller.OrderSource {
		w.cfg.Strategy = Leader
	}
	w.mixed = db.ordering != poller.OrderSource && rnd.IntN(4) == 0 // a roll-out that goes wrong
	if rnd.IntN(2) == 0 {
		db.chunk, db.rnd = 1+rnd.IntN(3), rand.New(rand.NewPCG(seed, 6))
	}
	if rnd.IntN(2) == 0 {
		w.lossy, w.hang = rnd.IntN(60), rnd.IntN(20)
	}
	odds, crashes, stalls, outages := 0, rnd.IntN(2) == 0, rnd.IntN(3) == 0, rnd.IntN(3) == 0
	if rnd.IntN(3) == 0 {
		odds = rnd.IntN(60)
	}
	db.log = func(format string, args ...any) { w.note(format, args...) }

	var all sync.WaitGroup
	stop := make(chan struct{})
	// Writers: one transaction at a time for each aggregate, as if they locked it.
	var writers sync.WaitGroup
	for i := range 1 + w.roll(12) {
		events := 1 + w.roll(40)
		writers.Go(func() {
			for range events {
				time.Sleep(time.Duration(w.roll(1500)) * time.Millisecond)
				seq, commit := db.insert(fmt.Sprintf("a%d", i))
				if w.roll(12) == 0 {
					w.mu.Lock()
					w.poison[seq] = []int{1, 2, 3, 1000}[w.rnd.IntN(4)]
					w.mu.Unlock()
				}
				time.Sleep(time.Duration(w.roll(300)) * time.Millisecond)
				commit()
			}
		})
	}
	var mu sync.Mutex
	tables := make([]*fakeTable, 1+w.roll(4))
	start := func(i, life int) {
		table := db.connect()
		table.rnd, table.slow, table.odds = rand.New(rand.NewPCG(seed, uint64(100*i+life))), 30*time.Millisecond, odds
		mu.Lock()
		tables[i] = table
		mu.Unlock()
		all.Go(func() { w.instance(fmt.Sprintf("i%d.%d", i, life), table, table.dead, table.faults, stop) })
	}
	for i := range tables {
		start(i, 0)
	}
	lives := make([]int, len(tables))
	// The first minute: everything goes wrong.
	for range 60 {
		time.Sleep(time.Second)
		i := w.roll(len(tables))
		mu.Lock()
		table := tables[i]
		mu.Unlock()
		switch w.roll(12) {
		case 0, 1:
			if crashes {
				w.mu.Lock()
				w.excuse["crash"]++
				w.note("crash of %d", i)
				w.mu.Unlock()
				table.crash()
				time.Sleep(time.Duration(w.roll(3000)) * time.Millisecond)
				lives[i]++
				start(i, lives[i])
			}
		case 2:
			if stalls {
				w.mu.Lock()
				w.excuse["stall"]++
				w.mu.Unlock()
				table.mu.Lock()
				table.stall = time.Now().Add(time.Duration(2+w.roll(6)) * time.Second)
				table.mu.Unlock()
			}
		case 3:
			db.pause("somebody")
			time.Sleep(time.Duration(w.roll(4000)) * time.Millisecond)
			db.pause("")
		case 4, 5:
			if outages {
				w.mu.Lock()
				w.down = !w.down
				w.mu.Unlock()
			}
		case 6:
			if db.block && w.roll(4) == 0 {
				db.change(Dead, Discarded)
			}
		}
	}
	writers.Wait()
	// Then all is calm. Dead letters that block are requeued, mended.
	w.mu.Lock()
	w.down, w.calm, w.lossy = false, true, 0
	if db.block {
		clear(w.poison)
	}
	w.mu.Unlock()
	mu.Lock()
	for _, table := range tables {
		table.mu.Lock()
		table.odds = 0
		table.mu.Unlock()
	}
	mu.Unlock()
	done := false
	for round := 0; round < 600 && !done; round++ {
		time.Sleep(time.Second)
		if db.block {
			db.change(Dead, Failed) // requeued, due at once
		}
		if round%5 == 0 && round < 500 { // a quiet table would not decide about its last bad event
			_, commit := db.insert(fmt.Sprintf("late%d", round%3))
			commit()
		}
		done = round > 5
		for _, state := range db.states() {
			done = done && (state == Published || state == Discarded || state == Dead && !db.block)
		}
	}
	close(stop)
	all.Wait()
	w.check(done)
	if t.Failed() {
		for _, line := range w.history {
			t.Log(line)
		}
		t.Logf("seed %d: %s, ordering %s, block %t, %d partitions, %d instances, odds %d, lossy %d, crashes %t, stalls %t, outages %t, %v",
			seed, w.cfg.Strategy, db.ordering, db.block, w.cfg.Partitions, len(tables), odds, w.lossy, crashes, stalls, outages, w.excuse)
	}
}

func (w *world) check(done bool) {
	states := w.db.states()
	for i, state := range states {
		seq := int64(i + 1)
		switch {
		case state == Published && w.accepted[seq] == 0:
			w.t.Errorf("seed %d: event %d is PUBLISHED, and was never accepted", w.seed, seq)
		case state == Published, state == Dead && !w.db.block, state == Discarded:
		default:
			w.t.Errorf("seed %d: event %d of %v stays %s", w.seed, seq, w.db.at(seq).agg, state)
		}
		if w.accepted[seq] > 1 && len(w.excuse) == 0 && w.hang == 0 && w.cfg.Ordering != poller.OrderSource {
			w.t.Errorf("seed %d: event %d was accepted %d times without a reason", w.seed, seq, w.accepted[seq])
		}
	}
	if !done {
		w.t.Errorf("seed %d: it does not come to an end", w.seed)
	}
}
