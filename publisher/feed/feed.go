// Package feed is the polling publisher of a transactional outbox: a [poller.Feed] whose position is the state of the
// outbox's own rows. Claims in a table beside it say who may publish (package claims). The tick, its lanes and its
// failure policy are those of package poller.
//
// # Events and their states
//
//	PENDING ─────────────▶ PUBLISHED
//	 │ ▲  │                   ▲
//	 │ │  └──▶ FAILED ────────┘
//	 ▼ │          │
//	WAITING       └──▶ DEAD LETTER ──▶ DISCARDED (by an operator)
//
// Events of one aggregate are published by seq. An event that fails with evidence against it becomes FAILED, with the
// time of its next attempt. Later events of its aggregate become WAITING when they are first fetched, and so leave the
// index of pending ones. They become PENDING again, by seq and some thousands in a transaction, when the failed one is
// settled.
//
// An event that is fetched before its available_at becomes DELAYED, which is FAILED without an attempt: its aggregate
// waits as behind a failed one. When its time has come it is PENDING again. One that is fetched after its expires_at is
// DISCARDED (timed.go).
//
// # Claims
//
// A session claims partitions, that is ranges of buckets: all of them (leader), its share (partitioned), or some that
// are free and have work, for one batch (skip_locked). Marks are refused unless its claims hold. They may outlive a
// session that ended well, so that the next one of this process goes on with them.
//
// # What a crash means
//
// After the broker's confirmation and before the mark: the event is published again, with the same idempotency key.
// Anywhere else: others wait until the claims have expired, and nothing more.
//
// # Files
//
// session.go is Next; acquire.go, partitions.go and holding.go are its claims; fetch.go, round.go, past.go and retry.go
// choose rows, and timed.go holds some back; event.go makes events of them; inflight.go knows which are not settled;
// settle.go marks them, and unmarked.go knows which did not take it. outbox.go is what a session asks of its outbox.
package feed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

// Config is how an outbox is published.
type Config struct {
	App, Poller string
	// Instance names this process for people, in claims.
	Instance string
	// Strategy is "" for what suits the table.
	Strategy   claims.Strategy
	Partitions int
	ClaimTTL   time.Duration
	Policy     poller.Policy
	// Ordering is OrderKey (by aggregate), or OrderSource, which needs the strategy leader, or OrderNone.
	Ordering poller.Ordering
	// Alive is for the names of owners: see claims.New.
	Alive alive.Marker
	// DeadLetters also takes dead letters; nil where the row is the dead letter and that is all.
	DeadLetters poller.DeadLetters
}

// Check refuses settings that contradict each other. Errors name the setting.
func (c *Config) Check() error {
	switch c.Strategy {
	case "", claims.Leader, claims.Partitioned, claims.SkipLocked:
	default:
		return fmt.Errorf("source__strategy %q is not leader, partitioned or skip_locked", c.Strategy)
	}
	switch {
	case c.Partitions < 1 || c.Partitions > claims.Buckets:
		return fmt.Errorf("source__partitions is %d: it must be 1 to %d", c.Partitions, claims.Buckets)
	case c.ClaimTTL < time.Second:
		return fmt.Errorf("source__claim_ttl is %s: it must be at least 1s", c.ClaimTTL)
	case c.Policy.MaxAttempts < 1:
		return fmt.Errorf("max_attempts is %d: it must be at least 1", c.Policy.MaxAttempts)
	case len(c.Policy.Delays) == 0:
		return errors.New("retry_delays is empty: it needs the wait before attempt 2 at least")
	case c.Ordering == poller.OrderSource && c.Strategy != claims.Leader:
		return errors.New("ordering=source needs source__strategy=leader: one order of all events has one sender")
	}
	return nil
}

// Feed is a [poller.Feed] over all of an outbox, or over one partition. It is safe for use by several goroutines.
type Feed struct {
	shared *shared
	only   int // the partition; -1 for all
}

// shared is what the sessions of one process have in common.
type shared struct {
	cfg  Config
	open func(context.Context) (*Outbox, error)

	mu      sync.Mutex
	stays   bool        // this process is the next to tick
	resting *holding    // of a session that ended well, for the next one
	rest    *time.Timer // its end
	counted time.Time
	figures *poller.OutboxFigures // as of counted
	// counting ends the count that is under way beside ticks, and waits for that; nil: none is.
	counting func()
	mended   time.Time            // when mend last began, in any session: one may last only seconds
	told     map[string]time.Time // when warnings about the outbox were last said
	unmarked unmarked
}

// New returns the feed of an outbox. open is called by each session; it may return the same outbox again.
func New(cfg Config, open func(context.Context) (*Outbox, error)) *Feed {
	return &Feed{&shared{cfg: cfg, open: open}, -1}
}

