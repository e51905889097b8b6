package poller

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Config is one output of one poller: where its events come from, where they go, and how.
type Config struct {
	// App, Poller and Output name it; Output is "" for the default output. Backfill is the name of a backfill with a
	// position of its own, "" for every other relay.
	App, Poller, Output, Backfill string
	Feed                          Feed
	To                            Output
	Ordering                      Ordering
	Concurrency                   int // requests in flight
	Fetch                         Limit
	// Shape makes of an event what is sent of it; nil: the event itself. It keeps ID, Key, OrderKey, Cursor, Attempts and
	// Waits, is the same for the same event, and changes nothing in it. One that is Broken stays so. Aside: it is not to
	// be sent, and counts as accepted. Broken: it cannot be. An error is the settings' fault, and ends the tick.
	Shape func(*change.Event) (change.Event, error)
	// FetchMost is how far Fetch.Rows grows, doubling, while full batches are delivered at once; below it, or where
	// MaxBatches counts them, it does not grow.
	FetchMost int
	// RequestEvents and RequestBytes bound one request; Size is the size of one event in the output's format, in bytes.
	RequestEvents, RequestBytes int
	Size                        func(*change.Event) int
	// KeyEvents bounds the events of one order key in a request, where the output takes several: see Output. 0 is 1.
	KeyEvents int
	// RejectStatus are the HTTP statuses after which a request is not repeated but bisected at once.
	RejectStatus []int
	// Retries is how often one request is tried in a tick, the first attempt included.
	Retries int
	// Whole says that the feed settles a batch as a whole or not at all: so an event that fails is rejected, whosever
	// fault it is, and no other is sent to find out.
	Whole bool
	// Timeout bounds one attempt.
	Timeout time.Duration
	// Budget bounds the tick: after it no fetch begins but the first, and no request once Linger is over, too. What was
	// accepted behind an event that was not sent by then is delivered again by the next tick.
	Budget, Linger time.Duration
	// PollInterval is the wait between fetches of a drained source; 0 ends the tick when the source is drained.
	PollInterval time.Duration
	// PollIntervalMax is how far PollInterval grows, doubling, while the source stays empty; below PollInterval it does
	// not grow.
	PollIntervalMax time.Duration
	// MaxBatches ends the tick after so many batches; 0 leaves it to the budget.
	MaxBatches int
}

// Relay runs the ticks of one output of one poller, one at a time.
type Relay struct {
	cfg  Config
	hint hint // for the next tick
	// source and destination are left alone while they do nothing but fail; nothing is sent while no commit works.
	source, destination, settlement circuit
}

// NewRelay returns a relay, or an error that names the member at fault.
func NewRelay(cfg Config) (*Relay, error) {
	switch {
	case cfg.Feed == nil, cfg.To == nil, cfg.Size == nil:
		return nil, errors.New("relay: Feed, To and Size are required")
	case cfg.Concurrency < 1, cfg.Fetch.Rows < 1, cfg.Fetch.Bytes < 1, cfg.RequestEvents < 1, cfg.RequestBytes < 1,
		cfg.Retries < 1:
		return nil, errors.New("relay: Concurrency, Fetch, RequestEvents, RequestBytes and Retries must be at least 1")
	case cfg.Timeout <= 0, cfg.Budget <= 0, cfg.Linger < 0, cfg.PollInterval < 0, cfg.MaxBatches < 0:
		return nil, errors.New("relay: Timeout and Budget must be positive, Linger, PollInterval and MaxBatches not negative")
	}
	switch cfg.Ordering {
	case OrderKey, OrderNone:
	case OrderSource:
		// One event at a time: of a request with several, a receiver may accept a later one and fail an earlier one.
		cfg.Concurrency, cfg.RequestEvents = 1, 1
	default:
		return nil, fmt.Errorf("relay: ordering %q is not key, source or none", cfg.Ordering)
	}
	return &Relay{cfg: cfg}, nil
}

// longest is how long a tick may take: its budget, what lingers, the requests in flight then, and the last commit.
func (r *Relay) longest() time.Duration {
	return r.cfg.Budget + r.cfg.Linger + r.cfg.Timeout + settleGrace
}

// newReport returns the report of a tick that begins now.
func (r *Relay) newReport() Report {
	return Report{Poller: r.cfg.Poller, Output: r.cfg.Output, Started: time.Now(), NullCursors: -1, Parked: -1}
}

// Guard turns a panic of f into an error that carries the stack: a fault of one part must not end the process, whose
// restart the Functions host counts.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return f()
}

// settleGrace is how long after the budget and the last request a commit may take (SETTINGS: tick_budget).
const settleGrace = 10 * time.Second

// Poller is a poller with its outputs. Each output is a session of its own, with its own position, lease and document.
type Poller struct {
	relays []*Relay
	busy   sync.Mutex
	since  atomic.Int64 // when the running tick began, in Unix nanoseconds
}

// New returns the poller of the given relays.
func New(relays ...*Relay) *Poller { return &Poller{relays: relays} }

// ErrOverlap is why a second invocation in one process does nothing.
var ErrOverlap = errors.New("the previous tick of this poller is still running in this process")
