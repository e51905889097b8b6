// Package handler speaks the custom-handler protocol of the Azure Functions host: one POST for each invocation, one
// JSON answer, and nothing else that the host would see.
//
// Rowrelay is not a native database trigger. It is a pseudo trigger built on Azure Functions timers. Delivery is
// at-least-once: an event may arrive more than once, and receivers must be idempotent.
//
//	GET  /            200 at once, without a database: the host's readiness probe and health ping
//	GET  /metrics     the Prometheus exposition
//	POST /{function}  one tick of the poller of that name, compared without regard to case; an outbox has functions beside
//	                  it (see Outbox); or an HTTP function (see Config.HTTP)
//
// The answers, all JSON objects (an empty or null 2xx body would hang the invocation until the host kills us):
//
//	200  {}                    every output's tick ended well, or had nothing to do
//	500  {"error", "failures"} at least one output's tick failed; the host discards the body, so every failed output
//	                           also has one Error line on stderr that says what, and what next
//	400  {"error"}             the body is not an invocation
//	404  {"error"}             no poller has the function's name
//	503  {"error"}             the process was told to stop
//
// A success carries no Logs and no Outputs: Logs would repeat the tick's line, and Outputs are written by the host
// after the answer, so that a checkpoint committed before them would lose what the host fails to write.
//
// The host never cancels a request; when it is out of patience it kills the process. So a tick does not end with its
// request: its context ends only with the process's own lifetime, with that context's cause.
//
// The package maps errors to HTTP in one place (answer.go), logs one line for each Report (report.go), in lines that
// the host classifies rightly (log.go), and reads the metrics off the Reports (metrics.go).
package handler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowrelay/rowrelay/clock"
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

// New returns the handler of cfg. Ticks end, with the cause of lifetime, when lifetime ends.
func New(lifetime context.Context, cfg Config) *Handler {
	h := &Handler{
		lifetime: lifetime,
		pollers:  make(map[string]Poller, len(cfg.Pollers)),
		faults:   cfg.Faults,
		log:      cfg.Log,
		observer: cfg.Observe,
		http:     cfg.HTTP,
		metrics:  NewMetrics(cfg.Log),
		registry: cfg.Registry,
		skipped:  newSkips(),

		partitions: map[partitionMessage]Runner{},
		fanouts:    map[string]fanoutSeen{},
	}
	if h.registry == nil {
		h.registry = prometheus.NewRegistry()
	}
	for _, p := range cfg.Pollers {
		name := strings.ToLower(p.Name)
		h.pollers[name] = p
		h.names = append(h.names, name)
		for _, output := range p.Outputs {
			h.metrics.Prepare(name, output)
		}
		if p.Outbox != nil {
			h.metrics.PrepareOutbox(name)
		} else {
			h.metrics.PrepareDrained(name, p.Outputs)
		}
	}
	slices.Sort(h.names)
	if err := h.registry.Register(h.metrics); err != nil {
		// Metrics are for looking at; a process without them still relays rows.
		h.log.Warn("the metrics are not exposed: their registration failed", "error", err)
	}
	h.router = h.routes()
	return h
}

// ServeHTTP answers one request of the host.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		// Ticks have their own recovery; this one keeps net/http from writing a stack of many lines to stderr.
		if p := recover(); p != nil {
			h.log.Error("the request panicked; the process goes on", "error", fmt.Sprint(p), "stack", string(debug.Stack()),
				"next", "report this with the stack as a bug of rowrelay")
			h.write(w, http.StatusInternalServerError, answer{Error: "the request panicked"})
		}
	}()
	h.router.ServeHTTP(w, r)
}

// Tick runs one tick of the named poller to its end, whatever becomes of the invocation's own context: only the
// lifetime given to New ends it early. It logs and measures each Report. The error is an unknown poller.
func (h *Handler) Tick(ctx context.Context, name string, inv Invocation) ([]poller.Report, error) {
	name = strings.ToLower(name)
	p, known := h.pollers[name]
	if !known && len(h.faults) == 0 {
		return nil, fmt.Errorf("no poller is called %q; the pollers are: %s. The function's folder must have the poller's name: "+
			"rename the folder, or add the settings pollers__%s__…", name, h.known(), name)
	}
	ctx, cancel := h.alive(ctx)
	defer cancel()
	if faults := append(slices.Clone(h.faults), p.Faults...); len(faults) > 0 {
		return h.account(ctx, name, inv, everyOutput(name, p.Outputs, poller.ConfigInvalid, joinFaults(faults))), nil
	}
	if p.Fanout != nil {
		if report, done := h.fanOut(ctx, name, &p, inv); done {
			return []poller.Report{report}, nil
		}
	}
	_ = clock.Sleep(ctx, h.after(name)) // a tick that is to end at once says so itself
	return h.account(ctx, name, inv, h.run(ctx, name, p)), nil
}

