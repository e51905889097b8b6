package checkpointed

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/late/latetest"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// sharedTable is a latetest.Table that a tick's goroutines may use while writers do.
type sharedTable struct {
	mu    sync.Mutex
	table *latetest.Table
	mode  late.Mode
}

func (s *sharedTable) Describe(context.Context) (Description, error) {
	return Description{Fingerprint: "sha256:test", Engine: "test", Table: "orders", Late: s.mode}, nil
}

func (s *sharedTable) Start(context.Context) (change.Cursor, string, error) { return nil, "", nil }

func (s *sharedTable) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.Fetch(ctx, r, limit)
}

func (*sharedTable) Compare(was, is string) (Relation, string) { return compareLives(was, is) }

func (*sharedTable) Replaced(context.Context, change.Cursor, string, string) (string, error) {
	return "", nil
}

func (s *sharedTable) Horizon(ctx context.Context) (change.Horizon, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.Horizon(ctx)
}

func (s *sharedTable) Reread(ctx context.Context, keys [][]byte) ([]change.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.Reread(ctx, keys)
}

func (s *sharedTable) Other(context.Context, change.Cursor, [][]byte) (*change.Event, error) {
	return nil, nil
}

// lateSink accepts events after a while, or fails; it checks that no order key is in flight twice.
type lateSink struct {
	t        *testing.T
	mu       sync.Mutex
	rng      *rand.Rand
	failures int // in a hundred
	flying   map[string]bool
	last     map[int]string
	seen     map[string]int
	repeats  int
}

func (s *lateSink) Deliver(ctx context.Context, d change.Delivery) error {
	s.mu.Lock()
	for i := range d.Events {
		if key := string(d.Events[i].OrderKey); s.flying[key] {
			s.t.Errorf("two events of %s are in flight", key)
		} else {
			s.flying[key] = true
		}
	}
	takes, fails := time.Duration(s.rng.IntN(50))*time.Millisecond, s.rng.IntN(100) < s.failures
	s.mu.Unlock()
	err := clock.Sleep(ctx, takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range d.Events {
		e := &d.Events[i]
		delete(s.flying, string(e.OrderKey))
		if err == nil && !fails {
			s.last[latetest.PositionOf(e.Cursor).Key] = string(e.Row)
			if s.seen[e.ID]++; s.seen[e.ID] > 1 {
				s.repeats++
			}
		}
	}
	if err == nil && fails {
		err = errors.New("unavailable")
	}
	return err
}

// TestOverlapThroughTheTick: writers with late commits, a tick each second, faults of the store and of the destination,
// crashes, and a second instance that takes over.
func TestOverlapThroughTheTick(t *testing.T) {
	for _, test := range []struct {
		name   string
		mode   late.Mode
		faults bool
		poll   time.Duration
		loses  bool
	}{
		{"timer", late.Overlap, false, 0, false},
		{"polling", late.Overlap, false, 100 * time.Millisecond, false},
		{"faults", late.Overlap, true, 0, false},
		{"faults while polling", late.Overlap, true, 300 * time.Millisecond, false},
		{"none", late.None, false, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			lost, found, repeats := 0, 0, 0
			for seed := range uint64(4) {
				synctest.Test(t, func(t *testing.T) {
					w := newLateWorld(t, seed, test.mode, test.faults, test.poll)
					w.live(40 * time.Second)
					lost, found, repeats = lost+w.lost(), found+w.found, repeats+w.sink.repeats
					if n := w.lost(); n > 0 && !test.loses {
						t.Errorf("seed %d: %d rows are not there as they were committed last", seed, n)
					}
					if !test.faults && w.sink.repeats > 0 {
						t.Errorf("seed %d: %d duplicates without a fault", seed, w.sink.repeats)
					}
				})
			}
			t.Logf("%d lost, %d late rows found, %d duplicates", lost, found, repeats)
			if (found == 0 || lost > 0) != test.loses {
				t.Errorf("%d lost, %d late rows found", lost, found)
			}
		})
	}
}

// lateWorld is a shop with its database, a store, a destination, and instances that come and go.
type lateWorld struct {
	t      *testing.T
	rng    *rand.Rand
	shared *sharedTable
	store  state.Store
	sink   *lateSink
	faults bool
	poll   time.Duration
	found  int
	way    *storetest.Faulty
}

