package webhook_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/webhook"
)

// A request travels with the tick's trace; a single event that has one of its own keeps that.
func TestTraceHeaders(t *testing.T) {
	const request = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	own := &change.Outbox{IdempotencyKey: "k", TraceParent: trace}
	for _, c := range []struct {
		name          string
		given         string
		outbox        *change.Outbox
		events        int
		parent, state string
	}{
		{"nothing is traced", "", nil, 1, "", ""},
		{"one row", request, nil, 1, request, "shop=1"},
		{"several rows", request, nil, 3, request, "shop=1"},
		{"an event with a trace, and no state", request, own, 1, trace, ""},
		{"several events, one with a trace", request, own, 2, request, "shop=1"},
		{"an event with nonsense", request, &change.Outbox{IdempotencyKey: "k", TraceParent: "nonsense"}, 1, request,
			"shop=1"},
	} {
		r := newReceiver(t, nil)
		out := open(t, webhook.Config{URL: r.URL})
		d := outputtest.Delivery(7, c.events)
		d.TraceParent, d.TraceState = c.given, ""
		if c.given != "" {
			d.TraceState = "shop=1"
		}
		d.Events[0].Outbox = c.outbox
		if err := out.Deliver(t.Context(), d); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		header := r.seen()[0].header
		if parent, state := header.Get("traceparent"), header.Get("tracestate"); parent != c.parent || state != c.state {
			t.Errorf("%s: sent %q and %q, want %q and %q", c.name, parent, state, c.parent, c.state)
		}
		if n := len(header.Values("traceparent")); n > 1 {
			t.Errorf("%s: %d headers", c.name, n)
		}
	}
}
