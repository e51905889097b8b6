package handler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// aDeadLetter is one whose row must not be seen.
func aDeadLetter(cause poller.Cause) poller.DeadLetter {
	return poller.DeadLetter{
		App: "shop", Poller: "orders", Output: "output", Cause: cause, Status: 422,
		Reason:   "422: no such customer, fair warning",
		Attempts: 5, First: time.Unix(1775525000, 0).UTC(), Last: time.Unix(1775525156, 0).UTC(),
		Event: change.Event{
			ID: "0a1b", Key: []byte(`{"id":7}`), Row: []byte(`{"id":7,"card":"4111-1111"}`),
			Cursor: change.Cursor(`{"kind":"timestamp+pk","value":"2026-01-01T00:00:00Z","tiebreaker":{"id":7}}`),
		},
	}
}

// A dead letter is one line at Error that says which event, why, and what next, and never shows the row.
func TestDeadLetterLine(t *testing.T) {
	var c console
	server := serve(t, &c, one(runner(func(context.Context) []poller.Report {
		return []poller.Report{{
			Poller: "orders", Output: "output", Event: poller.TickComplete, Rows: 1, NullCursors: -1, Parked: 3, Rejected: 2,
			Gone: 1, Late: 4,
			Remembered: 9, HeldBack: 90 * time.Second, HeldBy: "pid 4711 (importer)",
			DeadLettered: []poller.DeadLetter{aDeadLetter(poller.Refused)},
		}}
	})))
	if status, _ := do(t, "POST", server.URL+"/orders", timer); status != 200 {
		t.Errorf("status %d: an event that was given up is settled, and fails no tick", status)
	}
	c.mu.Lock()
	raw := c.stderr.String()
	c.mu.Unlock()
	if strings.Contains(raw, "4111") || strings.Contains(strings.ToLower(raw), "warn") {
		t.Errorf("the line shows the row, or would be taken for a warning by the host: %s", raw)
	}
	lines := c.err()
	if len(lines) != 1 {
		t.Fatalf("one line on stderr, please: %v", lines)
	}
	for member, want := range map[string]string{
		"level": "ERROR", "event": "dead_lettered", "poller": "orders", "output": "output", "id": "0a1b", "key": `{"id":7}`,
		"reason":   "refused",
		"attempts": "5", "status": "422", "error": "422: no such customer, fair warning", "invocation_id": "8f0a",
		"first_attempt": "2026-04-07T01:23:20Z", "last_attempt": "2026-04-07T01:25:56Z",
		"cursor": `{"kind":"timestamp+pk","value":"2026-01-01T00:00:00Z","tiebreaker":{"id":7}}`,
	} {
		if got := fmt.Sprint(lines[0][member]); got != want {
			t.Errorf("%s is %s, want %s", member, got, want)
		}
	}
	if next := fmt.Sprint(lines[0]["next"]); !strings.Contains(next,
		"`rowrelay deadletter show orders --output output 0a1b`") {
		t.Errorf("next: %s", next)
	}
	if len(c.out()) != 1 {
		t.Fatalf("one line for the tick, please: %v", c.out())
	}
	for member, want := range map[string]string{
		"level": "INFO", "event": "tick_complete", "rejected": "2", "parked": "3", "dead_lettered": "1", "parked_gone": "1",
		"late_rows":  "4",
		"remembered": "9", "held_back_seconds": "90", "held_by": "pid 4711 (importer)",
	} {
		if got := fmt.Sprint(c.out()[0][member]); got != want {
			t.Errorf("%s is %s, want %s", member, got, want)
		}
	}
}

// TestDeadLetterNext: what is advised works. A corrected row comes by itself where nothing of its key waits for a
// person, and only if its cursor shows it.
func TestDeadLetterNext(t *testing.T) {
	for blocks, want := range map[bool]string{
		false: "`rowrelay deadletter replay orders` (of a queue: `rowrelay backfill`); a row that is corrected is delivered by " +
			"itself where its cursor moves with that",
		true: "`rowrelay deadletter replay orders`: what comes after it in its order key waits until then " +
			"(after_dead_letter=block)",
	} {
		var c console
		letter := aDeadLetter(poller.Refused)
		letter.Output, letter.Blocks = "", blocks
		server := serve(t, &c, one(runner(func(context.Context) []poller.Report {
			return []poller.Report{{Poller: "orders", Event: poller.TickComplete, Rows: 1, NullCursors: -1,
				DeadLettered: []poller.DeadLetter{letter}}}
		})))
		do(t, "POST", server.URL+"/orders", timer)
		if next := fmt.Sprint(c.err()[0]["next"]); !strings.HasSuffix(next, want) {
			t.Errorf("next: %s", next)
		}
	}
}

