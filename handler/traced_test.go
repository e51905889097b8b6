package handler

import (
	"context"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// The tick belongs to the trace of the invocation, where the host sent one that is one.
func TestTheInvocationsTrace(t *testing.T) {
	for _, c := range []struct{ parent, want string }{
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "4bf92f3577b34da6a3ce929d0e0e4736"},
		{"", "00000000000000000000000000000000"},
		{"nonsense", "00000000000000000000000000000000"},
		{"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00000000000000000000000000000000"},
	} {
		header := http.Header{}
		if c.parent != "" {
			header.Set("traceparent", c.parent)
		}
		if got := trace.SpanContextFromContext(traced(context.Background(), header)).TraceID().String(); got != c.want {
			t.Errorf("%q gives the trace %s, want %s", c.parent, got, c.want)
		}
	}
}
