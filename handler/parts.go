package handler

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowrelay/rowrelay/poller"
)

// Runner runs one tick of one poller: all its outputs, each with a Report of its own. The tick ends early, with the
// cause of ctx, when ctx ends. A tick that overlaps another of the same poller reports lease_acquire_skipped.
type Runner interface {
	Run(ctx context.Context) []poller.Report
}

// Poller is one poller as the handler knows it.
type Poller struct {
	// Name is the poller's name, in lower case; the function folder has the same name.
	Name string
	// Outputs names its outputs, so that their metrics exist before their first tick.
	Outputs []string
	// Runner runs its ticks. It is not used while there are Faults.
	Runner Runner
	// Outbox is nil for every mode but outbox.
	Outbox *Outbox
	// Fanout is nil where the poller's own function does all the work.
	Fanout *Fanout
	// Faults are what its settings lack, each with its mend, without secrets. With any, every invocation answers 500:
	// a process that exited instead would be restarted three times and then take the whole host down with it.
	Faults []error
}

// Config is what New needs.
type Config struct {
	// Pollers are all pollers of the process.
	Pollers []Poller
	// Faults are faults of settings that belong to no single poller. With any, every invocation answers 500, whatever
	// its name: which pollers there are may be part of what is unknown.
	Faults []error
	// Log receives one line for each Report; under the host it is NewHostLogger's.
	Log *slog.Logger
	// Observe is told of each Report after its line was logged, with what the line of a failed tick says to do next ("" of
	// others); nil where nobody asks. It must return at once: the invocation is answered after it.
	Observe func(r *poller.Report, next string)
	// HTTP are the HTTP functions, by name in lower case. A poller of the same name comes first.
	HTTP map[string]http.Handler
	// Registry takes the metrics and is what MetricsHandler shows; nil means one of the handler's own.
	Registry *prometheus.Registry
}

// Handler answers the host. It is also what the standalone scheduler runs its ticks with, so that both log and measure
// alike.
type Handler struct {
	lifetime context.Context //nolint:containedctx // the process's lifetime: a tick must not end with its request
	pollers  map[string]Poller
	names    []string
	faults   []error
	log      *slog.Logger
	observer func(r *poller.Report, next string) // or nil
	http     map[string]http.Handler
	metrics  *Metrics
	registry *prometheus.Registry
	router   chi.Router
	skipped  skips

	mu         sync.Mutex
	partitions map[partitionMessage]Runner // that have run
	fanouts    map[string]fanoutSeen       // by poller
}

// errPanic marks a tick that panicked.
var errPanic = errors.New("the tick panicked")

// panicError is a recovered panic.
type panicError struct{ value, stack string }

// Error says what panicked; the stack has its own member in the log line.
func (e *panicError) Error() string { return errPanic.Error() + ": " + e.value }

// Unwrap returns errPanic.
func (e *panicError) Unwrap() error { return errPanic }

// Outbox is what a poller of the mode outbox has beside its ticks. It has a further function:
//
//	POST /{poller}_cleanup    a clean-up
type Outbox struct {
	// Cleanup deletes what is older than the retention, until none is left or ctx ends.
	Cleanup func(ctx context.Context) (Cleaned, error)
	// CleanupBudget ends a clean-up that the host asked for, so that it answers before functionTimeout; 0: nothing does.
	CleanupBudget time.Duration
}

// Cleaned is what a clean-up did. More says that it was stopped before its end.
type Cleaned struct {
	Rows, Chunks int64
	More         bool
}

// Fanout spreads the work of a poller over instances: timers are singletons under the host, queue triggers are not. The
// partitions are those of an outbox, or the workers that changes ask for which instances share by leases. The functions
// are
//
//	POST /{poller}            one message for each partition that has work
//	POST /{poller}_partition  a tick of the partition that the queue message names
type Fanout struct {
	// Work returns the partitions that have something to do, of how many there are. Where there is only one, or none,
	// the tick runs where the timer fires.
	Work func(ctx context.Context) (partitions []int, of int, err error)
	// About counts the outbox and says whether it is paused: where nothing is published, no partition's tick would. It is
	// asked once a minute. Nil of any other source.
	About func(ctx context.Context) (figures poller.OutboxFigures, paused bool, err error)
	// Send puts one message on the queue.
	Send func(ctx context.Context, message []byte) error
	// Partition runs the ticks of one partition. It is called for each number once.
	Partition func(n int) (Runner, error)
	// Partitions is one more than the largest number that a partition can have.
	Partitions int
	// Timeout bounds Work and all Sends together.
	Timeout time.Duration
}

// fanoutSeen is what a timer has last seen of its outbox.
type fanoutSeen struct {
	at     time.Time
	paused bool
}
