package leased

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
)

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

// Feed is a [poller.Feed]. It is safe for use by several goroutines.
type Feed struct {
	cfg Config

	mu   sync.Mutex
	made bool  // the tables were there once
	read int64 // up to where all was taken; see source.Taking
}

// faultOf returns an error as a Fault. What it wraps decides how the tick ends; otherwise that is event.
func faultOf(event poller.Event, err error) error {
	if errors.Is(err, source.ErrLeaseLost) || errors.Is(err, errExpired) {
		event = poller.LostLease
	}
	return poller.FaultOf(err, poller.EventOf(err, event))
}

var errExpired = errors.New("the leases could not be renewed in time, so that they may have lapsed")
