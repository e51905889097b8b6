package feed

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

// TestRandomInstances runs instances that crash, freeze and fail in every way over one outbox, while writers write,
// operators pause and the broker refuses, hangs and loses answers. Then: every event was accepted, or given up; no
// aggregate had two events in flight; first acceptances of each came in order; and duplicates have a reason.
func TestRandomInstances(t *testing.T) {
	first, seeds := uint64(0), quick.Runs[uint64](30, 10)
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
	db.ordering = []poller.Ordering{poller.OrderKey, poller.OrderKey, poller.OrderKey, poller.OrderKey, poller.OrderNone,
		poller.OrderSource}[rnd.IntN(6)]
	cfg := Config{
		App: "app", Poller: "outbox", Instance: "test", Partitions: 1 + rnd.IntN(12), ClaimTTL: 3 * time.Second,
		Strategy: []claims.Strategy{claims.Leader, claims.Partitioned, claims.Partitioned, claims.SkipLocked}[rnd.IntN(4)],
		Ordering: db.ordering,
		Policy:   poller.Policy{MaxAttempts: 3, Delays: []time.Duration{time.Second, 2 * time.Second}, Block: db.block},
	}
	if db.ordering == poller.OrderSource {
		cfg.Strategy = claims.Leader
	}
	mixed := db.ordering != poller.OrderSource && rnd.IntN(4) == 0 // a roll-out that goes wrong
	db.mapped = cfg.Strategy == claims.Leader && !mixed && rnd.IntN(2) == 0
	if rnd.IntN(2) == 0 {
		db.chunk, db.rnd = 1+rnd.IntN(3), rand.New(rand.NewPCG(seed, 6))
	}
	faults := feedtest.Faults{Poison: map[int64]int{}}
	if rnd.IntN(2) == 0 {
		faults.Lossy, faults.Hang = rnd.IntN(60), rnd.IntN(20)
	}
	odds, crashes, stalls, outages := 0, rnd.IntN(2) == 0, rnd.IntN(3) == 0, rnd.IntN(3) == 0
	if rnd.IntN(3) == 0 {
		odds = rnd.IntN(60)
	}
	timed := rnd.IntN(3) == 0
	w := feedtest.NewWorld(t, seed, rnd, faults)
	w.From = db.from
	w.Strategy, w.Ordering, w.Mixed = cfg.Strategy, cfg.Ordering, mixed
	db.log = w.Note

	var all sync.WaitGroup
	stop := make(chan struct{})
	// Writers: one transaction at a time for each aggregate, as if they locked it.
	var writers sync.WaitGroup
	for i := range 1 + w.Roll(12) {
		events := 1 + w.Roll(40)
		writers.Go(func() {
			for range events {
				time.Sleep(time.Duration(w.Roll(1500)) * time.Millisecond)
				seq, commit := db.insert(fmt.Sprintf("a%d", i))
				if timed {
					db.time(seq, w.Roll)
				}
				if w.Roll(12) == 0 {
					times := []int{1, 2, 3, 1000}[w.Roll(4)]
					w.Change(func(f *feedtest.Faults) { f.Poison[seq] = times })
				}
				time.Sleep(time.Duration(w.Roll(300)) * time.Millisecond)
				commit()
			}
		})
	}
	var mu sync.Mutex
	tables := make([]*fakeTable, 1+w.Roll(4))
	start := func(i, life int) {
		table := db.connect()
		table.partitions = cfg.Partitions
		if mixed {
			table.partitions = 1 + w.Roll(12)
		}
		table.rnd, table.slow, table.odds = rand.New(rand.NewPCG(seed, uint64(100*i+life))), 30*time.Millisecond, odds
		mu.Lock()
		tables[i] = table
		mu.Unlock()
		var feed *Feed
		stays := w.Roll(2) == 0
		feedOf := func(strategy claims.Strategy) poller.Feed {
			own := cfg
			own.Strategy = strategy
			if feed = New(own, table.open); stays {
				feed.Stay()
			}
			return feed
		}
		all.Go(func() {
			w.Instance(fmt.Sprintf("i%d.%d", i, life), feedOf, table.dead, table.faults, stop)
			_ = feed.Close() // after a crash it fails
		})
	}
	for i := range tables {
		start(i, 0)
	}
	lives := make([]int, len(tables))
	// The first minute: everything goes wrong.
	for range 60 {
		time.Sleep(time.Second)
		i := w.Roll(len(tables))
		mu.Lock()
		table := tables[i]
		mu.Unlock()
		switch w.Roll(12) {
		case 0, 1:
			if crashes {
				w.Excuse("crash", 1)
				w.Note("crash of %d", i)
				table.crash()
				time.Sleep(time.Duration(w.Roll(3000)) * time.Millisecond)
				lives[i]++
				start(i, lives[i])
			}
		case 2:
			if stalls {
				w.Excuse("stall", 1)
				table.mu.Lock()
				table.stall = time.Now().Add(time.Duration(2+w.Roll(6)) * time.Second)
				table.mu.Unlock()
			}
		case 3:
			db.pause("somebody")
			time.Sleep(time.Duration(w.Roll(4000)) * time.Millisecond)
			db.pause("")
		case 4, 5:
			if outages {
				w.Change(func(f *feedtest.Faults) { f.Down = !f.Down })
			}
		case 6:
			if db.block && w.Roll(4) == 0 {
				db.change(event.Dead, event.Discarded)
			}
		}
	}
	writers.Wait()
	// Then all is calm. Dead letters that block are requeued, mended.
	w.Change(func(f *feedtest.Faults) {
		f.Down, f.Calm, f.Lossy = false, true, 0
		if db.block {
			clear(f.Poison)
		}
	})
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
			db.change(event.Dead, event.Failed) // requeued, due at once
		}
		if round%5 == 0 && round < 500 { // a quiet table would not decide about its last bad event
			_, commit := db.insert(fmt.Sprintf("late%d", round%3))
			commit()
		}
		done = round > 5
		for _, state := range db.states() {
			done = done && (state == event.Published || state == event.Discarded || state == event.Dead && !db.block)
		}
	}
	close(stop)
	all.Wait()
	check(w, db, done, faults.Hang == 0)
	if w.LogHistory(); t.Failed() {
		t.Logf("seed %d: %s, ordering %s, block %t, %d partitions, %d instances, odds %d, lossy %d, crashes %t, stalls %t, outages %t, %v",
			seed, cfg.Strategy, db.ordering, db.block, cfg.Partitions, len(tables), odds, faults.Lossy, crashes, stalls, outages,
			w.Excuses())
	}
}

