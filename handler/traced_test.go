package handler

import (
	"context"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// The tick belongs to the trace of the invocation, where the host sent one that is one.
func TestTheInvocationsTrace(t *testing.T) {
	const invoked, none = "4bf92f3577b34da6a3ce929d0e0e4736", "00000000000000000000000000000000"
	for _, c := range []struct {
		parent, want string
		sampled      bool
	}{
		{"00-" + invoked + "-00f067aa0ba902b7-01", invoked, true},
		// the host with Application Insights; telemetry records it all the same
		{"00-" + invoked + "-00f067aa0ba902b7-00", invoked, false},
		{"", none, false},
		{"nonsense", none, false},
		{"00-" + none + "-00f067aa0ba902b7-01", none, false},
	} {
		header := http.Header{}
		if c.parent != "" {
			header.Set("traceparent", c.parent)
		}
		got := trace.SpanContextFromContext(traced(context.Background(), header))
		if got.TraceID().String() != c.want || got.IsSampled() != c.sampled {
			t.Errorf("%q gives the trace %s, sampled %v; want %s, %v", c.parent, got.TraceID(), got.IsSampled(), c.want,
				c.sampled)
		}
	}
}
