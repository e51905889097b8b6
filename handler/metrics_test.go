package handler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
)

// names are the metrics that dashboards and alerts are built on, with the number of series of one idle output.
var names = map[string]int{
	"rowrelay_ticks_total": 15, "rowrelay_batches_total": 1, "rowrelay_events_total": 1, "rowrelay_failures_total": 19,
	"rowrelay_fetch_duration_seconds": 1, "rowrelay_deliver_duration_seconds": 1, "rowrelay_commit_duration_seconds": 1,
	"rowrelay_delivery_latency_seconds": 1,
	"rowrelay_batch_size":               1, "rowrelay_lag_seconds": 1, "rowrelay_last_drained_timestamp_seconds": 1,
	"rowrelay_last_success_timestamp_seconds": 1,
	"rowrelay_lease_staleness_seconds":        1, "rowrelay_null_cursor_rows": 1,
	"rowrelay_paused": 1, "rowrelay_parked": 1, "rowrelay_filtered_total": 1, "rowrelay_rejected_total": 1,
	"rowrelay_requests_total":     3,
	"rowrelay_deadlettered_total": 2,
	"rowrelay_parked_gone_total":  1, "rowrelay_held_back_seconds": 1, "rowrelay_late_rows_total": 1,
	"rowrelay_remembered_rows": 1, "rowrelay_left_alone_seconds": 1,
}

func TestEverySeriesExistsAtTheStart(t *testing.T) {
	var c console
	registry := prometheus.NewRegistry()
	cfg := one(ends(poller.FetchEmpty, nil))
	cfg.Registry = registry
	server := serve(t, &c, cfg)
	for name, want := range names {
		if got, err := testutil.GatherAndCount(registry, name); err != nil || got != want {
			t.Errorf("%s has %d series (%v), want %d", name, got, err, want)
		}
	}
	families, err := registry.Gather()
	if err != nil || len(families) != len(names) {
		t.Errorf("%d metrics (%v), want %d: name them all in this test", len(families), err, len(names))
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) != 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
	// ScrapeAndCompare parses the exposition of the real endpoint.
	if err := testutil.ScrapeAndCompare(server.URL+"/metrics", strings.NewReader(`
# HELP rowrelay_events_total Acknowledged events.
# TYPE rowrelay_events_total counter
rowrelay_events_total{output="output",poller="orders"} 0
`), "rowrelay_events_total"); err != nil {
		t.Error(err)
	}
}

func TestMetricsAreReadOffReports(t *testing.T) {
	m := handler.NewMetrics(new(console).logger())
	ended := time.UnixMilli(1775525026500)
	m.Observe(&poller.Report{
		Poller: "orders", Output: "o", Event: poller.TickComplete, Rows: 7, Ended: ended, Lag: 3 * time.Second,
		NullCursors: 4,
		Batches: []poller.BatchStats{{Rows: 5, Fetch: time.Millisecond, Deliver: time.Second, Commit: time.Minute},
			{Rows: 2}},
	})
	m.Observe(&poller.Report{
		Poller: "orders", Output: "o", Event: poller.HandlerFailed, Reason: "refused", Err: errors.New("422"),
		NullCursors: -1,
		Rows:        1, Batches: []poller.BatchStats{{Rows: 1}}, Staleness: 90 * time.Second,
	})
	m.Observe(&poller.Report{Poller: "orders", Output: "o", Event: poller.CommitFailed, NullCursors: -1})
	if err := testutil.CollectAndCompare(m, strings.NewReader(`
# HELP rowrelay_batches_total Settled batches.
# TYPE rowrelay_batches_total counter
rowrelay_batches_total{output="o",poller="orders"} 3
# HELP rowrelay_events_total Acknowledged events.
# TYPE rowrelay_events_total counter
rowrelay_events_total{output="o",poller="orders"} 8
# HELP rowrelay_failures_total Failed ticks, by reason.
# TYPE rowrelay_failures_total counter
rowrelay_failures_total{output="o",poller="orders",reason="commit_failed"} 1
rowrelay_failures_total{output="o",poller="orders",reason="refused"} 1
# HELP rowrelay_lag_seconds Age of the newest acknowledged event while there is more to come; 0 when drained, and where the cursor is no time.
# TYPE rowrelay_lag_seconds gauge
rowrelay_lag_seconds{output="o",poller="orders"} 3
# HELP rowrelay_last_success_timestamp_seconds When a tick last succeeded, in Unix time; 0 before the first.
# TYPE rowrelay_last_success_timestamp_seconds gauge
rowrelay_last_success_timestamp_seconds{output="o",poller="orders"} 1.7755250265e+09
# HELP rowrelay_lease_staleness_seconds Age of another holder's heartbeat beyond its ttl.
# TYPE rowrelay_lease_staleness_seconds gauge
rowrelay_lease_staleness_seconds{output="o",poller="orders"} 0
# HELP rowrelay_null_cursor_rows Rows whose cursor is NULL, when last counted: they are never delivered.
# TYPE rowrelay_null_cursor_rows gauge
rowrelay_null_cursor_rows{output="o",poller="orders"} 4
# HELP rowrelay_ticks_total Ticks, by the event they ended as.
# TYPE rowrelay_ticks_total counter
rowrelay_ticks_total{event="commit_failed",output="o",poller="orders"} 1
rowrelay_ticks_total{event="handler_failed",output="o",poller="orders"} 1
rowrelay_ticks_total{event="tick_complete",output="o",poller="orders"} 1
`), "rowrelay_batches_total", "rowrelay_events_total", "rowrelay_failures_total", "rowrelay_lag_seconds",
		"rowrelay_last_success_timestamp_seconds", "rowrelay_lease_staleness_seconds", "rowrelay_null_cursor_rows",
		"rowrelay_ticks_total"); err != nil {
		t.Error(err)
	}
	// Another instance took over: what this one saw last is not the poller's lag any more.
	m.Observe(&poller.Report{Poller: "orders", Output: "o", Event: poller.LeaseAcquireSkipped, NullCursors: -1})
	if err := testutil.CollectAndCompare(m, strings.NewReader(`
# HELP rowrelay_lag_seconds Age of the newest acknowledged event while there is more to come; 0 when drained, and where the cursor is no time.
# TYPE rowrelay_lag_seconds gauge
rowrelay_lag_seconds{output="o",poller="orders"} 0
`), "rowrelay_lag_seconds"); err != nil {
		t.Error(err)
	}
}

