package handler

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowrelay/rowrelay/poller"
)

// Metrics are read off the Reports; nothing in the tick knows of them. Every series has the labels poller and output.
//
//	rowrelay_ticks_total{event}              ticks, by how they ended
//	rowrelay_batches_total                   settled batches
//	rowrelay_events_total                    acknowledged events
//	rowrelay_failures_total{reason}          failed ticks: refused, impossible, panic, one of poller.OutageReasons, or the
//	                                         tick's event
//	rowrelay_fetch_duration_seconds          per batch, histogram
//	rowrelay_deliver_duration_seconds        per batch, histogram
//	rowrelay_commit_duration_seconds         per batch, histogram
//	rowrelay_batch_size                      events per batch, histogram
//	rowrelay_delivery_latency_seconds        from the time in the cursor to the destination's acceptance, per event,
//	                                         histogram; empty where the cursor is no time, and of backfills
//	rowrelay_lag_seconds                     age of the newest acknowledged event while there is more to come; 0 when
//	                                         drained, where another instance does the work, and where the cursor is no time
//	rowrelay_last_drained_timestamp_seconds  when a tick of this process last had delivered every row it could see;
//	                                         0 before the first. It holds for every cursor, and ages while rows wait, also
//	                                         in an outage. Outboxes do not have it: see outboxMetrics
//	rowrelay_last_success_timestamp_seconds  when a tick of this process last saw the source and settled what it saw;
//	                                         0 before the first
//	rowrelay_lease_staleness_seconds         age of another holder's heartbeat beyond its ttl; 0 when there is none
//	rowrelay_null_cursor_rows                rows that are never delivered because their cursor is NULL, when last counted
//	rowrelay_paused                          1 while an operator has the poller paused
//	rowrelay_parked                          parked events, and those that wait for them
//	rowrelay_requests_total{answer}          requests, repetitions included: accepted, partly, none, or a failure's status
//	rowrelay_filtered_total                  events that output__jq left out
//	rowrelay_rejected_total                  attempts that were held against events
//	rowrelay_deadlettered_total{reason}      events given up: refused, impossible
//	rowrelay_parked_gone_total               parked events whose row was found gone
//	rowrelay_held_back_seconds               how long rows have been held back, by an open transaction or a full memory
//	rowrelay_late_rows_total                 late rows: they became visible below the position
//	rowrelay_left_alone_seconds              how long a failing source or destination is not asked any more
//	rowrelay_remembered_rows                 rows in the memory of late commits
//	rowrelay_skipped_rows_total              rows that operators skipped by advancing the checkpoint: data loss. It begins
//	                                         with the sum over the skips that the state document remembers (the last ten),
//	                                         when a tick of this process first reads it, also one that fails, and grows
//	                                         with each new one; one that could not be counted counts as 1. So a restart
//	                                         repeats the value and does not show as an increase, and a skip that was made
//	                                         while no process ran does.
//	                                         Each instance shows all skips: take the max over instances, not the sum
//
// What only one instance knows (lag, parked, held back, remembered) is 0 on those where another one is at work.
// Pollers of the mode outbox have more: see outboxMetrics.
type Metrics struct {
	log *slog.Logger
	outboxMetrics

	ticks, batches, events, failures, requests            *prometheus.CounterVec
	filtered, rejected, deadLettered, gone, late, skipped *prometheus.CounterVec
	fetch, deliver, commit, size, latency                 *prometheus.HistogramVec
	lag, drained, success, staleness, nulls               *prometheus.GaugeVec
	paused, parked, heldBack, remembered                  *prometheus.GaugeVec
	leftAlone                                             *prometheus.GaugeVec

	mu sync.Mutex
	// skips is, for each poller and output, when the last skip was made that is counted.
	skips map[[2]string]time.Time
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
	// From a poll interval to a backlog of a day.
	ages := []float64{.025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 86400}
	sizes := []float64{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}
	return &Metrics{
		log:           log,
		outboxMetrics: newOutboxMetrics(),
		skips:         map[[2]string]time.Time{},
		ticks:         counter("ticks_total", "Ticks, by the event they ended as.", "event"),
		batches:       counter("batches_total", "Settled batches."),
		events:        counter("events_total", "Acknowledged events."),
		failures:      counter("failures_total", "Failed ticks, by reason.", "reason"),
		fetch:         histogram("fetch_duration_seconds", "Time to fetch a batch.", seconds),
		deliver:       histogram("deliver_duration_seconds", "Time to deliver a batch.", seconds),
		commit:        histogram("commit_duration_seconds", "Time to commit a batch.", seconds),
		size:          histogram("batch_size", "Events in a batch.", sizes),
		latency: histogram("delivery_latency_seconds",
			"From the time in an event's cursor until the destination accepted it; only where the cursor is a time.", ages),
		lag: gauge("lag_seconds",
			"Age of the newest acknowledged event while there is more to come; 0 when drained, and where the cursor is no time."),
		drained: gauge("last_drained_timestamp_seconds",
			"Unix time at which the poller last had delivered every row it could see; 0 before the first time."),
		success: gauge("last_success_timestamp_seconds",
			"When a tick last succeeded, in Unix time; 0 before the first."),
		staleness: gauge("lease_staleness_seconds", "Age of another holder's heartbeat beyond its ttl."),
		nulls:     gauge("null_cursor_rows", "Rows whose cursor is NULL, when last counted: they are never delivered."),
		paused:    gauge("paused", "1 while an operator has the poller paused."),
		parked:    gauge("parked", "Parked events, and those that wait for them."),
		heldBack: gauge("held_back_seconds",
			"How long rows have been held back by an open transaction or a full memory."),
		leftAlone: gauge("left_alone_seconds",
			"How long a failing source or destination is not asked any more, as of the last tick."),
		remembered:   gauge("remembered_rows", "Rows in the memory of late commits."),
		requests:     counter("requests_total", "Requests to the destination, by its answer.", "answer"),
		filtered:     counter("filtered_total", "Events that output__jq left out; they count as delivered."),
		rejected:     counter("rejected_total", "Attempts held against events."),
		deadLettered: counter("deadlettered_total", "Events given up, by reason.", "reason"),
		gone:         counter("parked_gone_total", "Parked events whose row was found gone."),
		late:         counter("late_rows_total", "Late rows: they became visible below the position."),
		skipped: counter("skipped_rows_total",
			"Rows that operators skipped by advancing the checkpoint, as far as the state document remembers."),
	}
}

