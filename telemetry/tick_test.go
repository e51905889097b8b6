package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

func event(n int) change.Event {
	return change.Event{
		ID: fmt.Sprint("id", n), Key: fmt.Appendf(nil, `{"id":%d}`, n), OrderKey: fmt.Appendf(nil, `{"id":%d}`, n),
		Cursor: change.Cursor(fmt.Sprintf(`{"kind":"test","value":%d}`, n)), Row: []byte(`{"card":"planted-row-value"}`),
		Time: time.Now(),
	}
}

// recorder is a Telemetry whose spans are kept in memory.
func recorder() (*Telemetry, *tracetest.InMemoryExporter) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	return &Telemetry{traces: provider, tracer: provider.Tracer("test")}, spans
}

// tickOf runs one tick over what t makes of feed and output.
func tickOf(tb testing.TB, ctx context.Context, t *Telemetry, from poller.Feed, to poller.Output) poller.Report {
	tb.Helper()
	about := About{Poller: "orders", Output: "audit", Kind: "http", Server: "shop.example", Port: 8443}
	relay := pollertest.Relay(tb, t.Feed(from, about), t.Output(to, about), func(c *poller.Config) {
		c.App, c.Output, c.Concurrency, c.RequestEvents, c.Retries = "test", "audit", 1, 10, 2
	})
	return t.Runner(poller.New(relay)).Run(ctx)[0]
}

const invoked = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func invocation(parent string) context.Context {
	return propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
}

// named returns the spans of a name, which must be so many.
func named(t *testing.T, spans tracetest.SpanStubs, name string, want int) tracetest.SpanStubs {
	t.Helper()
	var found tracetest.SpanStubs
	for _, s := range spans {
		if s.Name == name+" orders" {
			found = append(found, s)
		}
	}
	if len(found) != want {
		t.Fatalf("%d spans %q, want %d: %v", len(found), name, want, spans)
	}
	return found
}

func value(s tracetest.SpanStub, key string) any {
	for _, a := range s.Attributes {
		if a.Key == attribute.Key(key) {
			return a.Value.AsInterface()
		}
	}
	return nil
}

func TestATickThatDeliversIsATrace(t *testing.T) {
	tel, spans := recorder()
	to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
		if d.Attempt > 1 {
			return nil
		}
		return poller.FailAll(2, poller.Unavailable, 503, errors.New("shop.example answered 503\nand more"))
	})
	from := &pollertest.Pages{Batches: [][]change.Event{{event(1), event(2)}},
		Origin: poller.Origin{Engine: "postgres", Table: "public.orders"}}
	r := tickOf(t, invocation(invoked), tel, from, to)
	if r.Failed() {
		t.Fatal(r.Err)
	}
	all := spans.GetSpans()
	tick, fetch, commit := named(t, all, "tick", 1)[0], named(t, all, "fetch", 1)[0], named(t, all, "commit", 1)[0]
	requests := named(t, all, "request", 2)
	if got := tick.Parent.SpanID().String(); got != "00f067aa0ba902b7" ||
		tick.SpanContext.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("the tick's parent is %s in %s, not the invocation", got, tick.SpanContext.TraceID())
	}
	for _, child := range append(requests, fetch, commit) {
		if child.Parent.SpanID() != tick.SpanContext.SpanID() {
			t.Errorf("%s is no child of the tick", child.Name)
		}
		if child.StartTime.Before(tick.StartTime) || child.EndTime.After(tick.EndTime) {
			t.Errorf("%s is not within the tick", child.Name)
		}
	}
	for i, want := range []struct {
		span tracetest.SpanStub
		key  string
		want any
	}{
		{tick, "rowrelay.poller", "orders"}, {tick, "rowrelay.output", "audit"}, {tick, "rowrelay.event", "tick_complete"},
		{tick, "rowrelay.events", int64(2)}, {tick, "rowrelay.batch.id", "batch_1"},
		{tick, "rowrelay.fencing_token", int64(7)},
		{fetch, "db.system.name", "postgresql"}, {fetch, "db.collection.name", "public.orders"},
		{fetch, "db.response.returned_rows", int64(2)},
		{requests[0], "http.request.method", "POST"}, {requests[0], "server.address", "shop.example"},
		{requests[0], "server.port", int64(8443)},
		{requests[0], "http.response.status_code", int64(503)}, {requests[0], "error.type", "unavailable"},
		{requests[0], "rowrelay.attempt", int64(1)},
		{requests[1], "messaging.batch.message_count", int64(2)}, {requests[1], "rowrelay.attempt", int64(2)},
		{requests[1], "error.type", nil},
		{commit, "rowrelay.events.acknowledged", int64(2)},
	} {
		if got := value(want.span, want.key); got != want.want {
			t.Errorf("case %d: %s of %s is %v, want %v", i, want.key, want.span.Name, got, want.want)
		}
	}
	if s := requests[0].Status; s.Code != codes.Error || s.Description != "shop.example answered 503" {
		t.Errorf("the failed request's status is %v", s)
	}
	if requests[0].SpanKind != trace.SpanKindClient || fetch.SpanKind != trace.SpanKindClient ||
		tick.SpanKind != trace.SpanKindInternal {
		t.Error("the kinds are wrong")
	}
	for i, d := range to.Calls {
		if want := fmt.Sprintf("00-%s-%s-01", requests[i].SpanContext.TraceID(),
			requests[i].SpanContext.SpanID()); d.TraceParent != want {
			t.Errorf("delivery %d travelled with %q, want %q", i, d.TraceParent, want)
		}
	}
	if text := fmt.Sprintf("%+v", all); strings.Contains(text, "planted-row-value") ||
		strings.Contains(text, `"kind":"test"`) {
		t.Error("a span holds a row or a position")
	}
}