// Measuring goes wrong in every way that it can: the tick's answer stays what it is.
func TestMetricsFailureFailsNoTick(t *testing.T) {
	var c console
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "rowrelay_lag_seconds", Help: "another's"}))
	h := handler.New(t.Context(), handler.Config{Log: c.logger(), Registry: registry, Pollers: []handler.Poller{{
		Name: "orders", Runner: runner(func(context.Context) []poller.Report {
			return []poller.Report{{Poller: "orders", Output: "not \xff UTF-8", Event: poller.TickComplete, Rows: -1}}
		}),
	}}})
	server := httptest.NewServer(h)
	defer server.Close()
	if status, _ := do(t, "POST", server.URL+"/orders", timer); status != 200 {
		t.Errorf("status %d, want 200", status)
	}
	if lines := c.err(); len(lines) != 2 || lines[0]["level"] != "WARN" || lines[1]["level"] != "WARN" {
		t.Errorf("two warnings, please: not registered, not measured; got %v", lines)
	}
}

// TestWhatIsLeftAloneIsMeasured: and the tick that leaves it alone is no Error line of its own.
func TestWhatIsLeftAloneIsMeasured(t *testing.T) {
	var c console
	ended := time.Now()
	report := poller.Report{Poller: "orders", Output: "o", Event: poller.FetchFailed, Err: errors.New("gone"),
		Ended: ended, RetryAt: ended.Add(20 * time.Second), Parked: -1, NullCursors: -1}
	h := handler.New(t.Context(), handler.Config{Log: c.logger(), Pollers: []handler.Poller{{
		Name: "orders", Runner: runner(func(context.Context) []poller.Report { return []poller.Report{report} }),
	}}})
	m := handler.NewMetrics(c.logger())
	for _, want := range []int{20, 0} {
		if _, err := h.Tick(t.Context(), "orders", handler.Invocation{}); err != nil {
			t.Fatal(err)
		}
		if logged := strings.Contains(c.stderr.String(), "tick failed"); logged != (want == 0) {
			t.Errorf("%d s left alone, and logged: %v", want, logged)
		}
		m.Observe(&report)
		if err := testutil.CollectAndCompare(m, strings.NewReader(fmt.Sprintf(`
# HELP rowrelay_left_alone_seconds How long a failing source or destination is not asked any more, as of the last tick.
# TYPE rowrelay_left_alone_seconds gauge
rowrelay_left_alone_seconds{output="o",poller="orders"} %d
`, want)), "rowrelay_left_alone_seconds"); err != nil {
			t.Error(err)
		}
		report.RetryAt = time.Time{}
	}
}