func labels(more []string) []string { return append([]string{"poller", "output"}, more...) }

// endings are all events of a tick: their series exist from the start, so that rate() sees the first increase.
var endings = []poller.Event{
	poller.TickComplete, poller.FetchEmpty, poller.LeaseAcquireSkipped, poller.Paused, poller.LeaseAcquireFailed,
	poller.CheckpointLoadFailed, poller.FetchFailed, poller.NormalizeFailed, poller.HandlerFailed, poller.CommitFailed,
	poller.LostLease, poller.FingerprintMismatch, poller.SourceGap, poller.StateGone,
	poller.ConfigInvalid,
}

// Prepare creates every series of one output.
func (m *Metrics) Prepare(name, output string) {
	for _, event := range endings {
		m.ticks.WithLabelValues(name, output, string(event))
		if event.Fails() {
			m.failures.WithLabelValues(name, output, string(event))
		}
	}
	for _, reason := range append(poller.OutageReasons(),
		poller.Refused.String(), poller.Impossible.String(), reasonPanic) {
		m.failures.WithLabelValues(name, output, reason)
	}
	for _, answer := range []string{poller.AnsweredWell, poller.AnsweredInPart, poller.Unanswered} {
		m.requests.WithLabelValues(name, output, answer)
	}
	for _, reason := range []string{poller.Refused.String(), poller.Impossible.String()} {
		m.deadLettered.WithLabelValues(name, output, reason)
	}
	for _, c := range []*prometheus.CounterVec{m.batches, m.events, m.filtered, m.rejected, m.gone, m.late} {
		c.WithLabelValues(name, output)
	}
	for _, c := range []*prometheus.HistogramVec{m.fetch, m.deliver, m.commit, m.size, m.latency} {
		c.WithLabelValues(name, output)
	}
	for _, c := range []*prometheus.GaugeVec{m.lag, m.success, m.staleness, m.nulls, m.paused, m.parked, m.heldBack,
		m.remembered, m.leftAlone} {
		c.WithLabelValues(name, output)
	}
}

