package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

// These tests run ticks one after the other over the model of an outbox, in simulated time, with the seed's attempts
// and waits.

// target accepts events, but those that it refuses, or none while it is down.
type target struct {
	t        *testing.T
	mu       sync.Mutex
	down     bool
	fails    bool // what it refuses gets a 500
	refuses  map[int64]bool
	begun    time.Time
	tries    map[int64][]time.Duration // when a refused event came alone
	accepted map[int64]time.Duration   // when an event was first accepted
	order    []int64                   // first acceptances
	repeated int
}

func newTarget(t *testing.T) *target {
	return &target{t: t, begun: time.Now(), refuses: map[int64]bool{}, tries: map[int64][]time.Duration{},
		accepted: map[int64]time.Duration{}}
}

func (to *target) Deliver(_ context.Context, d change.Delivery) error {
	to.mu.Lock()
	defer to.mu.Unlock()
	if to.down {
		return poller.FailAll(len(d.Events), poller.Unavailable, 0, errors.New("connection refused"))
	}
	for i := range d.Events {
		if seq := feedtest.SeqOf(to.t, &d.Events[i]); to.refuses[seq] {
			if len(d.Events) == 1 {
				to.tries[seq] = append(to.tries[seq], time.Since(to.begun).Round(time.Second/2))
			}
			if to.fails {
				return poller.FailAll(len(d.Events), poller.Unavailable, 500, errors.New("no"))
			}
			return poller.FailAll(len(d.Events), poller.Refused, 422, errors.New("no"))
		}
	}
	for i := range d.Events {
		seq := feedtest.SeqOf(to.t, &d.Events[i])
		if _, again := to.accepted[seq]; again {
			to.repeated++
			continue
		}
		to.accepted[seq] = time.Since(to.begun)
		to.order = append(to.order, seq)
	}
	return nil
}

// publishing runs ticks until the test's time is over.
func publishing(t *testing.T, db *fakeDB, strategy claims.Strategy, poll time.Duration) (to *target, stop func()) {
	t.Helper()
	cfg := testConfig(strategy)
	cfg.Policy = poller.Policy{MaxAttempts: 5,
		Delays: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute}, MaxParked: 1, Block: true}
	to = newTarget(t)
	relay := relayTo(t, cfg, db, to, poll)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if relay.Tick(ctx); ctx.Err() == nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	return to, func() { cancel(); <-ended }
}

// relayTo returns an instance that publishes to a target.
func relayTo(t *testing.T, cfg Config, db *fakeDB, to *target, poll time.Duration) *poller.Relay {
	t.Helper()
	relay, err := poller.NewRelay(poller.Config{
		App: "shop", Poller: "outbox", Feed: New(cfg, db.connect().open), To: to, Ordering: cfg.Ordering, Concurrency: 8,
		Fetch: poller.Limit{Rows: 500, Bytes: 1 << 20}, RequestEvents: 100, RequestBytes: 1 << 20,
		Size:         func(e *change.Event) int { return e.Size() },
		RejectStatus: []int{422}, Retries: 3, Timeout: 5 * time.Second, Budget: 5 * time.Second, PollInterval: poll,
	})
	if err != nil {
		t.Fatal(err)
	}
	return relay
}

// set changes what the target does.
func (to *target) set(change func()) {
	to.mu.Lock()
	defer to.mu.Unlock()
	change()
}

// inOrder checks the first acceptances of each aggregate.
func (to *target) inOrder(db *fakeDB) {
	to.t.Helper()
	newest := map[event.Aggregate]int64{}
	for _, seq := range to.order {
		agg := db.at(seq).agg
		if seq < newest[agg] {
			to.t.Errorf("event %d of %v was first accepted after %d", seq, agg, newest[agg])
		}
		newest[agg] = max(newest[agg], seq)
	}
}

