package handler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// The gauge is the last time at which no row waited: a tick that saw no such moment leaves it as it is, whatever its
// end was.
func TestLastDrained(t *testing.T) {
	m := handler.NewMetrics(new(console).logger())
	m.PrepareDrained("orders", []string{"o"})
	expect := func(what, value string) {
		t.Helper()
		if err := testutil.CollectAndCompare(m, strings.NewReader(`
# HELP rowrelay_last_drained_timestamp_seconds Unix time at which the poller last had delivered every row it could see; 0 before the first time.
# TYPE rowrelay_last_drained_timestamp_seconds gauge
rowrelay_last_drained_timestamp_seconds{output="o",poller="orders"} `+value+`
`), "rowrelay_last_drained_timestamp_seconds"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	observe := func(event poller.Event, drained time.Time) {
		m.Observe(&poller.Report{Poller: "orders", Output: "o", Event: event, Ended: time.UnixMilli(1775525099000),
			NullCursors: -1, Parked: -1,
			DrainedAt: drained, RowsWait: drained.IsZero()})
	}
	expect("before the first tick", "0")
	observe(poller.TickComplete, time.Time{})
	expect("rows wait", "0")
	observe(poller.TickComplete, time.UnixMilli(1775525026500))
	expect("drained", "1.7755250265e+09")
	for _, event := range []poller.Event{poller.TickComplete, poller.HandlerFailed, poller.Paused,
		poller.LeaseAcquireSkipped, poller.FetchEmpty} {
		observe(event, time.Time{})
	}
	expect("rows wait, ticks fail, an operator pauses it, another is at work", "1.7755250265e+09")
	observe(poller.FetchEmpty, time.UnixMilli(1775525030000))
	expect("nothing to do", "1.77552503e+09")
	observe(poller.HandlerFailed, time.UnixMilli(1775525040000))
	expect("drained in the middle of a tick that failed", "1.77552504e+09")
}

// Outboxes count what waits; a gauge of theirs that stays 0 would be taken for a backlog.
func TestOutboxesAreNotDrained(t *testing.T) {
	var c console
	registry := prometheus.NewRegistry()
	cfg := one(ends(poller.FetchEmpty, nil))
	cfg.Registry = registry
	cfg.Pollers[0].Outbox = &handler.Outbox{}
	serve(t, &c, cfg)
	if n, err := testutil.GatherAndCount(registry, "rowrelay_last_drained_timestamp_seconds"); err != nil || n != 0 {
		t.Errorf("%d series (%v)", n, err)
	}
	if n, err := testutil.GatherAndCount(registry, "rowrelay_last_success_timestamp_seconds"); err != nil || n != 1 {
		t.Errorf("%d series of another metric (%v)", n, err)
	}
}

// A lag that is not known is no lag of a millisecond, and none below 0.
func TestLagThatIsNotKnown(t *testing.T) {
	m := handler.NewMetrics(new(console).logger())
	for _, event := range []poller.Event{poller.TickComplete, poller.HandlerFailed} {
		m.Observe(&poller.Report{Poller: "orders", Output: "o", Event: event, Lag: -1, NullCursors: -1, Parked: -1})
		if err := testutil.CollectAndCompare(m, strings.NewReader(`
# HELP rowrelay_lag_seconds Age of the newest acknowledged event while there is more to come; 0 when drained, and where the cursor is no time.
# TYPE rowrelay_lag_seconds gauge
rowrelay_lag_seconds{output="o",poller="orders"} 0
`), "rowrelay_lag_seconds"); err != nil {
			t.Errorf("%s: %v", event, err)
		}
	}
}

// The counter of skipped rows is there before the skip, whatever ticks have met since the process began: what an
// operator does about a changed definition, a gap or a pause is an increase.
func TestSkippedRowsOfAPollerThatNeverWorked(t *testing.T) {
	for _, event := range []poller.Event{poller.FingerprintMismatch, poller.SourceGap, poller.Paused, poller.ConfigInvalid,
		poller.LeaseAcquireSkipped} {
		m := handler.NewMetrics(new(console).logger())
		m.Prepare("orders", "o")
		expect := func(what, value string) {
			t.Helper()
			if err := testutil.CollectAndCompare(m, strings.NewReader(`
# HELP rowrelay_skipped_rows_total Rows that operators skipped by advancing the checkpoint, as far as the state document remembers.
# TYPE rowrelay_skipped_rows_total counter
rowrelay_skipped_rows_total{output="o",poller="orders"} `+value+`
`), "rowrelay_skipped_rows_total"); err != nil {
				t.Errorf("%s, %s: %v", event, what, err)
			}
		}
		old := state.Skip{At: time.Unix(1775525001, 0), Rows: 3}
		m.Observe(&poller.Report{Poller: "orders", Output: "o", Event: event, DocumentRead: true, Skips: []state.Skip{old}})
		expect("before", "3")
		m.Observe(&poller.Report{Poller: "orders", Output: "o", Event: poller.TickComplete, DocumentRead: true,
			Skips: []state.Skip{old, {At: time.Unix(1775525002, 0), Rows: 500}}})
		expect("after", "503")
	}
}