func newLateWorld(t *testing.T, seed uint64, mode late.Mode, faults bool, poll time.Duration) *lateWorld {
	rng := rand.New(rand.NewPCG(seed, 7))
	table := latetest.New(rand.New(rand.NewPCG(seed, 8)))
	table.Shown = seed%2 == 0
	w := &lateWorld{
		t: t, rng: rng, shared: &sharedTable{table: table, mode: mode}, store: memstore.New(), faults: faults, poll: poll,
		sink: &lateSink{t: t, rng: rand.New(rand.NewPCG(seed, 9)), flying: map[string]bool{}, last: map[int]string{},
			seen: map[string]int{}},
	}
	if faults {
		w.sink.failures = 2
	}
	return w
}

// relay begins a process.
func (w *lateWorld) relay() *poller.Relay {
	w.t.Helper()
	w.way = storetest.NewFaulty(w.store)
	if w.faults {
		rng := rand.New(rand.NewPCG(w.rng.Uint64(), 1))
		var mu sync.Mutex
		w.way.Plan(func(storetest.Op) (storetest.Fault, int) {
			mu.Lock()
			defer mu.Unlock()
			if rng.IntN(30) > 0 {
				return storetest.None, 0
			}
			return storetest.Fault(rng.IntN(4)), rng.IntN(4)
		})
	}
	keeper, err := state.New(state.Config{Store: w.way, Key: testKey, Poller: "orders", Owner: "app/test",
		TTL: 15 * time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	feed, err := New(Config{
		App: "app", Poller: "orders", Source: w.shared, Keeper: keeper, Ordering: poller.OrderKey,
		DeadLetters: &deadLetters{},
		Policy:      poller.Policy{MaxAttempts: 5, Delays: []time.Duration{time.Second}, MaxParked: 1000},
		LateWindow:  24 * time.Second, LateLimit: 4 * time.Second, LateMemory: 100_000,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return pollertest.Relay(w.t, feed, w.sink, func(c *poller.Config) {
		c.PollInterval, c.Budget = w.poll, 5*time.Second
		c.Fetch.Rows, c.Retries = 7, 2
	})
}

// live writes for so long, with ticks beside it, and then ticks until the window has closed.
func (w *lateWorld) live(lasts time.Duration) {
	w.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	rng := rand.New(rand.NewPCG(w.rng.Uint64(), 2))
	wg.Go(func() {
		defer stop()
		w.write(rng, lasts)
		time.Sleep(60 * time.Second)
	})
	for ctx.Err() == nil {
		relay, crashed := w.relay(), false
		for !crashed && ctx.Err() == nil {
			if w.faults && w.rng.IntN(8) == 0 {
				crashed = true
				way, after := w.way, time.Duration(w.rng.IntN(500))*time.Millisecond
				wg.Go(func() { time.Sleep(after); way.Crash() })
			}
			report := relay.Tick(context.Background())
			w.found += report.Late
			if !w.faults && report.Failed() {
				w.t.Errorf("a tick failed: %v", report.Err)
			}
			time.Sleep(time.Second)
		}
	}
	wg.Wait()
	w.faults, w.sink.failures = false, 0
	time.Sleep(time.Minute) // beyond the lease of one that crashed
	relay := w.relay()
	for range 90 {
		w.found += relay.Tick(context.Background()).Late
		time.Sleep(time.Second)
	}
	if report := relay.Tick(context.Background()); report.Remembered != 0 || report.Failed() {
		w.t.Errorf("at the end: %s, %d remembered: %v", report.Event, report.Remembered, report.Err)
	}
}

// write runs transactions of up to 20 s.
func (w *lateWorld) write(rng *rand.Rand, lasts time.Duration) {
	s := w.shared
	for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond) {
		s.mu.Lock()
		s.table.Settle(false)
		tx := s.table.Begin(time.Duration(rng.Int64N(int64(20 * time.Second))))
		if rng.IntN(3) > 0 || s.table.NextKey == 0 {
			s.table.Insert(tx)
		} else if key := rng.IntN(s.table.NextKey) + 1; s.table.Rows[key].Cursor > 0 {
			s.table.Update(tx, key, tx.Drawn*int64(rng.IntN(2)))
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.Settle(true)
}

// lost counts the rows whose last committed state was not delivered last.
func (w *lateWorld) lost() int {
	n := 0
	for key, row := range w.shared.table.Rows {
		if e := w.shared.table.Event(key, row); w.sink.last[key] != string(e.Row) {
			n++
		}
	}
	return n
}
