// Package leased is the feed of a table whose changes several instances share by leases on its rows, in the tables of
// the Azure SQL trigger binding (source__leases=azfunc): a [poller.Feed] whose position is rows of those tables.
//
// # Leases
//
// A session takes a batch: changes that nobody has processed and nobody holds. Each comes under a lease of its row,
// with the session's token. The leases are renewed until the batch is settled, or the session ends. What is settled is
// processed, or waits for its next attempt. The state of the function moves to before the first change that is not
// processed.
//
// A key has one change, its newest, and is in one batch at a time: a version that is written while an older one is
// delivered comes after that. So events of a key are in order, between instances too, and no key waits for another.
//
// # What a crash means
//
// After the delivery and before the settlement: the row is delivered again when its lease has lapsed, with the same
// event id. No attempt is counted for it. Anywhere else: others wait until the leases have lapsed, and nothing more.
//
// # Files
//
// session.go takes batches; holding.go holds their leases; settle.go settles them; workers.go says how many instances
// the work is for; function.go names the function. binding.go does what the binding does, where that is asked for.
package leased

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// New returns a feed.
func New(cfg Config) (*Feed, error) {
	switch {
	case cfg.Policy.MaxAttempts < 1:
		return nil, fmt.Errorf("max_attempts is %d: it must be at least 1", cfg.Policy.MaxAttempts)
	case len(cfg.Policy.Delays) == 0:
		return nil, errors.New("retry_delays is empty: it needs the wait before attempt 2 at least")
	case cfg.TTL < time.Second:
		return nil, fmt.Errorf("lease_ttl is %s: it must be at least 1s", cfg.TTL)
	}
	return &Feed{cfg: cfg, read: -1}, nil
}

// Open returns a session, once in a process after it has made the tables that are missing.
func (f *Feed) Open(ctx context.Context) (poller.Session, error) {
	s := &session{feed: f, cfg: &f.cfg}
	tables, origin, warnings, err := f.cfg.Changes.Tables(ctx)
	if err != nil {
		return nil, faultOf(poller.CheckpointLoadFailed, err)
	}
	s.origin, s.warnings, s.tables = origin, warnings, tables
	f.mu.Lock()
	made := f.made
	f.mu.Unlock()
	if !made {
		if err := s.make(ctx); err != nil {
			return nil, err
		}
	}
	if f.cfg.Binding {
		return &bindingSession{session: s}, nil
	}
	return s, nil
}
