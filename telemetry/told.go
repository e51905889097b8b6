package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exports is what every export of a process has in common. Its exporters tell the log themselves of what fails: what a
// flush could not export, the SDK returns to who asked for the flush, unless that one has stopped waiting.
type exports struct {
	told    *faults
	stopped context.Context //nolint:containedctx // the SDK gives the last export of spans a context without an end
	stop    context.CancelCauseFunc
}

func newExports(told *faults) *exports {
	e := &exports{told: told}
	e.stopped, e.stop = context.WithCancelCause(context.Background())
	return e
}

// errOver ends an export whose time is over.
var errOver = errors.New("the time for it was over")

// spare is which part of an export's time is left for what comes after it. The exporters repeat what a receiver did not
// take, and say why it did not when their time is over: they have to end before whoever waits for them gives up.
const spare = 10

// within bounds one export.
func (e *exports) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.stopped, func() { cancel(context.Cause(e.stopped)) })
	end := func() {}
	if deadline, ok := ctx.Deadline(); ok {
		ctx, end = context.WithDeadlineCause(ctx, deadline.Add(-time.Until(deadline)/spare), errOver)
	}
	return ctx, func() {
		end()
		stop()
		cancel(nil)
	}
}

// tell logs an export's error, and marks it.
func (e *exports) tell(err error) error {
	if err == nil {
		return nil
	}
	e.told.Handle(err)
	return handled{err}
}

// handled is an error of which the log has been told.
type handled struct{ error }

// spans are exported by what it holds.
type spans struct {
	sdktrace.SpanExporter

	exports *exports
}

func (s spans) ExportSpans(ctx context.Context, ended []sdktrace.ReadOnlySpan) error {
	ctx, end := s.exports.within(ctx)
	defer end()
	return s.exports.tell(s.SpanExporter.ExportSpans(ctx, ended))
}

// metrics are exported by what it holds.
type metrics struct {
	metric.Exporter

	exports *exports
}

func (m metrics) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	ctx, end := m.exports.within(ctx)
	defer end()
	return m.exports.tell(m.Exporter.Export(ctx, data))
}
