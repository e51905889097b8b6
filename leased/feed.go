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
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
)

// Config is how changes are shared.
type Config struct {
	App, Poller string
	Policy      poller.Policy
	// TTL is how long a lease lasts unless it is renewed.
	TTL time.Duration
	// Binding has it all done as the binding does it: see binding.go. Changes have to be such, and the relay's Whole set.
	Binding bool
	// DeadLetters also takes dead letters; nil where the row of our own table is all.
	DeadLetters poller.DeadLetters
	Changes     Changes
}

// Changes are the shared changes of a table; *[source.Leases] is. Each call is one transaction, repeated after a
// transient fault. Errors wrap poller.ErrConfig where the settings or the schema are at fault.
type Changes interface {
	// Tables names the tables, and says what changes are read of. Make makes what is missing of the tables, and reports
	// whether the leases table was; IsMissing, whether an error says that they are.
	Tables(ctx context.Context) (engine.LeaseTables, poller.Origin, []string, error)
	Make(ctx context.Context) (made bool, err error)
	IsMissing(err error) bool
	// Take takes a batch. Its error may leave leases that lapse.
	Take(ctx context.Context, t source.Taking) (source.Batch, error)
	// Renew extends the leases of a token (as the binding does it: those of marks) and returns how many there were; a ttl
	// of 0 has them lapse.
	Renew(ctx context.Context, token int64, ttl time.Duration, marks ...engine.LeaseMark) (int, error)
	// Settle makes marks durable, all or none: then the error wraps source.ErrLeaseLost.
	Settle(ctx context.Context, token int64, marks []engine.LeaseMark) error
	// Show tells how the changes stand.
	Show(ctx context.Context) (engine.LeaseTold, error)
}

// Feed is a [poller.Feed]. It is safe for use by several goroutines.
type Feed struct {
	cfg Config

	mu   sync.Mutex
	made bool  // the tables were there once
	read int64 // up to where all was taken; see source.Taking
}

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

// make makes the tables. A leases table that has gone took with it what was processed above the function's state.
func (s *session) make(ctx context.Context) error {
	made, err := s.cfg.Changes.Make(ctx)
	if err != nil {
		return faultOf(poller.CheckpointLoadFailed, fmt.Errorf("%w (rowrelay check names missing rights)", err))
	}
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if made && f.made {
		s.warn("the leases table [az_func].[" + s.tables.Leases + "] was gone, and was made anew: changes that were " +
			"processed since the function's state moved last are delivered again")
	}
	if !f.made {
		s.warn("SQL trigger Leases table: [az_func].[" + s.tables.Leases + "]")
	}
	f.made, f.read = true, -1
	return nil
}

// faultOf returns an error as a Fault. What it wraps decides how the tick ends; otherwise that is event.
func faultOf(event poller.Event, err error) error {
	switch {
	case errors.Is(err, poller.ErrConfig):
		event = poller.ConfigInvalid
	case errors.Is(err, source.ErrLeaseLost), errors.Is(err, errExpired):
		event = poller.LostLease
	case errors.Is(err, poller.ErrNormalize):
		event = poller.NormalizeFailed
	case errors.Is(err, poller.ErrGap):
		event = poller.SourceGap
	}
	return poller.FaultOf(err, event)
}