// Schedules fire for all pollers in one millisecond. So many begin at once; of more, each begins a little after the one
// before it in the order of their names, and all of them within less than a second.
const (
	atOnce = 16
	apart  = 4 * time.Millisecond
	within = 800 * time.Millisecond
)

// after is how long after its schedule the tick of a poller begins.
func (h *Handler) after(name string) time.Duration {
	n := len(h.names)
	if n <= atOnce {
		return 0
	}
	i, _ := slices.BinarySearch(h.names, name)
	return time.Duration(i) * min(apart, within/time.Duration(n))
}

// alive is the context of work that the host asked for. What the invocation's context carries is kept, its end is not:
// the host never cancels, a dropped connection says nothing about the rows, and a tick that stopped half-way for it
// would only deliver them again.
func (h *Handler) alive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(h.lifetime, func() { cancel(context.Cause(h.lifetime)) }) //nolint:contextcheck // see above
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// account logs and measures reports, and returns them.
func (h *Handler) account(ctx context.Context, name string, inv Invocation, reports []poller.Report) []poller.Report {
	p, known := h.pollers[name]
	for i := range reports {
		if known { // a name that somebody made up gets no series
			h.metrics.Observe(&reports[i])
		}
		level, more := h.skipped.line(&reports[i], inv)
		logReport(ctx, h.log, level, &reports[i], inv, p.Outbox != nil, more...)
		if known {
			h.observe(&reports[i], p.Outbox != nil)
		}
	}
	return reports
}

// observe tells the observer of a tick.
func (h *Handler) observe(r *poller.Report, outbox bool) {
	if h.observer == nil {
		return
	}
	mend := ""
	if r.Failed() {
		mend = next(r, outbox)
	}
	h.observer(r, mend)
}

// run runs the tick and turns a panic into a failed one. A panic in a goroutine that the tick started is beyond its
// reach: it ends the process, which the host starts again.
func (h *Handler) run(ctx context.Context, name string, p Poller) (reports []poller.Report) {
	defer func() {
		if r := recover(); r != nil {
			err := &panicError{value: fmt.Sprint(r), stack: string(debug.Stack())}
			reports = everyOutput(name, p.Outputs, poller.HandlerFailed, err)
			for i := range reports {
				reports[i].Reason = reasonPanic
			}
		}
	}()
	reports = p.Runner.Run(ctx)
	if len(reports) == 0 {
		// Nobody vouches for this tick, so it did not succeed.
		return everyOutput(name, p.Outputs, poller.ConfigInvalid, errors.New("the tick reported no output: set "+
			"pollers__"+name+"__output__kind"))
	}
	return reports
}

// everyOutput is one report for each output of a tick that never reached any of them.
func everyOutput(name string, outputs []string, event poller.Event, err error) []poller.Report {
	if len(outputs) == 0 {
		outputs = []string{""}
	}
	reports := make([]poller.Report, len(outputs))
	for i, output := range outputs {
		reports[i] = newReport(name)
		reports[i].Output, reports[i].Event, reports[i].Err = output, event, err
	}
	return reports
}

// newReport is a report of what ends as it begins.
func newReport(name string) poller.Report {
	now := time.Now()
	return poller.Report{Poller: name, Started: now, Ended: now, Parked: -1, NullCursors: -1}
}

// joinFaults is one error of one line that says all faults.
func joinFaults(faults []error) error {
	if len(faults) == 1 {
		return faults[0]
	}
	text := make([]string, len(faults))
	for i, err := range faults {
		text[i] = err.Error()
	}
	return fmt.Errorf("%d faults: %s", len(faults), strings.Join(text, "; "))
}

func (h *Handler) known() string {
	if len(h.names) == 0 {
		return "none"
	}
	return strings.Join(h.names, ", ")
}

// panicError is a recovered panic.
type panicError struct{ value, stack string }

// Error says what panicked; the stack has its own member in the log line.
func (e *panicError) Error() string { return errPanic.Error() + ": " + e.value }

// Unwrap returns errPanic.
func (e *panicError) Unwrap() error { return errPanic }
