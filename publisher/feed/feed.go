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
	"math/rand/v2"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

// Feed is a [poller.Feed] over all of an outbox, or over one partition. It is safe for use by several goroutines.
type Feed struct {
	shared *shared
	only   int // the partition; -1 for all
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