func TestWhatFoundNothingLeavesNoSpan(t *testing.T) {
	fault := func(e poller.Event) error { return &poller.Fault{Event: e, Err: errors.New("why")} }
	for _, test := range []struct {
		name string
		from *pollertest.Pages
		want string // the tick's error.type, "" for no span
	}{
		{"idle", &pollertest.Pages{}, ""},
		{"another has the lease", &pollertest.Pages{NextErr: fault(poller.LeaseAcquireSkipped)}, ""},
		{"paused", &pollertest.Pages{OpenErr: fault(poller.Paused)}, ""},
		{"opening fails", &pollertest.Pages{OpenErr: fault(poller.CheckpointLoadFailed)}, "checkpoint_load_failed"},
		{"fetching fails", &pollertest.Pages{NextErr: fault(poller.FetchFailed)}, "fetch_failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tel, spans := recorder()
			tickOf(t, context.Background(), tel, test.from, pollertest.NewSink(t, nil))
			all := spans.GetSpans()
			if test.want == "" {
				if len(all) > 0 {
					t.Fatalf("there are spans: %v", all)
				}
				return
			}
			tick := named(t, all, "tick", 1)[0]
			if got := value(tick, "error.type"); got != test.want || tick.Status.Code != codes.Error ||
				tick.Status.Description != "why" {
				t.Errorf("the tick ended as %v, %v", got, tick.Status)
			}
		})
	}
}

func TestACommitThatFailsIsASpan(t *testing.T) {
	tel, spans := recorder()
	tickOf(t, context.Background(), tel,
		&pollertest.Pages{Batches: [][]change.Event{{event(1)}},
			SettleErr: &poller.Fault{Event: poller.CommitFailed, Err: errors.New("the store is away")}}, pollertest.NewSink(t,
			nil))
	commit := named(t, spans.GetSpans(), "commit", 1)[0]
	if value(commit, "error.type") != "commit_failed" ||
		!strings.Contains(commit.Status.Description, "the store is away") {
		t.Errorf("the commit is %v, %v", commit.Attributes, commit.Status)
	}
}

func TestAnEventsOwnTraceIsItsProducers(t *testing.T) {
	tel, spans := recorder()
	own := event(1)
	own.Outbox = &change.Outbox{TraceParent: invoked, TraceState: "shop=1", IdempotencyKey: "k"}
	bad := event(2)
	bad.Outbox = &change.Outbox{TraceParent: "nonsense", IdempotencyKey: "l"}
	none := event(3)
	to := pollertest.NewSink(t, nil)
	tickOf(t, context.Background(), tel, &pollertest.Pages{Batches: [][]change.Event{{own, bad, none}}}, to)
	request := named(t, spans.GetSpans(), "request", 1)[0]
	if len(request.Links) != 1 || request.Links[0].SpanContext.SpanID().String() != "00f067aa0ba902b7" {
		t.Errorf("the request is linked to %v", request.Links)
	}
	d := to.Calls[0]
	for i, want := range []string{invoked, "nonsense", d.TraceParent} {
		got := ""
		for _, a := range d.Attributes(nil, &d.Events[i]) {
			if a.Name == "traceparent" {
				got = a.Value
			}
		}
		if got != want || got == "" {
			t.Errorf("event %d travels with %q, want %q", i, got, want)
		}
	}
}

func TestAnOutputOutsideATickIsNotTraced(t *testing.T) {
	tel, spans := recorder()
	to := pollertest.NewSink(t, nil)
	if err := tel.Output(to, About{Poller: "orders"}).Deliver(context.Background(),
		change.Delivery{Events: []change.Event{event(1)}}); err != nil {
		t.Fatal(err)
	}
	if len(spans.GetSpans()) != 0 || to.Calls[0].TraceParent != "" {
		t.Error("a delivery that no tick of ours made is traced")
	}
}

// What is not configured costs nothing: the very parts come back.
func TestNothingDecoratesWhenNothingIsConfigured(t *testing.T) {
	var none *Telemetry
	from, to := &pollertest.Pages{}, pollertest.NewSink(t, nil)
	p := poller.New()
	if none.Feed(from, About{}) != poller.Feed(from) || none.Output(to, About{}) != poller.Output(to) ||
		none.Runner(p) != Runner(p) {
		t.Error("the nil Telemetry decorates")
	}
	metricsOnly := &Telemetry{}
	if metricsOnly.Feed(from, About{}) != poller.Feed(from) || metricsOnly.Output(to, About{}) != poller.Output(to) ||
		metricsOnly.Runner(p) != Runner(p) {
		t.Error("without traces, it decorates")
	}
	none.Shutdown(context.Background())
}

// BenchmarkTick is a tick of 100 batches with 10 events each: "off" is what runs where nothing is configured.
func BenchmarkTick(b *testing.B) {
	tel := &Telemetry{}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()))
	on := &Telemetry{traces: provider, tracer: provider.Tracer("bench")}
	batch := make([]change.Event, 10)
	for i := range batch {
		batch[i] = event(i)
	}
	for _, bench := range []struct {
		name string
		tel  *Telemetry
	}{{"bare", nil}, {"off", tel}, {"on", on}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				from := &pollertest.Pages{Batches: make([][]change.Event, 100)}
				for i := range from.Batches {
					from.Batches[i] = batch
				}
				tickOf(b, context.Background(), bench.tel, from, pollertest.NewSink(b, nil))
			}
		})
	}
}
