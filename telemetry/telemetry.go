package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/rowrelay/rowrelay/telemetry/otlp"
)

// Config is what Start needs.
type Config struct {
	// Env returns a variable; "" where it is not set. The exporters read the process's own environment besides.
	Env func(string) string
	// Service, Instance and Version describe the process, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES do.
	Service, Instance, Version string
	// Registry is what metrics are exported from: the one that /metrics shows.
	Registry prometheus.Gatherer
	// Log takes a warning where exporting fails, once a minute at most.
	Log *slog.Logger
}

// Telemetry exports traces and metrics. The nil Telemetry exports nothing, and its methods return what they are given.
type Telemetry struct {
	tracer  trace.Tracer // nil: no traces
	traces  *sdktrace.TracerProvider
	metrics *metric.MeterProvider // nil: not exported
	exports *exports
	flushes flushes
}

// Start begins to export what the OTEL_ variables ask for; nil where they ask for nothing. It connects to nothing yet,
// and what is wrong with the variables is a warning: rows are relayed all the same.
func Start(ctx context.Context, cfg Config) *Telemetry {
	p := otlp.Read(cfg.Env)
	for _, text := range p.Warnings {
		cfg.Log.WarnContext(ctx, text, "event", "warning")
	}
	if !p.Traces.On && !p.Metrics.On {
		return nil
	}
	told := newFaults(cfg.Log, p.Secrets)
	otel.SetErrorHandler(told)
	otel.SetLogger(logr.Discard()) // it would quote variables, headers among them
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName(cfg.Service), semconv.ServiceVersion(cfg.Version), semconv.ServiceInstanceID(cfg.Instance),
	), resource.WithFromEnv())
	if err != nil { // of OTEL_RESOURCE_ATTRIBUTES; the rest holds
		cfg.Log.WarnContext(ctx, "OTEL_RESOURCE_ATTRIBUTES is no list of key=value pairs, and is used as far as it is understood", "event", "warning")
	}
	t := &Telemetry{exports: newExports(told)}
	if p.Traces.On {
		if exporter, err := traceExporter(ctx, p.Traces.GRPC); err != nil {
			told.Handle(fmt.Errorf("traces: %w", err))
		} else {
			t.traces = sdktrace.NewTracerProvider(append(sampling(cfg.Env), sdktrace.WithBatcher(spans{exporter, t.exports}),
				sdktrace.WithResource(about))...)
			t.tracer = t.traces.Tracer("github.com/rowrelay/rowrelay/telemetry", trace.WithInstrumentationVersion(cfg.Version),
				trace.WithSchemaURL(semconv.SchemaURL))
		}
	}
	if p.Metrics.On {
		if exporter, err := metricExporter(ctx, p.Metrics.GRPC); err != nil {
			told.Handle(fmt.Errorf("metrics: %w", err))
		} else {
			from := bridge.NewMetricProducer(bridge.WithGatherer(cfg.Registry))
			t.metrics = metric.NewMeterProvider(metric.WithResource(about),
				metric.WithReader(metric.NewPeriodicReader(metrics{exporter, t.exports},
					metric.WithProducer(from))))
		}
	}
	if t.traces == nil && t.metrics == nil {
		return nil
	}
	t.flushes.every = metricInterval(cfg.Env)
	return t
}

// sampling is the sampler where OTEL_TRACES_SAMPLER names none. The SDK's own default follows the parent, and the
// parent is the Functions host: with Application Insights it says "not sampled" of every invocation, and nothing would
// be exported. What the host says decides nothing here; the trace stays its own, so that both are found under one id.
func sampling(env func(string) string) []sdktrace.TracerProviderOption {
	if env("OTEL_TRACES_SAMPLER") != "" {
		return nil // the SDK reads it
	}
	return []sdktrace.TracerProviderOption{sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample(),
		sdktrace.WithRemoteParentNotSampled(sdktrace.AlwaysSample())))}
}

// stopping bounds the last export: a receiver that does not answer must not hold up a stop.
const stopping = 5 * time.Second

// Shutdown exports what is left, for five seconds at most. What cannot be exported by then is lost, and a warning says
// so.
func (t *Telemetry) Shutdown(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopping)
	defer cancel()
	defer time.AfterFunc(stopping-stopping/spare, func() { t.exports.stop(errOver) }).Stop()
	ended := make(chan error, 1)
	go func() { // side by side, so that one does not use up the other's time
		if t.metrics != nil {
			ended <- t.metrics.Shutdown(ctx)
			return
		}
		ended <- nil
	}()
	var err error
	if t.traces != nil {
		err = t.traces.Shutdown(ctx)
	}
	if err = errors.Join(err, <-ended); err != nil {
		otel.Handle(err)
	}
}

// flushes exports what is there after an invocation, because an instance may be frozen between two (Flex Consumption):
// the SDK's own timers do not run then.
type flushes struct {
	every time.Duration // least time between two exports of metrics

	mu      sync.Mutex
	running bool
	again   bool      // an invocation ended meanwhile
	metrics time.Time // when they were flushed last
}

// metricInterval is OTEL_METRIC_EXPORT_INTERVAL, in milliseconds; a minute by the standard.
func metricInterval(env func(string) string) time.Duration {
	if ms, err := strconv.Atoi(env("OTEL_METRIC_EXPORT_INTERVAL")); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return time.Minute
}
