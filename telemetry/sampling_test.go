package telemetry

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// The Functions host with Application Insights says "not sampled" of each invocation. Its ticks are recorded all the
// same, in its trace, unless a sampler is named.
func TestWhichInvocationsAreRecorded(t *testing.T) {
	const unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
	for _, test := range []struct {
		name, parent, sampler string
		recorded              bool
	}{
		{"sampled", invoked, "", true},
		{"not sampled", unsampled, "", true},
		{"no invocation", "", "", true},
		{"not sampled, and the variable follows", unsampled, "parentbased_always_on", false},
		{"sampled, and the variable follows", invoked, "parentbased_always_on", true},
		{"sampled, and the variable declines", invoked, "always_off", false},
		{"not sampled, and the variable takes all", unsampled, "always_on", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("OTEL_TRACES_SAMPLER", test.sampler) // the SDK reads it there
			spans := tracetest.NewInMemoryExporter()
			provider := sdktrace.NewTracerProvider(append(sampling(variables("OTEL_TRACES_SAMPLER", test.sampler)),
				sdktrace.WithSyncer(spans))...)
			to := pollertest.NewSink(t, nil)
			tickOf(t, invocation(test.parent), &Telemetry{traces: provider, tracer: provider.Tracer("test")},
				&pollertest.Pages{Batches: [][]change.Event{{event(1)}}}, to)
			all := spans.GetSpans()
			flag := to.Calls[0].TraceParent[len(to.Calls[0].TraceParent)-3:]
			if !test.recorded {
				if len(all) != 0 || flag != "-00" {
					t.Errorf("%d spans, and the destination is told %s", len(all), flag)
				}
				return
			}
			tick := named(t, all, "tick", 1)[0]
			named(t, all, "request", 1)
			if flag != "-01" {
				t.Errorf("the destination is told %s", flag)
			}
			if invoked := test.parent != ""; tick.Parent.IsValid() != invoked ||
				invoked && tick.SpanContext.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" {
				t.Errorf("the tick is in %s, below %s", tick.SpanContext.TraceID(), tick.Parent.SpanID())
			}
		})
	}
}
