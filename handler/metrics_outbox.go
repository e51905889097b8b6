package handler

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// outboxMetrics are those of outboxes, by poller. Their dead letters are counted in rowrelay_deadlettered_total, as
// those of other pollers.
//
//	rowrelay_outbox_pending                     events to be published, when last counted
//	rowrelay_outbox_delayed                     events whose available_at has not come
//	rowrelay_outbox_expired_total               events that were given up at their expires_at
//	rowrelay_outbox_failed                      events that failed, and have a next attempt
//	rowrelay_outbox_waiting                     events that wait for a failed, delayed or dead one of their aggregate
//	rowrelay_outbox_dead                        dead letters
//	rowrelay_outbox_oldest_pending_seconds      age of the oldest pending event; 0 when there is none
//	rowrelay_outbox_cleaned_total               published and discarded events that clean-ups deleted
//	rowrelay_outbox_cleanup_failures_total      clean-ups that failed
//	rowrelay_outbox_cleanup_last_success_timestamp_seconds  when one of this process last ended well; 0 before the first
//	rowrelay_outbox_fanout_messages_total       partitions that the timer handed out
//
// The gauges are 0 where another instance does the whole work: take the max over instances. Counting may stop at a
// bound; then the figure is that bound.
type outboxMetrics struct {
	pending, delayed, failed, waiting, dead, oldest, cleanupSuccess *prometheus.GaugeVec
	expired, cleanedRows, cleanupFailures, enqueued                 *prometheus.CounterVec
	// counted is when, by poller; guarded by Metrics.mu.
	counted map[string]time.Time
}

func newOutboxMetrics() outboxMetrics {
	byPoller := []string{"poller"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rowrelay_outbox_" + name, Help: help}, byPoller)
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rowrelay_outbox_" + name, Help: help}, byPoller)
	}
	return outboxMetrics{
		counted: map[string]time.Time{},
		pending: gauge("pending", "Events to be published, when last counted."),
		delayed: gauge("delayed", "Events whose available_at has not come."),
		failed:  gauge("failed", "Events that failed and have a next attempt."),
		waiting: gauge("waiting", "Events that wait for a failed, delayed or dead one of their aggregate."),
		dead:    gauge("dead", "Dead letters."),
		oldest:  gauge("oldest_pending_seconds", "Age of the oldest pending event; 0 when there is none."),
		cleanupSuccess: gauge("cleanup_last_success_timestamp_seconds",
			"When a clean-up last ended well, in Unix time; 0 before the first."),
		expired:         counter("expired_total", "Events that were given up at their expires_at."),
		cleanedRows:     counter("cleaned_total", "Published and discarded events that clean-ups deleted."),
		cleanupFailures: counter("cleanup_failures_total", "Clean-ups that failed."),
		enqueued:        counter("fanout_messages_total", "Partitions that the timer handed out."),
	}
}

func (o *outboxMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{
		o.pending, o.delayed, o.failed, o.waiting, o.dead, o.oldest, o.cleanupSuccess, o.expired, o.cleanedRows,
		o.cleanupFailures, o.enqueued,
	}
}
