package telemetry

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Output returns next with a span for each request, whose context travels with the delivery; next itself where no
// traces are exported.
func (t *Telemetry) Output(next poller.Output, about About) poller.Output {
	if t == nil || t.tracer == nil {
		return next
	}
	o := &output{Telemetry: t, next: next, name: "request " + about.Poller, kind: trace.SpanKindProducer}
	o.attributes = append(about.attributes(), system(&about)...)
	switch about.Kind {
	case "http":
		o.kind = trace.SpanKindClient
	case "stdout":
		o.kind = trace.SpanKindInternal
	}
	return o
}

type output struct {
	*Telemetry
	next       poller.Output
	name       string
	kind       trace.SpanKind
	attributes []attribute.KeyValue
}

// most is how many span links the SDK keeps by default.
const most = 128

// Deliver delivers in a span. An event of an outbox may have a trace context of its own: that is its producer's, it
// travels with the event, and the span is linked to it. Every other event travels with the span's.
func (o *output) Deliver(ctx context.Context, d change.Delivery) error {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return o.next.Deliver(ctx, d) // no tick of ours
	}
	ctx, span := o.tracer.Start(ctx, o.name, trace.WithSpanKind(o.kind), trace.WithAttributes(o.attributes...),
		trace.WithLinks(links(d.Events)...),
		trace.WithAttributes(semconv.MessagingBatchMessageCount(len(d.Events)), attrBatch.String(d.BatchID),
			attrToken.Int64(int64(d.Token)),
			attrNumber.Int64(int64(d.Number)), attrTries.Int(d.Attempt)))
	defer func() { span.End() }() // not End itself: in a panic it would record what panicked
	travels := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, travels)
	d.TraceParent, d.TraceState = travels["traceparent"], travels["tracestate"]
	err := o.next.Deliver(ctx, d)
	if err != nil {
		o.failed(span, &d, err)
	}
	return err
}

func (o *output) failed(span trace.Span, d *change.Delivery, err error) {
	kind := poller.Unavailable.String()
	var said *poller.DeliveryError
	if errors.As(err, &said) && len(said.Failed) > 0 {
		first := said.Failed[0]
		kind = first.Cause.String()
		if first.Status != 0 {
			span.SetAttributes(semconv.HTTPResponseStatusCode(first.Status))
		}
		span.SetAttributes(attrFailed.Int(min(len(said.Failed), len(d.Events))))
	}
	fail(span, err, kind)
}

// links are the trace contexts that events bring with them.
func links(events []change.Event) []trace.Link {
	var list []trace.Link
	for i := range events {
		own := events[i].Outbox
		if own == nil || own.TraceParent == "" || len(list) == most {
			continue
		}
		ctx := propagation.TraceContext{}.Extract(context.Background(),
			propagation.MapCarrier{"traceparent": own.TraceParent, "tracestate": own.TraceState})
		if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
			list = append(list, trace.Link{SpanContext: sc})
		}
	}
	return list
}

// system says what kind of destination it is, in the conventions' words.
func system(a *About) []attribute.KeyValue {
	var list []attribute.KeyValue
	if a.Server != "" {
		list = append(list, semconv.ServerAddress(a.Server))
	}
	if a.Port != 0 {
		list = append(list, semconv.ServerPort(a.Port))
	}
	switch a.Kind {
	case "http":
		return append(list, semconv.HTTPRequestMethodPost)
	case "stdout", "sql":
		return list
	case "rabbitmq":
		list = append(list, semconv.MessagingSystemRabbitMQ)
	case "kafka":
		list = append(list, semconv.MessagingSystemKafka)
	case "servicebus":
		list = append(list, semconv.MessagingSystemServiceBus)
	case "eventhubs":
		list = append(list, semconv.MessagingSystemEventHubs)
	case "queue":
		list = append(list, semconv.MessagingSystemKey.String("azure_storage_queue")) // the conventions have no word for it
	}
	list = append(list, semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("send"))
	switch {
	case a.Destination == "":
	case strings.Contains(a.Destination, "{"):
		list = append(list, semconv.MessagingDestinationTemplate(a.Destination))
	default:
		list = append(list, semconv.MessagingDestinationName(a.Destination))
	}
	return list
}