// time gives some events a time before which, or after which they are not to be sent.
func (db *fakeDB) time(seq int64, roll func(int) int) {
	db.mu.Lock()
	defer db.mu.Unlock()
	r := db.at(seq)
	if roll(6) == 0 {
		r.available = db.now().Add(time.Duration(roll(12_000)) * time.Millisecond)
	}
	if roll(10) == 0 {
		r.expires = db.now().Add(time.Duration(roll(12_000)) * time.Millisecond)
	}
}

// from is when an event may be sent, by our clock.
func (db *fakeDB) from(seq int64) time.Time {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.at(seq).available.Add(-db.ahead)
}

// check judges the end. answered says that no request hung.
func check(w *feedtest.World, db *fakeDB, done, answered bool) {
	perfect := len(w.Excuses()) == 0 && answered && db.ordering != poller.OrderSource
	for i, state := range db.states() {
		seq := int64(i + 1)
		accepted := w.Accepted(seq)
		switch {
		case state == event.Published && accepted == 0:
			w.T.Errorf("seed %d: event %d is PUBLISHED, and was never accepted", w.Seed, seq)
		case state == event.Published, state == event.Dead && !db.block, state == event.Discarded:
		default:
			w.T.Errorf("seed %d: event %d of %v stays %s", w.Seed, seq, db.at(seq).agg, state)
		}
		if accepted > 1 && perfect {
			w.T.Errorf("seed %d: event %d was accepted %d times without a reason", w.Seed, seq, accepted)
		}
	}
	if !done {
		w.T.Errorf("seed %d: it does not come to an end", w.Seed)
	}
}