func TestOutageOfHalfAnHour(t *testing.T) {
	quick.Skip(t)
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			in(t, func(t *testing.T, db *fakeDB) {
				to, stop := publishing(t, db, strategy, time.Second)
				to.set(func() { to.down = true })
				for n := range 30 * 6 {
					db.add(fmt.Sprint(n % 7))
					time.Sleep(10 * time.Second)
				}
				to.set(func() { to.down = false })
				time.Sleep(2 * time.Minute)
				stop()
				if len(to.order) != 30*6 {
					t.Errorf("%d of %d events were accepted", len(to.order), 30*6)
				}
				to.inOrder(db)
				counted := 0
				for i, state := range db.states() {
					if state != event.Published {
						t.Errorf("event %d is %s", i+1, state)
					}
					attempts := db.at(int64(i + 1)).attempts
					if counted += attempts; attempts > 1 {
						t.Errorf("event %d: %d attempts were counted", i+1, attempts)
					}
				}
				// Events that failed alone just before the end (one, and its probes) look refused when another is
				// accepted just after it.
				if counted > 4 {
					t.Errorf("%d attempts were counted in half an hour", counted)
				}
			})
		})
	}
}

// TestPoisonInAQuietOutbox: an event that gets a 500, in an outbox where another is published each 20 seconds: what was
// accepted before is evidence, and its attempts keep their delays over many ticks.
func TestPoisonInAQuietOutbox(t *testing.T) {
	quick.Skip(t)
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			in(t, func(t *testing.T, db *fakeDB) {
				to, stop := publishing(t, db, strategy, 100*time.Millisecond)
				to.set(func() { to.fails, to.refuses[2] = true, true })
				db.add("good")
				time.Sleep(20 * time.Second)
				db.add("bad")
				for range 30 {
					time.Sleep(20 * time.Second)
					db.add("good")
				}
				time.Sleep(time.Second)
				stop()
				if got := db.states(); got[1] != event.Dead || len(to.order) != 31 {
					t.Errorf("after ten minutes the bad event is %s, and %d others came", got[1], len(to.order))
				}
				if sends := len(to.tries[2]); sends > 25 {
					t.Errorf("five attempts took %d sends", sends)
				}
			})
		})
	}
}

func TestPoisonEvent(t *testing.T) {
	quick.Skip(t)
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			in(t, func(t *testing.T, db *fakeDB) {
				to, stop := publishing(t, db, strategy, 100*time.Millisecond)
				to.set(func() { to.refuses[1] = true })
				db.add("bad", "good", "bad", "bad")
				for range 200 { // an event of another aggregate each second, before and after the end
					db.add("good")
					time.Sleep(time.Second)
				}
				to.mu.Lock()
				want := []time.Duration{0, time.Second, 6 * time.Second, 36 * time.Second, 156 * time.Second}
				if got := to.tries[1]; len(got) != len(want) ||
					!slices.EqualFunc(got, want, func(a, b time.Duration) bool { return a >= b && a <= b+2*time.Second }) {
					t.Errorf("tried after %s, want %s", got, want)
				}
				for i := 5; i <= 204; i++ {
					if took := to.accepted[int64(i)] - time.Duration(i-5)*time.Second; to.accepted[int64(i)] == 0 && i > 5 ||
						took > time.Second {
						t.Errorf("event %d of another aggregate was accepted after %s", i, took)
					}
				}
				if got := db.states(); got[0] != event.Dead || got[2] != event.Waiting || got[3] != event.Waiting ||
					got[1] != event.Published {
					t.Errorf("states %s", got[:4])
				}
				to.refuses[1] = false
				to.mu.Unlock()
				db.change(event.Dead, event.Failed) // what `rowrelay outbox requeue` does
				time.Sleep(15 * time.Second)
				stop()
				to.inOrder(db)
				if got := db.states(); got[0] != event.Published || got[2] != event.Published || got[3] != event.Published {
					t.Errorf("states after requeue %s", got[:4])
				}
			})
		})
	}
}
