package publisher

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// openOn opens a session on a real engine, to be driven by hand.
func (b *bench) openOn(t *testing.T, cfg Config) *driver {
	t.Helper()
	s, err := b.publish(cfg).Feed().Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own, ok := s.(*session)
	if !ok {
		t.Fatalf("%T", s)
	}
	return &driver{t: t, session: own}
}

// publish returns another instance's publisher.
func (b *bench) publish(cfg Config) *Publisher {
	b.tb.Helper()
	conn, err := engines.Parse(b.url)
	b.must(err)
	p, err := New(cfg, conn)
	b.must(err)
	b.tb.Cleanup(func() { b.must(p.Close()) })
	return p
}

func engineConfig(b *bench, strategy claims.Strategy) Config {
	cfg := b.cfg
	cfg.Strategy, cfg.Partitions, cfg.ClaimTTL, cfg.Instance = strategy, 4, 3*time.Second, "one"
	cfg.Policy = poller.Policy{MaxAttempts: 3, Delays: []time.Duration{300 * time.Millisecond}, MaxParked: 1, Block: true}
	return cfg
}

// nextWork asks until there is work.
func (d *driver) nextWork() poller.Grant {
	d.t.Helper()
	var g poller.Grant
	programtest.Until(d.t, "work", func() bool {
		g = d.next()
		return len(g.Batch.Events) > 0
	})
	return g
}

func TestSessionOnEngines(t *testing.T) {
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			test := func(t *testing.T, b *bench) {
				cfg := engineConfig(b, strategy)
				b.write("A/1", "A/1", "B/2")
				s := b.openOn(t, cfg)
				g := s.nextWork()
				outcomes := map[string]string{"1 2 3": "rwa", "3 1 2": "arw"}[shape(poller.Grant{Batch: g.Batch})]
				if g.Batch.More || outcomes == "" {
					t.Fatalf("the first batch is %s", shape(g))
				}
				s.settled(outcomes, g)
				b.wantStates(event.Failed, event.Waiting, event.Published)
				retry := s.nextWork()
				if shape(retry) != "retry 1+" || retry.Batch.Events[0].Attempts != 1 {
					t.Fatalf("then comes %s", shape(retry))
				}
				s.settled("a", retry)
				b.wantStates(event.Published, event.Pending, event.Published)
				rest := s.nextWork()
				if rest.Token < g.Token || shape(rest) != "2" {
					t.Fatalf("then comes %s with token %d after %d", shape(rest), rest.Token, g.Token)
				}
				s.settled("a", rest)
				b.wantStates(event.Published, event.Published, event.Published)
				report := s.close()
				if report.Outbox == nil || report.Outbox.Pending+report.Outbox.Failed+report.Outbox.Waiting != 0 {
					t.Errorf("figures are %+v", report.Outbox)
				}
			}
			change := func(c *Config) { c.Strategy = strategy }
			everyEngine(t, test, change)
			// A pooler in transaction mode gives each transaction another server connection, and this one knows no
			// prepared statements.
			t.Run("pgbouncer", func(t *testing.T) {
				b := newBench(t, func(tb testing.TB) string { return testenv.PgBouncer(tb, testenv.Postgres(tb)) }, change)
				other := b.openOn(t, engineConfig(b, strategy)) // what it prepared stays on the server connection
				other.next()
				other.close()
				test(t, b)
			})
		})
	}
}

func TestTakeOverOnEngines(t *testing.T) {
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel() // most of it is waiting
			everyEngine(t, func(t *testing.T, b *bench) {
				cfg := engineConfig(b, strategy)
				b.write("A/1")
				first := b.openOn(t, cfg)
				g := first.nextWork()
				first.cancel() // it renews no more, as if it were frozen
				second := b.openOn(t, cfg)
				var h poller.Grant
				programtest.Until(t, "a take-over", func() bool {
					var err error
					if h, err = second.Next(t.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20}); err != nil {
						second.close()
						second = b.openOn(t, cfg)
					}
					return len(h.Batch.Events) > 0
				})
				if g.Check() == nil || h.Token <= g.Token {
					t.Errorf("the right of the first: %v, tokens %d, %d", g.Check(), g.Token, h.Token)
				}
				_, err := first.settle("a", g)
				wantFault(t, err, poller.LostLease)
				second.settled("a", h)
				b.wantStates(event.Published)
				first.close()
				second.close()
			}, func(c *Config) { c.Strategy = strategy })
		})
	}
}

