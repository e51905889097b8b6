package handler

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rowrelay/rowrelay/poller"
)

// Metrics are read off the Reports; nothing in the tick knows of them. Every series has the labels poller and output.
//
//	rowrelay_ticks_total{event}              ticks, by how they ended
//	rowrelay_batches_total                   settled batches
//	rowrelay_events_total                    acknowledged events
//	rowrelay_failures_total{reason}          failed ticks: unavailable, refused, impossible, panic, or the tick's event
//	rowrelay_fetch_duration_seconds          per batch, histogram
//	rowrelay_deliver_duration_seconds        per batch, histogram
//	rowrelay_commit_duration_seconds         per batch, histogram
//	rowrelay_batch_size                      events per batch, histogram
//	rowrelay_lag_seconds                     age of the newest acknowledged event while there is more to come; 0 when
//	                                         drained, and where another instance does the work
//	rowrelay_last_success_timestamp_seconds  when a tick of this process last saw the source and settled what it saw;
//	                                         0 before the first
//	rowrelay_lease_staleness_seconds         age of another holder's heartbeat beyond its ttl; 0 when there is none
//	rowrelay_null_cursor_rows                rows that are never delivered because their cursor is NULL, when last counted
type Metrics struct {
	log *slog.Logger

	ticks, batches, events, failures *prometheus.CounterVec
	fetch, deliver, commit, size     *prometheus.HistogramVec
	lag, success, staleness, nulls   *prometheus.GaugeVec
}

// NewMetrics returns the metrics, not registered yet. Faults in measuring are logged to log.
func NewMetrics(log *slog.Logger) *Metrics {
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rowrelay_" + name, Help: help}, labels(more))
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rowrelay_" + name, Help: help}, labels(nil))
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "rowrelay_" + name, Help: help, Buckets: buckets}, labels(nil))
	}
	// From a loopback round trip to a statement's timeout, in seconds.
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	sizes := []float64{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}
	return &Metrics{
		log:       log,
		ticks:     counter("ticks_total", "Ticks, by the event they ended as.", "event"),
		batches:   counter("batches_total", "Settled batches."),
		events:    counter("events_total", "Acknowledged events."),
		failures:  counter("failures_total", "Failed ticks, by reason.", "reason"),
		fetch:     histogram("fetch_duration_seconds", "Time to fetch a batch.", seconds),
		deliver:   histogram("deliver_duration_seconds", "Time to deliver a batch.", seconds),
		commit:    histogram("commit_duration_seconds", "Time to commit a batch.", seconds),
		size:      histogram("batch_size", "Events in a batch.", sizes),
		lag:       gauge("lag_seconds", "Age of the newest acknowledged event while there is more to come; 0 when drained."),
		success:   gauge("last_success_timestamp_seconds", "When a tick last succeeded, in Unix time; 0 before the first."),
		staleness: gauge("lease_staleness_seconds", "Age of another holder's heartbeat beyond its ttl."),
		nulls:     gauge("null_cursor_rows", "Rows whose cursor is NULL, when last counted: they are never delivered."),
	}
}

func labels(more []string) []string { return append([]string{"poller", "output"}, more...) }

// endings are all events of a tick: their series exist from the start, so that rate() sees the first increase.
var endings = []poller.Event{
	poller.TickComplete, poller.FetchEmpty, poller.LeaseAcquireSkipped, poller.Paused, poller.LeaseAcquireFailed,
	poller.CheckpointLoadFailed, poller.FetchFailed, poller.NormalizeFailed, poller.HandlerFailed, poller.CommitFailed,
	poller.LostLease, poller.FingerprintMismatch, poller.SourceGap, poller.ConfigInvalid,
}

// Prepare creates every series of one output.
func (m *Metrics) Prepare(name, output string) {
	for _, event := range endings {
		m.ticks.WithLabelValues(name, output, string(event))
		if event.Fails() {
			m.failures.WithLabelValues(name, output, string(event))
		}
	}
	for _, reason := range []string{
		poller.Unavailable.String(), poller.Refused.String(), poller.Impossible.String(), reasonPanic,
	} {
		m.failures.WithLabelValues(name, output, reason)
	}
	for _, c := range []*prometheus.CounterVec{m.batches, m.events} {
		c.WithLabelValues(name, output)
	}
	for _, c := range []*prometheus.HistogramVec{m.fetch, m.deliver, m.commit, m.size} {
		c.WithLabelValues(name, output)
	}
	for _, c := range []*prometheus.GaugeVec{m.lag, m.success, m.staleness, m.nulls} {
		c.WithLabelValues(name, output)
	}
}

// Observe measures one tick of one output. The library panics on misuse; a tick that is done is not undone for that.
func (m *Metrics) Observe(r *poller.Report) {
	defer func() {
		if p := recover(); p != nil {
			m.log.Warn("a tick was not measured", "poller", r.Poller, "output", r.Output, "error", p)
		}
	}()
	p, o := r.Poller, r.Output
	m.ticks.WithLabelValues(p, o, string(r.Event)).Inc()
	m.batches.WithLabelValues(p, o).Add(float64(len(r.Batches)))
	m.events.WithLabelValues(p, o).Add(float64(r.Rows))
	for _, b := range r.Batches {
		m.fetch.WithLabelValues(p, o).Observe(b.Fetch.Seconds())
		m.deliver.WithLabelValues(p, o).Observe(b.Deliver.Seconds())
		m.commit.WithLabelValues(p, o).Observe(b.Commit.Seconds())
		m.size.WithLabelValues(p, o).Observe(float64(b.Rows))
	}
	m.staleness.WithLabelValues(p, o).Set(r.Staleness.Seconds())
	if r.NullCursors >= 0 {
		m.nulls.WithLabelValues(p, o).Set(float64(r.NullCursors))
	}
	switch {
	case r.Failed():
		m.failures.WithLabelValues(p, o, reason(r)).Inc()
		if r.Lag > 0 { // otherwise the tick learned nothing about it
			m.lag.WithLabelValues(p, o).Set(r.Lag.Seconds())
		}
	case r.Event == poller.TickComplete, r.Event == poller.FetchEmpty:
		m.lag.WithLabelValues(p, o).Set(r.Lag.Seconds())
		m.success.WithLabelValues(p, o).Set(float64(r.Ended.UnixMilli()) / 1000)
	default:
		// Skipped or paused: a lag that this process saw earlier is not its to judge any more, and would alarm for ever.
		m.lag.WithLabelValues(p, o).Set(0)
	}
}

func reason(r *poller.Report) string {
	if r.Reason != "" {
		return r.Reason
	}
	return string(r.Event)
}

// Describe sends the descriptions of all metrics (prometheus.Collector).
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(out)
	}
}

// Collect sends all series (prometheus.Collector).
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(out)
	}
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{
		m.ticks, m.batches, m.events, m.failures, m.fetch, m.deliver, m.commit, m.size, m.lag, m.success, m.staleness, m.nulls,
	}
}

// MetricsHandler serves the Prometheus exposition; cmd mounts it on the standalone listener, and the handler itself on
// the custom handler's port. A collector that fails costs its own series, not the rest.
func (h *Handler) MetricsHandler() http.Handler {
	return promhttp.HandlerFor(h.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
	})
}
