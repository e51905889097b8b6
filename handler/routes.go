package handler

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rowrelay/rowrelay/mode"
)

// maxBody bounds an invocation's body. The host's timer invocations are below 1 KiB; a queue message is at most 64 KiB,
// and appears up to three times, escaped twice.
const maxBody = 1 << 20

func (h *Handler) routes() chi.Router {
	r := chi.NewRouter()
	r.Get("/", h.ready)
	r.Head("/", h.ready)
	r.Method(http.MethodGet, "/metrics", h.MetricsHandler())
	r.Post("/{function}", h.invoke)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		h.write(w, http.StatusNotFound, answer{Error: "no such path: POST /{function}, GET / and GET /metrics are served"})
	})
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		h.write(w, http.StatusMethodNotAllowed, answer{Error: "an invocation is a POST"})
	})
	return r
}

// ready answers the probe that the host sends every 25 ms until it hears anything at all, and the health ping after
// that: it touches nothing.
func (h *Handler) ready(w http.ResponseWriter, _ *http.Request) {
	h.write(w, http.StatusOK, answer{})
}

func (h *Handler) invoke(w http.ResponseWriter, r *http.Request) {
	// The host is no browser. A web site in the browser of whoever runs `func start` could post here what looks like an
	// invocation.
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		h.refuse(w, r, errBrowser)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	inv, err := decodeInvocation(body)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	inv.ID = clip(r.Header.Get("X-Azure-Functions-InvocationId"), 64)
	if h.lifetime.Err() != nil {
		// A tick would only end at once; the next instance will have the rows.
		h.write(w, http.StatusServiceUnavailable, answer{Error: "the process was told to stop"})
		return
	}
	function := clip(chi.URLParam(r, "function"), 128)
	if name := strings.ToLower(function); h.isHTTP(name) {
		h.invokeHTTP(w, r, name, body)
		return
	}
	status, said, err := h.call(traced(r.Context(), r.Header), strings.ToLower(function), body, inv)
	if err != nil {
		h.log.ErrorContext(r.Context(), "unknown function", "event", "unknown_function", "function", function,
			"error", err.Error(), "invocation_id", inv.ID,
			"next", "give the function's folder the poller's name (`rowrelay functions` writes it), and publish again")
		status, said = http.StatusNotFound, answer{Error: err.Error()}
	}
	h.write(w, status, said)
}

// readBody reads an invocation's body. One that is too large is read to its end, and thrown away: a client that is
// still sending when the connection is closed sees a broken connection, and no answer.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	limited := control.SetReadDeadline(time.Now().Add(bodyTime)) == nil
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	large := len(body) > maxBody
	if err == nil && large {
		_, err = io.Copy(io.Discard, r.Body)
	}
	switch {
	case err != nil:
		return nil, err // the deadline stays: what is missing is not waited for again
	case limited:
		if err := control.SetReadDeadline(time.Time{}); err != nil {
			return nil, err
		}
	}
	if large {
		return nil, errTooLarge
	}
	return body, nil
}

// call runs the function of that name: a poller's, or one that a poller has beside it. A poller's own name comes
// first. The error is an unknown name.
func (h *Handler) call(ctx context.Context, function string, body []byte, inv Invocation) (int, answer, error) {
	if _, known := h.pollers[function]; !known {
		if name, ok := strings.CutSuffix(function, mode.CleanupSuffix); ok && h.pollers[name].Outbox != nil {
			status, said := answerForCleanup(h.Cleanup(ctx, name, h.pollers[name].Outbox.CleanupBudget, inv))
			return status, said, nil
		}
		if name, ok := strings.CutSuffix(function, mode.PartitionSuffix); ok && h.pollers[name].Fanout != nil {
			status, said := answerFor(h.Partition(ctx, name, triggerOf(body), inv), h.pollers[name].Outbox != nil)
			return status, said, nil
		}
	}
	reports, err := h.Tick(ctx, function, inv)
	if err != nil {
		return 0, answer{}, err
	}
	status, said := answerFor(reports, h.pollers[function].Outbox != nil)
	return status, said, nil
}

// MetricsHandler serves the Prometheus exposition; cmd mounts it on the standalone listener, and the handler itself on
// the custom handler's port. A collector that fails costs its own series, not the rest.
func (h *Handler) MetricsHandler() http.Handler {
	return promhttp.HandlerFor(h.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
	})
}
