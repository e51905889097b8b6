package handler

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// DeadLetters is how many dead letters lie in the state store for an output.
type DeadLetters struct {
	Poller, Output string
	N              int64
}

// letterMetrics collects rowrelay_dead_letters. No tick counts them: so it is known also while none comes, and is the
// same on every instance. Those of an outbox are rowrelay_outbox_dead.
type letterMetrics struct {
	read  func(context.Context) []DeadLetters
	count *prometheus.Desc
}

// NewLetterMetrics returns the metric. What read leaves out has no series.
func NewLetterMetrics(read func(context.Context) []DeadLetters) prometheus.Collector {
	gauge := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("rowrelay_"+name, help, labels(nil), nil)
	}
	return &letterMetrics{read, gauge("dead_letters",
		"Dead letters in the state store, as counted in the last five minutes.")}
}

// Describe sends the description (prometheus.Collector).
func (m *letterMetrics) Describe(out chan<- *prometheus.Desc) { out <- m.count }

// Collect reads it (prometheus.Collector).
func (m *letterMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), trackedTime)
	defer cancel()
	for _, l := range m.read(ctx) {
		out <- prometheus.MustNewConstMetric(m.count, prometheus.GaugeValue, float64(l.N), l.Poller, l.Output)
	}
}
