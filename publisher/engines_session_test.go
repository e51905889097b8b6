package publisher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

// openOn opens a session on a real engine, to be driven by hand.
func (b *bench) openOn(t *testing.T, cfg Config) *engineSession {
	t.Helper()
	s, err := b.publish(cfg).Feed().Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &engineSession{feedtest.Driver{T: t, Session: s}}
}

// openChanged is openOn with an outbox of which something was changed.
func (b *bench) openChanged(t *testing.T, cfg Config, change func(*feed.Outbox)) *engineSession {
	t.Helper()
	c := b.view(func(own *Config) { *own = cfg })
	s, err := feed.New(cfg.Config, func(ctx context.Context) (*feed.Outbox, error) {
		o, err := c.session(ctx)
		if err == nil {
			change(o)
		}
		return o, err
	}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &engineSession{feedtest.Driver{T: t, Session: s}}
}

// engineSession is a session on a real engine.
type engineSession struct{ feedtest.Driver }

// frozen are claims that are not renewed, as those of a process that is frozen.
type frozen struct{ feed.Claims }

func (frozen) Renew(context.Context, string, []int, time.Duration) (int, error) {
	return 0, errors.New("it is frozen")
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

// engineConfig is an instance's. Its claims last longer than a test may stand still.
func engineConfig(b *bench, strategy claims.Strategy) Config {
	cfg := b.cfg
	cfg.Strategy, cfg.Partitions, cfg.ClaimTTL, cfg.Instance = strategy, 4, time.Minute, "one"
	cfg.Policy = poller.Policy{MaxAttempts: 3, Delays: []time.Duration{300 * time.Millisecond}, MaxParked: 1, Block: true}
	return cfg
}

// nextWork asks until there is work.
func (d *engineSession) nextWork() poller.Grant {
	d.T.Helper()
	var g poller.Grant
	programtest.Until(d.T, "work", func() bool {
		g = d.Fetch()
		return len(g.Batch.Events) > 0
	})
	return g
}

func TestSessionOnEngines(t *testing.T) {
	t.Parallel()
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			test := func(t *testing.T, b *bench) {
				cfg := engineConfig(b, strategy)
				b.write("A/1", "A/1", "B/2")
				s := b.openOn(t, cfg)
				g := s.nextWork()
				outcomes := map[string]string{"1 2 3": "rwa", "3 1 2": "arw"}[feedtest.Shape(poller.Grant{Batch: g.Batch})]
				if g.Batch.More || outcomes == "" {
					t.Fatalf("the first batch is %s", feedtest.Shape(g))
				}
				s.Settled(outcomes, g)
				b.wantStates(event.Failed, event.Waiting, event.Published)
				retry := s.nextWork()
				if feedtest.Shape(retry) != "retry 1+" || retry.Batch.Events[0].Attempts != 1 {
					t.Fatalf("then comes %s", feedtest.Shape(retry))
				}
				s.Settled("a", retry)
				b.wantStates(event.Published, event.Pending, event.Published)
				rest := s.nextWork()
				if rest.Token < g.Token || feedtest.Shape(rest) != "2" {
					t.Fatalf("then comes %s with token %d after %d", feedtest.Shape(rest), rest.Token, g.Token)
				}
				s.Settled("a", rest)
				b.wantStates(event.Published, event.Published, event.Published)
				report := s.End()
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
				other.Fetch()
				other.End()
				test(t, b)
			})
		})
	}
}

func TestTakeOverOnEngines(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	everyEngineAndStrategy(t, func(t *testing.T, b *bench, strategy claims.Strategy) {
		t.Parallel() // most of it is waiting
		cfg := engineConfig(b, strategy)
		b.write("A/1")
		cfg.ClaimTTL = 3 * time.Second // which is waited for
		first := b.openChanged(t, cfg, func(o *feed.Outbox) { o.Claims = frozen{o.Claims} })
		g := first.nextWork()
		cfg.ClaimTTL = 9 * time.Second // it looks for partitions that are free after a third of it
		second := b.openOn(t, cfg)
		var h poller.Grant
		programtest.Until(t, "a take-over", func() bool {
			var err error
			if h, err = second.Next(t.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20}); err != nil {
				second.End()
				second = b.openOn(t, cfg)
			}
			return len(h.Batch.Events) > 0
		})
		if g.Check() == nil || h.Token <= g.Token {
			t.Errorf("the right of the first: %v, tokens %d, %d", g.Check(), g.Token, h.Token)
		}
		_, err := first.Outcomes(t.Context(), "a", g)
		feedtest.WantFault(t, err, poller.LostLease)
		second.Settled("a", h)
		b.wantStates(event.Published)
		first.End()
		second.End()
	})
}