func TestRebalancingOnEngines(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		cfg := engineConfig(b, claims.Partitioned)
		b.write("A/1")
		first, second := b.openOn(t, cfg), b.openOn(t, cfg)
		g := first.nextWork()
		second.next()
		b.write("A/1")
		first.settled("a", g)
		programtest.Until(t, "an equal share", func() bool {
			if g := first.next(); len(g.Batch.Events) > 0 {
				first.settled("a", g)
			}
			b.write("B/1")
			if g := second.next(); len(g.Batch.Events) > 0 {
				if _, err := second.settle("aaaaaaaaaa"[:len(g.Batch.Events)], g); err != nil {
					t.Fatal(err)
				}
			}
			return len(first.units.has) == 2 && len(second.units.has) == 2
		})
		for _, i := range first.units.has {
			if slices.Contains(second.units.has, i) {
				t.Errorf("both have partition %d", i)
			}
		}
		first.close()
		second.close()
	}, func(c *Config) { c.Strategy = claims.Partitioned })
}

// TestInstancesOnEngines is TestRandomInstances on real engines, and shorter: instances are killed while writers
// write.
func TestInstancesOnEngines(t *testing.T) {
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel() // most of it is waiting
			everyEngine(t, func(t *testing.T, b *bench) {
				runInstances(t, b, engineConfig(b, strategy))
			}, func(c *Config) { c.Strategy = strategy })
		})
	}
}

func runInstances(t *testing.T, b *bench, cfg Config) {
	cfg.ClaimTTL = time.Second
	seed := rand.Uint64()
	w := &world{
		t: t, cfg: cfg.feed(), seed: seed, rnd: rand.New(rand.NewPCG(seed, 5)), inFlight: map[string]string{},
		accepted: map[int64]int{},
		newest:   map[event.Aggregate]int64{}, batches: map[string]bool{}, poison: map[int64]int{7: 1, 19: 2},
		excuse: map[string]int{}, lossy: 20,
	}
	stop := make(chan struct{})
	var writers, all sync.WaitGroup
	for a := range 5 {
		writers.Go(func() {
			for range 12 {
				b.write(fmt.Sprintf("A/%d", a))
				_ = clock.Sleep(t.Context(), time.Duration(w.roll(80))*time.Millisecond) // the pace of a writer
			}
		})
	}
	start := func(name string) (kill func()) {
		table, dead := b.view(func(c *Config) { *c = cfg }), make(chan struct{})
		// A kill may also show as a fault of any kind in the moment of it.
		all.Go(func() { w.instance(name, table.session, dead, func() int { return 1 }, stop) })
		return func() {
			close(dead)
			if err := table.close(); err != nil {
				t.Error(err)
			}
		}
	}
	start("one")
	for life := range 2 {
		name := fmt.Sprintf("two.%d", life)
		kill := start(name)
		programtest.Until(t, name+" delivers, or finds for the third time that it may not", func() bool {
			return w.noted(" "+name+" sends ") > 0 || w.noted(" "+name+" ends ") > 2
		})
		kill()
	}
	start("three")
	writers.Wait()
	w.mu.Lock()
	w.lossy, w.calm = 0, true
	w.mu.Unlock()
	waiting := func(s event.State) bool { return s != event.Published }
	for end := time.Now().Add(45 * time.Second); slices.ContainsFunc(b.states(), waiting) && time.Now().Before(end); {
		_ = clock.Sleep(t.Context(), 200*time.Millisecond) // asking is work for the database too
	}
	close(stop)
	all.Wait()
	for i, state := range b.states() {
		if state != event.Published || w.accepted[int64(i+1)] == 0 {
			t.Errorf("event %d is %s, and was accepted %d times", i+1, state, w.accepted[int64(i+1)])
		}
	}
	if t.Failed() {
		for _, line := range w.history {
			t.Log(line)
		}
	}
}