// What is not known is not told: an outbox knows how many attempts there were, and not since when.
func TestDeadLetterLineWithoutAFirstAttempt(t *testing.T) {
	var c console
	letter := aDeadLetter(poller.Refused)
	letter.First = time.Time{}
	server := serve(t, &c, one(runner(func(context.Context) []poller.Report {
		return []poller.Report{{Poller: "orders", Event: poller.TickComplete, Rows: 1, NullCursors: -1,
			DeadLettered: []poller.DeadLetter{letter}}}
	})))
	do(t, "POST", server.URL+"/orders", timer)
	lines := c.err()
	if len(lines) != 1 {
		t.Fatalf("one line on stderr, please: %v", lines)
	}
	if first, ok := lines[0]["first_attempt"]; ok || lines[0]["last_attempt"] == nil {
		t.Errorf("the first attempt was at %v, the last at %v", first, lines[0]["last_attempt"])
	}
}

// An idle tick says nothing at Info, unless rows have been held back for longer than a moment.
func TestIdleTickSaysWhatHoldsRowsBack(t *testing.T) {
	for held, want := range map[time.Duration]string{0: "DEBUG", 2 * time.Second: "DEBUG", time.Minute: "INFO"} {
		var c console
		server := serve(t, &c, one(runner(func(context.Context) []poller.Report {
			return []poller.Report{{Poller: "orders", Event: poller.FetchEmpty, NullCursors: -1, HeldBack: held}}
		})))
		do(t, "POST", server.URL+"/orders", timer)
		if got := c.out()[0]["level"]; got != want {
			t.Errorf("held back for %s: %v, want %s", held, got, want)
		}
		if _, said := c.out()[0]["rejected"]; said {
			t.Error("what did not happen is said")
		}
	}
}