func TestRebalancingOnEngines(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	everyEngine(t, func(t *testing.T, b *bench) {
		cfg := engineConfig(b, claims.Partitioned)
		cfg.ClaimTTL = 6 * time.Second // the shares are looked at after a third of it
		b.write("A/1")
		first, second := b.openOn(t, cfg), b.openOn(t, cfg)
		g := first.nextWork()
		second.Fetch()
		b.write("A/1")
		first.Settled("a", g)
		programtest.Until(t, "an equal share", func() bool {
			if g := first.Fetch(); len(g.Batch.Events) > 0 {
				first.Settled("a", g)
			}
			b.write("B/1")
			if g := second.Fetch(); len(g.Batch.Events) > 0 {
				if _, err := second.Outcomes(t.Context(), "aaaaaaaaaa"[:len(g.Batch.Events)], g); err != nil {
					t.Fatal(err)
				}
			}
			return equalShares(b)
		})
		// What a session believes to have is what the marks are refused by.
		b.write("A/1", "B/1", "C/1", "D/1")
		programtest.Until(t, "the end", func() bool {
			for _, s := range []*engineSession{first, second} {
				if g := s.Fetch(); len(g.Batch.Events) > 0 {
					s.Settled(strings.Repeat("a", len(g.Batch.Events)), g)
				}
			}
			return !slices.ContainsFunc(b.states(), func(s event.State) bool { return s != event.Published })
		})
		if !equalShares(b) {
			t.Error("the shares are not equal any more")
		}
		first.End()
		second.End()
	}, func(c *Config) { c.Strategy = claims.Partitioned })
}

// equalShares reports whether two sessions hold two partitions each.
func equalShares(b *bench) bool {
	found, err := b.claims.Survey(context.Background())
	b.must(err)
	has := map[string]int{}
	for _, owner := range found.Held {
		has[owner]++
	}
	return len(has) == 2 && len(found.Held) == 4 && has[found.Held[0]] == 2
}

// TestInstancesOnEngines is TestRandomInstances on real engines, and shorter: instances are killed while writers
// write.
func TestInstancesOnEngines(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
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
	cfg.ClaimTTL, cfg.Policy.MaxAttempts = time.Second, 9 // a lost answer may count, beside those that poison takes
	seed := rand.Uint64()
	w := feedtest.NewWorld(t, seed, rand.New(rand.NewPCG(seed, 5)),
		feedtest.Faults{Poison: map[int64]int{7: 1, 19: 2}, Lossy: 20})
	w.Strategy, w.Ordering, w.Tick = cfg.Strategy, cfg.Ordering, 2*time.Second
	stop := make(chan struct{})
	var writers, all sync.WaitGroup
	var enough atomic.Bool // each kill is one beside events that wait
	for a := range 5 {
		writers.Go(func() {
			for n := 0; n < 12 || !enough.Load(); n++ {
				b.write(fmt.Sprintf("A/%d", a))
				_ = clock.Sleep(t.Context(), time.Duration(w.Roll(400))*time.Millisecond) // the pace of a writer
			}
		})
	}
	start := func(name string) (kill func()) {
		table, dead := b.view(func(c *Config) { *c = cfg }), make(chan struct{})
		// A kill may also show as a fault of any kind in the moment of it.
		feedOf := func(claims.Strategy) poller.Feed { return feed.New(cfg.Config, table.session) }
		all.Go(func() { w.Instance(name, feedOf, dead, func() int { return 1 }, stop) })
		return func() {
			close(dead)
			if err := table.db.Pool.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	start("one")
	for life := range 2 {
		name := fmt.Sprintf("two.%d", life)
		kill := start(name)
		programtest.Until(t, name+" delivers, or finds for the third time that it may not", func() bool {
			return w.Noted(" "+name+" sends ") > 0 || w.Noted(" "+name+" ends ") > 2
		})
		kill()
	}
	start("three")
	enough.Store(true)
	writers.Wait()
	w.Change(func(f *feedtest.Faults) { f.Lossy, f.Calm = 0, true })
	waiting := func(s event.State) bool { return s != event.Published }
	for end := time.Now().Add(programtest.Patience); slices.ContainsFunc(b.states(), waiting) && time.Now().Before(end); {
		_ = clock.Sleep(t.Context(), 200*time.Millisecond) // asking is work for the database too
	}
	close(stop)
	all.Wait()
	for i, state := range b.states() {
		if n := w.Accepted(int64(i + 1)); state != event.Published || n == 0 {
			t.Errorf("event %d is %s, and was accepted %d times", i+1, state, n)
		}
	}
	w.LogHistory()
}
