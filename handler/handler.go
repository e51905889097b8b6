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
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

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