// PrepareDrained creates the series that outboxes do not have.
func (m *Metrics) PrepareDrained(name string, outputs []string) {
	for _, output := range outputs {
		m.drained.WithLabelValues(name, output)
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
	for age, n := range r.Ages {
		for latency := m.latency.WithLabelValues(p, o); n > 0; n-- {
			latency.Observe(age.Seconds())
		}
	}
	for answer, n := range r.Answers {
		m.requests.WithLabelValues(p, o, answer).Add(float64(n))
	}
	m.staleness.WithLabelValues(p, o).Set(r.Staleness.Seconds())
	if r.NullCursors >= 0 {
		m.nulls.WithLabelValues(p, o).Set(float64(r.NullCursors))
	}
	m.leftAlone.WithLabelValues(p, o).Set(leftAlone(r).Seconds())
	m.policy(r)
	m.figures(r)
	m.skipsOf(r)
	if !r.DrainedAt.IsZero() { // it may have failed afterwards
		m.drained.WithLabelValues(p, o).Set(float64(r.DrainedAt.UnixMilli()) / 1000)
	}
	switch {
	case r.Failed():
		m.failures.WithLabelValues(p, o, reason(r)).Inc()
		if r.Lag > 0 { // otherwise the tick learned nothing about it
			m.lag.WithLabelValues(p, o).Set(r.Lag.Seconds())
		}
		if r.HeldBack > 0 {
			m.heldBack.WithLabelValues(p, o).Set(r.HeldBack.Seconds())
		}
		if r.Remembered > 0 {
			m.remembered.WithLabelValues(p, o).Set(float64(r.Remembered))
		}
	case r.Event == poller.TickComplete, r.Event == poller.FetchEmpty:
		m.lag.WithLabelValues(p, o).Set(max(r.Lag, 0).Seconds())
		m.heldBack.WithLabelValues(p, o).Set(r.HeldBack.Seconds())
		m.remembered.WithLabelValues(p, o).Set(float64(r.Remembered))
		m.success.WithLabelValues(p, o).Set(float64(r.Ended.UnixMilli()) / 1000)
	default:
		// Skipped or paused: what this process saw earlier is not its to judge any more, and would alarm for ever.
		m.lag.WithLabelValues(p, o).Set(0)
		m.heldBack.WithLabelValues(p, o).Set(0)
		m.remembered.WithLabelValues(p, o).Set(0)
	}
}

// policy measures what became of events that the destination did not take.
func (m *Metrics) policy(r *poller.Report) {
	p, o := r.Poller, r.Output
	m.filtered.WithLabelValues(p, o).Add(float64(r.Filtered))
	m.rejected.WithLabelValues(p, o).Add(float64(r.Rejected))
	m.gone.WithLabelValues(p, o).Add(float64(r.Gone))
	m.late.WithLabelValues(p, o).Add(float64(r.Late))
	for i := range r.DeadLettered {
		m.deadLettered.WithLabelValues(p, o, r.DeadLettered[i].Cause.String()).Inc()
	}
	switch unseen := !r.RetryAt.IsZero() && !r.DocumentRead; {
	case r.Event == poller.Paused:
		m.paused.WithLabelValues(p, o).Set(1)
	case r.Event == poller.CheckpointLoadFailed, r.Event == poller.ConfigInvalid, unseen: // whether it is paused
	default:
		m.paused.WithLabelValues(p, o).Set(0)
	}
	switch {
	case r.Parked >= 0:
		m.parked.WithLabelValues(p, o).Set(float64(r.Parked))
	case r.Event == poller.LeaseAcquireSkipped: // the instance at work knows
		m.parked.WithLabelValues(p, o).Set(0)
	}
}

// skipsOf counts the skips that are new to this process. The series begins when a document was read, not at 0:
// otherwise every restart would show as an increase. And it begins however that tick ended: skips are made mostly where
// ticks fail, or while they are paused, and would else show as no increase.
func (m *Metrics) skipsOf(r *poller.Report) {
	if !r.DocumentRead {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	who := [2]string{r.Poller, r.Output}
	rows := int64(0)
	for _, s := range r.Skips {
		if s.At.After(m.skips[who]) {
			m.skips[who] = s.At
			if s.Rows < 0 { // not known how many
				rows++
			}
			rows += max(s.Rows, 0)
		}
	}
	m.skipped.WithLabelValues(r.Poller, r.Output).Add(float64(rows))
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
	return append(m.outboxMetrics.all(),
		m.ticks, m.batches, m.events, m.failures, m.fetch, m.deliver, m.commit, m.size, m.latency, m.lag, m.drained,
		m.success,
		m.staleness, m.nulls,
		m.paused, m.parked, m.heldBack, m.leftAlone, m.remembered, m.requests, m.filtered, m.rejected, m.deadLettered,
		m.gone, m.late, m.skipped,
	)
}

// figures measures what a tick counted of its outbox.
func (m *Metrics) figures(r *poller.Report) {
	f := r.Outbox
	if r.Expired > 0 {
		m.expired.WithLabelValues(r.Poller).Add(float64(r.Expired))
	}
	m.mu.Lock()
	at, counted := m.counted[r.Poller]
	if f != nil {
		m.counted[r.Poller] = r.Ended
	}
	m.mu.Unlock()
	if f == nil {
		if !counted || r.Event != poller.LeaseAcquireSkipped || r.Ended.Sub(at) < figuresLast {
			return // not an outbox, or what was counted before still holds
		}
		f = &poller.OutboxFigures{} // another instance has been at work for long: it counts
	}
	m.pending.WithLabelValues(r.Poller).Set(float64(f.Pending))
	m.delayed.WithLabelValues(r.Poller).Set(float64(f.Delayed))
	m.failed.WithLabelValues(r.Poller).Set(float64(f.Failed))
	m.waiting.WithLabelValues(r.Poller).Set(float64(f.Waiting))
	m.dead.WithLabelValues(r.Poller).Set(float64(f.Dead))
	m.oldest.WithLabelValues(r.Poller).Set(f.OldestPending.Seconds())
}

// cleaned measures one clean-up.
func (m *Metrics) cleaned(name string, did Cleaned, err error) {
	m.cleanedRows.WithLabelValues(name).Add(float64(did.Rows))
	if err != nil {
		m.cleanupFailures.WithLabelValues(name).Inc()
		return
	}
	m.cleanupSuccess.WithLabelValues(name).Set(float64(time.Now().UnixMilli()) / 1000)
}

// PrepareOutbox makes the series of an outbox exist before its first tick.
func (m *Metrics) PrepareOutbox(name string) {
	for _, g := range []*prometheus.GaugeVec{m.pending, m.delayed, m.failed, m.waiting, m.dead, m.oldest,
		m.cleanupSuccess} {
		g.WithLabelValues(name)
	}
	for _, c := range []*prometheus.CounterVec{m.expired, m.cleanedRows, m.cleanupFailures, m.enqueued} {
		c.WithLabelValues(name)
	}
}

// figuresLast is how long figures hold in a process whose ticks find others at work.
const figuresLast = 2 * time.Minute
