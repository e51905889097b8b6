package fakehost

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// invoke posts an invocation to the worker. A JobHost that has to be restarted waits until none is in flight.
func (h *Host) invoke(ctx context.Context, result Result, f function, body []byte) Result {
	w, err := h.target(ctx)
	if err != nil {
		result.Why = err.Error()
		return result
	}
	h.mu.Lock()
	h.running++
	h.mu.Unlock()
	defer h.ended(ctx)
	timeout := h.armTimeout(w)
	result.post(ctx, h, w, f, body)
	if !result.Hung { // a hung invocation stays open until its time is over
		result.TimedOut = timeout.end()
	}
	return result
}

// InvokeWith invokes a function, again and again where its retry policy says so. Where its worker is being started,
// it waits for it, as the host does. The host never cancels an invocation: the end of ctx stands for the end of the
// host.
func (h *Host) InvokeWith(ctx context.Context, name string, inv Invocation) Result {
	h.mu.Lock()
	f, known := h.functions[name]
	h.mu.Unlock()
	switch {
	case !known:
		return Result{Why: fmt.Sprintf("no function %q: the script root has no %s/function.json", name, name)}
	case f.err != nil:
		return Result{Why: fmt.Sprintf("the function %q is in error: %v", name, f.err)}
	}
	return h.attempts(ctx, f, inv)
}

// post sends the request and judges the answer.
func (r *Result) post(ctx context.Context, h *Host, w *worker, f function, body []byte) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url("/"+f.name), bytes.NewReader(body))
	if err != nil {
		r.Why = err.Error()
		return
	}
	// The header names as the host writes them, not as Go would.
	req.Header["X-Azure-Functions-InvocationId"] = []string{r.InvocationID}
	req.Header["X-Azure-Functions-HostVersion"] = []string{hostVersion}
	req.Header["User-Agent"] = []string{"Azure-Functions-Host/" + hostVersion}
	req.Header["Content-Type"] = []string{"application/json; charset=utf-8"}
	if f.kind == "httpTrigger" {
		req.Header["traceparent"] = []string{traceParent()}
	}
	client := *h.client
	if h.config.timeout > 0 {
		client.Timeout = h.config.timeout + time.Minute
	}
	res, err := client.Do(req)
	if err != nil {
		r.Why = fmt.Sprintf("the worker did not answer: %v", err)
		h.settle(ctx, w)
		return
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end, or the reading failed
	r.Status = res.StatusCode
	if r.Body, err = io.ReadAll(res.Body); err != nil {
		r.Why = fmt.Sprintf("the worker's answer broke off: %v", err)
		h.settle(ctx, w)
		return
	}
	for _, text := range r.judge(res.Header) {
		h.journal.add("logs", text)
	}
}

// timeout kills a worker whose invocation takes longer than functionTimeout.
type timeout struct{ timer *time.Timer }

func (h *Host) armTimeout(w *worker) timeout {
	if h.config.timeout == 0 {
		return timeout{}
	}
	return timeout{time.AfterFunc(h.config.timeout, w.kill)}
}

// end disarms the timeout and reports whether it had struck.
func (t timeout) end() bool { return t.timer != nil && !t.timer.Stop() }
