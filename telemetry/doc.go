// Package telemetry exports what ticks do by OpenTelemetry: traces, and the metrics of the Prometheus registry, through
// OTLP, as the standard OTEL_ variables say (docs/observability.md).
//
// Traces are made by decorators around a poller's Runner, Feed, Session and Output; the poller knows nothing of them. A
// nil *Telemetry decorates nothing: where nothing is configured, a tick runs the very code that it ran without this
// package.
//
//	tick     one tick of one output, child of the invocation's W3C trace context where the host sent one
//	├─ fetch    one fetch that brought something, or failed
//	├─ request  one attempt at one request; its context travels to the destination
//	└─ commit   one settlement
//
// One rule bounds the number of spans: what found nothing and did not fail leaves none. An idle poller looks once a
// second, and such looks would be nearly all that a trace store holds. So the tick's span is begun (with the time at
// which the tick began) when the first batch with events comes, or when something fails; rowrelay_ticks_total counts
// the others.
//
// Spans hold names, counts, the batch id, the fencing token and the text of an error as the log has it. They never hold
// rows, keys, positions (which hold keys), headers, nor a URL's path or query.
package telemetry
