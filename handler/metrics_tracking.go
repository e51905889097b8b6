package handler

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Tracked is what is measured of an output of change tracking while metrics are read: not by a tick, so that it is
// known also while no tick comes, and is the same on every instance.
type Tracked struct {
	Poller, Output string
	// Unprocessed is what is still to be delivered, Workers how many workers that asks for.
	Unprocessed, Workers int64
}

// trackedTime is how long a reader of metrics waits for it.
const trackedTime = 5 * time.Second

// trackingMetrics collects it.
//
//	rowrelay_unprocessed_changes  what an output of change tracking has still to deliver
//	rowrelay_target_workers       how many workers that asks for, by Sql_Trigger_MaxChangesPerWorker
type trackingMetrics struct {
	read                 func(context.Context) []Tracked
	unprocessed, workers *prometheus.Desc
}

// NewTrackingMetrics returns the metrics of change tracking. What read leaves out has no series.
func NewTrackingMetrics(read func(context.Context) []Tracked) prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("rowrelay_"+name, help, labels(nil), nil)
	}
	return &trackingMetrics{read: read,
		unprocessed: desc("unprocessed_changes", "Changes that are still to be delivered, parked ones included."),
		workers:     desc("target_workers", "How many workers the unprocessed changes ask for."),
	}
}

// Describe sends the descriptions of all metrics (prometheus.Collector).
func (m *trackingMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.unprocessed
	out <- m.workers
}

// Collect reads them (prometheus.Collector).
func (m *trackingMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), trackedTime)
	defer cancel()
	for _, t := range m.read(ctx) {
		for desc, value := range map[*prometheus.Desc]int64{m.unprocessed: t.Unprocessed, m.workers: t.Workers} {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), t.Poller, t.Output)
		}
	}
}
