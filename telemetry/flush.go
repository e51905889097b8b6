package telemetry

import (
	"context"
	"net/http"
	"time"
)

// flushing bounds one flush after an invocation.
const flushing = 5 * time.Second

// AfterInvocations begins a flush when h has answered a POST. Nobody waits for it: an instance that is frozen at once
// goes on with it when it wakes up, and the spans of one that is never woken again are lost.
func (t *Telemetry) AfterInvocations(h http.Handler) http.Handler {
	if t == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		if r.Method == http.MethodPost {
			t.flush(context.WithoutCancel(r.Context()))
		}
	})
}

// flush exports in the background: one at a time, and once more where it was asked for meanwhile.
func (t *Telemetry) flush(ctx context.Context) {
	f := &t.flushes
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running {
		f.again = true
		return
	}
	f.running = true
	go func() {
		for {
			t.export(ctx)
			f.mu.Lock()
			if !f.again {
				f.running = false
				f.mu.Unlock()
				return
			}
			f.again = false
			f.mu.Unlock()
		}
	}()
}

// export flushes spans, and metrics where their interval is over. The exporters tell the log of what fails.
func (t *Telemetry) export(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushing)
	defer cancel()
	if t.traces != nil {
		_ = t.traces.ForceFlush(ctx)
	}
	f := &t.flushes
	f.mu.Lock()
	due := t.metrics != nil && time.Since(f.metrics) >= f.every
	if due {
		f.metrics = time.Now()
	}
	f.mu.Unlock()
	if due {
		_ = t.metrics.ForceFlush(ctx)
	}
}
