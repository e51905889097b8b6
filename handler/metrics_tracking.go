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
	// Unprocessed is what is still to be delivered, Workers how many workers that asks for; Counted says that it is known.
	Counted              bool
	Unprocessed, Workers int64
	// While the whole table is read, Snapshot is set, and Read says how many rows were, Estimated about how many there
	// are.
	Snapshot        bool
	Read, Estimated int64
}

// trackedTime is how long a reader of metrics waits for it.
const trackedTime = 5 * time.Second

// trackingMetrics collects it.
//
//	rowrelay_unprocessed_changes  what an output of change tracking has still to deliver
//	rowrelay_target_workers       how many workers that asks for, by Sql_Trigger_MaxChangesPerWorker
//	rowrelay_snapshot_rows_read, rowrelay_snapshot_rows_estimated, rowrelay_snapshot_share
//	                              while the whole table is read: how many rows were delivered, about how many there
//	                              are (0: not known), and the one by the other
type trackingMetrics struct {
	read                         func(context.Context) []Tracked
	unprocessed, workers         *prometheus.Desc
	rowsRead, estimated, portion *prometheus.Desc
}

// NewTrackingMetrics returns the metrics of change tracking. What read leaves out has no series.
func NewTrackingMetrics(read func(context.Context) []Tracked) prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("rowrelay_"+name, help, labels(nil), nil)
	}
	return &trackingMetrics{read: read,
		unprocessed: desc("unprocessed_changes", "Changes that are still to be delivered, parked ones included."),
		workers:     desc("target_workers", "How many workers the unprocessed changes ask for."),
		rowsRead:    desc("snapshot_rows_read", "Rows of the whole table that were read and delivered, while it is being read."),
		estimated:   desc("snapshot_rows_estimated", "About how many rows the table had when that began; 0: not known."),
		portion:     desc("snapshot_share", "How much of the table was read, from 0 to 1."),
	}
}

// Describe sends the descriptions of all metrics (prometheus.Collector).
func (m *trackingMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.unprocessed, m.workers, m.rowsRead, m.estimated, m.portion} {
		out <- d
	}
}

// Collect reads them (prometheus.Collector).
func (m *trackingMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), trackedTime)
	defer cancel()
	for _, t := range m.read(ctx) {
		tell := func(desc *prometheus.Desc, value float64) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, t.Poller, t.Output)
		}
		if t.Counted {
			tell(m.unprocessed, float64(t.Unprocessed))
			tell(m.workers, float64(t.Workers))
		}
		if t.Snapshot {
			tell(m.rowsRead, float64(t.Read))
			tell(m.estimated, float64(t.Estimated))
		}
		if t.Snapshot && t.Estimated > 0 {
			tell(m.portion, min(1, float64(t.Read)/float64(t.Estimated)))
		}
	}
}