// Partition returns the feed of partition n alone. The strategy must be partitioned.
func (f *Feed) Partition(n int) *Feed { return &Feed{f.shared, n} }

// Open returns a session. It asks nothing of the database: the first Next looks for work before it claims anything.
func (f *Feed) Open(context.Context) (poller.Session, error) {
	cfg := &f.shared.cfg
	owner := claims.OwnerName(cfg.App, cfg.Instance, alive.ID(cfg.Alive))
	return newSession(f.shared, owner, f.only, rand.IntN(claims.Buckets)), nil //nolint:gosec // nothing secret
}

// tellEvery is how often a warning about the outbox is said again that lasts.
const tellEvery = time.Hour

// news are the warnings that are to be said now.
func (p *shared) news(warnings []string) (say []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	told := map[string]time.Time{}
	for _, text := range warnings {
		at, known := p.told[text]
		if !known || time.Since(at) >= tellEvery {
			say, at = append(say, text), time.Now()
		}
		told[text] = at
	}
	p.told = told
	return say
}

// mendNow reports, once every mendEvery, that it is time to mend.
func (p *shared) mendNow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mended.IsZero() && time.Since(p.mended) < mendEvery {
		return false
	}
	p.mended = time.Now()
	return true
}

// figuresEvery is how often the events of an outbox are counted. Counting costs time, and gauges need no more.
const figuresEvery = 15 * time.Second

// count returns the figures of the outbox, nil if they are not known. If the last ones are old it counts anew: at once,
// or, in a process that goes on, beside the next ticks, because counting may take seconds. The first failures are
// counted at once: the report says that there are some.
func (p *shared) count(ctx context.Context, failures bool) *poller.OutboxFigures {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.counted) < figuresEvery || p.counting != nil {
		return p.figures
	}
	atOnce := !p.stays || failures && p.counted.IsZero()
	p.counted = time.Now() // a count that fails is not repeated by each tick either
	if atOnce {
		p.mu.Unlock()
		f := p.countNow(ctx)
		p.mu.Lock()
		p.figures = f
		return f
	}
	ctx, cancel := context.WithTimeout(context.Background(), figuresTimeout)
	done := make(chan struct{})
	p.counting = func() { cancel(); <-done }
	go func() {
		defer close(done)
		defer cancel()
		f := p.countNow(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.figures, p.counting = f, nil
	}()
	return p.figures
}

// figuresTimeout bounds a count beside ticks.
const figuresTimeout = time.Minute

func (p *shared) countNow(ctx context.Context) *poller.OutboxFigures {
	o, err := p.open(ctx)
	if err != nil {
		return nil
	}
	f, err := o.Events.Figures(ctx)
	if err != nil {
		return nil
	}
	return &f
}

// leave takes a holding back from its session: it rests for the next one where that may be, or ends.
func (p *shared) leave(ctx context.Context, h *holding, well bool) error {
	p.mu.Lock()
	if well && p.stays && p.resting == nil && h.deadline.Check() == nil {
		defer p.mu.Unlock()
		p.resting = h
		p.rest = time.AfterFunc(h.ttl/3, func() { _ = p.giveUp(h) }) // where it fails, the claims expire
		return nil
	}
	p.mu.Unlock()
	return h.end(ctx)
}

// goOn returns the holding that rests; nil where there is none.
func (p *shared) goOn() *holding {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.resting
	if h == nil || h.deadline.Check() != nil {
		return nil // giveUp ends it
	}
	p.rest.Stop()
	p.resting = nil
	return h
}

// giveUp ends a holding if it still rests.
func (p *shared) giveUp(h *holding) error {
	p.mu.Lock()
	rests := h != nil && p.resting == h
	if rests {
		p.rest.Stop()
		p.resting = nil
	}
	p.mu.Unlock()
	if !rests {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout(h.ttl))
	defer cancel()
	return h.end(ctx)
}

// releaseTimeout bounds how long claims are given back. Then others wait until they expire.
func releaseTimeout(ttl time.Duration) time.Duration { return min(ttl/3, 5*time.Second) }

// Stay is for a process that ticks again and again by itself. Its claims then outlive a session that ended well, for a
// third of their ttl, so that the next one goes on with them. Otherwise they end with the session: under a host,
// another process may be the next to tick.
func (f *Feed) Stay() {
	f.shared.mu.Lock()
	defer f.shared.mu.Unlock()
	f.shared.stays = true
}

// Close gives back what rests. Sessions have to be closed before.
func (f *Feed) Close() error {
	f.shared.mu.Lock()
	h, end := f.shared.resting, f.shared.counting
	f.shared.mu.Unlock()
	if end != nil {
		end()
	}
	return f.shared.giveUp(h)
}
