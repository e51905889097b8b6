// Package feed is the polling publisher of a transactional outbox: a [poller.Feed] whose position is the state of the
// outbox's own rows. Claims in a table beside it say who may publish (package claims). The tick, its lanes and its
// failure policy are those of package poller.
//
// # Events and their states
//
//	PENDING ──▶ (PUBLISHING) ──▶ PUBLISHED        PUBLISHING is written by the strategy skip_locked only
//	   │ ▲            │
//	   ▼ │            ▼
//	WAITING ◀───── FAILED ──▶ DEAD LETTER ──▶ DISCARDED (by an operator)
//
// Events of one aggregate are published by seq. An event that fails with evidence against it becomes FAILED, with the
// time of its next attempt. Later events of its aggregate become WAITING when they are first fetched, and so leave the
// index of pending ones. They become PENDING again, by seq and some thousands in a transaction, when the failed one is
// settled.
//
// # Claims
//
// A session claims the whole table (leader), partitions, that is ranges of buckets (partitioned), or aggregates
// (skip_locked). Marks are refused unless its claims hold.
//
// # What a crash means
//
// After the broker's confirmation and before the mark: the event is published again, with the same idempotency key.
// Anywhere else: others wait until the claims have expired, and nothing more.
//
// # Files
//
// session.go is Next; acquire.go, partitions.go and renew.go are its claims; fetch.go, round.go and retry.go choose
// rows; event.go makes events of them; inflight.go knows which are not settled; settle.go marks them. outbox.go is what
// a session asks of its outbox.
package feed

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

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
	before  map[int]bool // partitions that the last session of this process held
	counted time.Time
	figures *poller.OutboxFigures // as of counted
	mended  time.Time             // when mend last began, in any session: one may last only seconds
}

// New returns the feed of an outbox. open is called by each session; it may return the same outbox again.
func New(cfg Config, open func(context.Context) (*Outbox, error)) *Feed {
	return &Feed{&shared{cfg: cfg, open: open}, -1}
}

// Partition returns the feed of partition n alone. The strategy must be partitioned.
func (f *Feed) Partition(n int) *Feed { return &Feed{f.shared, n} }

// Open returns a session. It asks nothing of the database: the first Next looks for work before it claims anything.
func (f *Feed) Open(context.Context) (poller.Session, error) {
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, &poller.Fault{Event: poller.LeaseAcquireFailed,
			Err: fmt.Errorf("drawing a name for the session: %w", err)}
	}
	cfg := &f.shared.cfg
	owner := claims.OwnerName(cfg.App, cfg.Instance, hex.EncodeToString(random[:]))
	return newSession(f.shared, owner, f.only, int(random[0])<<8|int(random[1])), nil
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

// count returns the figures of the outbox. It counts anew if the last ones are old, and returns nil if that failed.
func (p *shared) count(ctx context.Context) *poller.OutboxFigures {
	p.mu.Lock()
	if time.Since(p.counted) < figuresEvery {
		defer p.mu.Unlock()
		return p.figures
	}
	p.counted, p.figures = time.Now(), nil // a count that fails is not repeated by each tick either
	p.mu.Unlock()
	o, err := p.open(ctx)
	if err != nil {
		return nil
	}
	f, err := o.Events.Figures(ctx)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.figures = &f
	return p.figures
}

// remember keeps which partitions a session held. The next session prefers them.
func (p *shared) remember(partitions []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = make(map[int]bool, len(partitions))
	for _, i := range partitions {
		p.before[i] = true
	}
}

func (p *shared) preferred() map[int]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.before
}
