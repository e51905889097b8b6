package telemetry

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/rowrelay/rowrelay/poller"
)

// Attributes of our own. The others are OpenTelemetry's semantic conventions.
const (
	attrPoller = attribute.Key("rowrelay.poller")
	attrOutput = attribute.Key("rowrelay.output")
	attrEvent  = attribute.Key("rowrelay.event")
	attrReason = attribute.Key("rowrelay.reason")
	attrBatch  = attribute.Key("rowrelay.batch.id")
	attrKind   = attribute.Key("rowrelay.batch.kind")
	attrToken  = attribute.Key("rowrelay.fencing_token")
	attrCount  = attribute.Key("rowrelay.batch.count")
	attrRows   = attribute.Key("rowrelay.events")
	attrAcked  = attribute.Key("rowrelay.events.acknowledged")
	attrReject = attribute.Key("rowrelay.events.rejected")
	attrFailed = attribute.Key("rowrelay.events.failed")
	attrDead   = attribute.Key("rowrelay.events.dead_lettered")
	attrParked = attribute.Key("rowrelay.events.parked")
	attrLate   = attribute.Key("rowrelay.events.late")
	attrEmpty  = attribute.Key("rowrelay.fetches.empty")
	attrNumber = attribute.Key("rowrelay.delivery")
	attrTries  = attribute.Key("rowrelay.attempt")
)

// About names an output, and says what is known of its destination without asking it. None of it may be a secret.
type About struct {
	// Poller and Output name it; Output is "" for the default one.
	Poller, Output string
	// Kind is output__kind.
	Kind string
	// Server is the destination's host and Port its port, 0 where it is the scheme's; "" where not known.
	Server string
	Port   int
	// Destination is the queue, or the template of the destination's name; "" where there is none.
	Destination string
}

func (a *About) attributes() []attribute.KeyValue {
	list := []attribute.KeyValue{attrPoller.String(a.Poller)}
	if a.Output != "" {
		list = append(list, attrOutput.String(a.Output))
	}
	return list
}

// Runner is what runs the ticks of a poller: one report for each output.
type Runner interface {
	Run(ctx context.Context) []poller.Report
}

// Runner returns next with a span for each tick that did something; next itself where no traces are exported.
func (t *Telemetry) Runner(next Runner) Runner {
	if t == nil || t.tracer == nil {
		return next
	}
	return &runner{t, next}
}

type runner struct {
	*Telemetry
	next Runner
}

// Run runs the ticks, and ends their spans with what their reports say: nobody knows earlier how a tick ended.
func (r *runner) Run(ctx context.Context) []poller.Report {
	all := &round{ticks: map[string]*tick{}}
	returned := false
	defer func() { // without recover: whoever does sees the stack of the panic
		if !returned {
			all.panicked()
		}
	}()
	reports := r.next.Run(context.WithValue(ctx, roundKey{}, all))
	returned = true
	for i := range reports {
		if t := all.ticks[reports[i].Output]; t != nil {
			t.end(&reports[i])
		}
	}
	return reports
}

// round holds the ticks of one Run, by output. They open side by side, and are read when all have ended.
type round struct {
	mu    sync.Mutex
	ticks map[string]*tick
}

type roundKey struct{}

// panicked ends all ticks of a Run that will not report: what they did would have no parent otherwise. What panicked is
// not told: it may hold a row. The log's line has it.
func (r *round) panicked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.ticks {
		t.begin()
		t.mu.Lock()
		t.span.SetAttributes(attrReason.String("panic"), attrEmpty.Int(t.empty))
		fail(t.span, errors.New("panic"), "panic")
		t.span.End()
		t.mu.Unlock()
	}
}

// tick is the span of one tick, begun when there is something to tell.
type tick struct {
	*feed
	parent context.Context //nolint:containedctx // holds the invocation's trace context
	began  time.Time

	mu    sync.Mutex
	ctx   context.Context //nolint:containedctx // holds the span
	span  trace.Span      // nil: nothing to tell yet
	empty int             // fetches that found nothing
}

// begin begins the span, as of the tick's own begin, and returns the context that holds it.
func (t *tick) begin() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.span == nil {
		t.ctx, t.span = t.tracer.Start(t.parent, "tick "+t.about.Poller, trace.WithTimestamp(t.began),
			trace.WithAttributes(t.about.attributes()...))
	}
	return t.ctx
}

// child is a span of what has just ended.
func (t *tick) child(name string, kind trace.SpanKind, began time.Time, err error, attrs ...attribute.KeyValue) {
	_, span := t.tracer.Start(t.begin(), name+" "+t.about.Poller, trace.WithTimestamp(began), trace.WithSpanKind(kind),
		trace.WithAttributes(t.about.attributes()...), trace.WithAttributes(attrs...))
	if err != nil {
		fail(span, err, faultEvent(err))
	}
	span.End()
}

// end tells how the tick ended, where there is anything to tell.
func (t *tick) end(r *poller.Report) {
	if r.Failed() {
		t.begin()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.span == nil {
		return
	}
	t.span.SetAttributes(attrEvent.String(string(r.Event)), attrRows.Int(r.Rows), attrCount.Int(len(r.Batches)),
		attrEmpty.Int(t.empty))
	if r.BatchID != "" {
		t.span.SetAttributes(attrBatch.String(r.BatchID), attrToken.Int64(int64(r.Token)))
	}
	for key, n := range map[attribute.Key]int{attrReject: r.Rejected, attrDead: len(r.DeadLettered), attrParked: r.Parked,
		attrLate: r.Late} {
		if n > 0 {
			t.span.SetAttributes(key.Int(n))
		}
	}
	if r.Failed() {
		kind := string(r.Event)
		if r.Reason != "" {
			t.span.SetAttributes(attrReason.String(r.Reason))
			kind = r.Reason
		}
		err := r.Err
		if err == nil {
			err = errors.New(string(r.Event))
		}
		fail(t.span, err, kind)
	}
	t.span.End(trace.WithTimestamp(r.Ended))
}

// fail gives a span the error's text as the log has it. Exceptions as span events are not recorded: they would hold it
// twice.
func fail(span trace.Span, err error, kind string) {
	span.SetStatus(codes.Error, line(err))
	span.SetAttributes(semconv.ErrorTypeKey.String(kind))
}

// faultEvent is the event that an error ends its tick as; _OTHER is the convention's word for what has no name.
func faultEvent(err error) string {
	var fault *poller.Fault
	if errors.As(err, &fault) {
		return string(fault.Event)
	}
	return "_OTHER"
}

// fails reports whether an error is a failure: that another instance holds the lease is none.
func fails(err error) bool {
	var fault *poller.Fault
	return err != nil && (!errors.As(err, &fault) || fault.Event.Fails())
}

type feed struct {
	*Telemetry
	next  poller.Feed
	about About
}