func TestPolicyMetrics(t *testing.T) {
	m := handler.NewMetrics(new(console).logger())
	who := func(r poller.Report) *poller.Report {
		r.Poller, r.Output = "orders", "o"
		return &r
	}
	measured := []string{"rowrelay_paused", "rowrelay_parked", "rowrelay_filtered_total", "rowrelay_rejected_total",
		"rowrelay_deadlettered_total",
		"rowrelay_parked_gone_total", "rowrelay_held_back_seconds", "rowrelay_late_rows_total", "rowrelay_remembered_rows"}
	m.Observe(who(poller.Report{
		Event: poller.TickComplete, Filtered: 6, Rejected: 3, Parked: 2, Gone: 1, Late: 5, Remembered: 40,
		HeldBack: 90 * time.Second,
		HeldBy:   "pid 1",
		DeadLettered: []poller.DeadLetter{aDeadLetter(poller.Refused), aDeadLetter(poller.Impossible),
			aDeadLetter(poller.Refused)},
	}))
	m.Observe(who(poller.Report{Event: poller.CheckpointLoadFailed, Parked: -1})) // knows nothing: everything stays
	counters := `
# HELP rowrelay_deadlettered_total Events given up, by reason.
# TYPE rowrelay_deadlettered_total counter
rowrelay_deadlettered_total{output="o",poller="orders",reason="impossible"} 1
rowrelay_deadlettered_total{output="o",poller="orders",reason="refused"} 2
# HELP rowrelay_filtered_total Events that output__jq left out; they count as delivered.
# TYPE rowrelay_filtered_total counter
rowrelay_filtered_total{output="o",poller="orders"} 6
# HELP rowrelay_late_rows_total Late rows: they became visible below the position.
# TYPE rowrelay_late_rows_total counter
rowrelay_late_rows_total{output="o",poller="orders"} 5
# HELP rowrelay_parked_gone_total Parked events whose row was found gone.
# TYPE rowrelay_parked_gone_total counter
rowrelay_parked_gone_total{output="o",poller="orders"} 1
# HELP rowrelay_rejected_total Attempts held against events.
# TYPE rowrelay_rejected_total counter
rowrelay_rejected_total{output="o",poller="orders"} 3
`
	gauges := func(paused, parked, held, remembered int) string {
		return counters + fmt.Sprintf(`
# HELP rowrelay_held_back_seconds How long rows have been held back by an open transaction or a full memory.
# TYPE rowrelay_held_back_seconds gauge
rowrelay_held_back_seconds{output="o",poller="orders"} %d
# HELP rowrelay_parked Parked events, and those that wait for them.
# TYPE rowrelay_parked gauge
rowrelay_parked{output="o",poller="orders"} %d
# HELP rowrelay_paused 1 while an operator has the poller paused.
# TYPE rowrelay_paused gauge
rowrelay_paused{output="o",poller="orders"} %d
# HELP rowrelay_remembered_rows Rows in the memory of late commits.
# TYPE rowrelay_remembered_rows gauge
rowrelay_remembered_rows{output="o",poller="orders"} %d
`, held, parked, paused, remembered)
	}
	compare := func(what, want string) {
		t.Helper()
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), measured...); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	compare("after a tick, and one that could not read the document", gauges(0, 2, 90, 40))
	m.Observe(who(poller.Report{Event: poller.Paused, Parked: -1}))
	compare("paused", gauges(1, 2, 0, 0))
	m.Observe(who(poller.Report{Event: poller.ConfigInvalid, Parked: -1}))
	compare("still paused, as far as is known", gauges(1, 2, 0, 0))
	m.Observe(who(poller.Report{Event: poller.LeaseAcquireSkipped, Parked: -1}))
	compare("another instance is at work", gauges(0, 0, 0, 0))
	m.Observe(who(poller.Report{Event: poller.HandlerFailed, Parked: 7, HeldBack: time.Second, Remembered: 8}))
	compare("a failed tick that learned something", gauges(0, 7, 1, 8))
	m.Observe(who(poller.Report{Event: poller.FetchEmpty}))
	compare("all is well again", gauges(0, 0, 0, 0))
}

// The counter of skipped rows is that of the document: a restart is no increase, and a skip is counted once by each
// process.
func TestSkippedRows(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(1775525000+n), 0) }
	skips := []state.Skip{{At: at(1), Rows: 10}, {At: at(2), Rows: -1}}
	start := func() (*handler.Metrics, func(poller.Event, ...state.Skip)) {
		m := handler.NewMetrics(new(console).logger())
		m.Prepare("orders", "o")
		return m, func(event poller.Event, skips ...state.Skip) {
			m.Observe(&poller.Report{Poller: "orders", Output: "o", Event: event, NullCursors: -1, Parked: -1,
				DocumentRead: event != poller.CheckpointLoadFailed, Skips: skips})
		}
	}
	value := func(m *handler.Metrics) string {
		t.Helper()
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(m)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "rowrelay_skipped_rows_total" {
				return fmt.Sprint(f.GetMetric()[0].GetCounter().GetValue())
			}
		}
		return "none"
	}
	m, observe := start()
	observe(poller.CheckpointLoadFailed)
	if got := value(m); got != "none" {
		t.Errorf("%s before a document was read, want no series: a series that begins at 0 makes an increase of every restart", got)
	}
	observe(poller.FetchEmpty, skips...)
	observe(poller.LeaseAcquireSkipped)
	observe(poller.TickComplete, skips...)
	if got := value(m); got != "11" {
		t.Errorf("%s, want the 11 of the document, counted once", got)
	}
	later := append(skips[1:], state.Skip{At: at(3), Rows: 5}) // the first one has fallen out
	observe(poller.Paused, later...)
	if got := value(m); got != "16" {
		t.Errorf("%s after another 5, want 16", got)
	}
	n, observe := start()
	observe(poller.FetchEmpty)
	if got := value(n); got != "0" {
		t.Errorf("%s for a document without skips, want 0", got)
	}
}
