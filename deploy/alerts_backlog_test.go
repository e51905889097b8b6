package deploy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// always is a value at every time.
func always(value int) func(int) int { return func(int) int { return value } }

// Rows that wait ring although every tick succeeds; a restart, another instance, a pause, and what other alerts tell
// ring no second time.
func TestAlertsKnowABacklog(t *testing.T) {
	t.Parallel()
	const backlog, hour = "RowrelayBacklog", 60 * minute
	both := func(a, b *life) []inputSeries {
		b.instance = "shop-2:7878"
		return append(a.series(), b.series()...)
	}
	lag, held := "rowrelay_lag_seconds", "rowrelay_held_back_seconds"
	for _, c := range []struct {
		name   string
		series []inputSeries
		end    int
		want   []string
	}{
		{"busy for 20 minutes", (&life{schedule: 10, end: 2 * hour, behind: between(hour, hour+20*minute)}).series(),
			2 * hour, nil},
		{"for half an hour", (&life{schedule: 10, end: 2 * hour, behind: between(hour, hour+30*minute)}).series(), 2 * hour,
			[]string{backlog}},
		{"every 5 minutes, for good", (&life{schedule: 5 * minute, end: 2 * hour, behind: from(hour)}).series(), 2 * hour,
			[]string{backlog}},
		{"every 15 minutes, one tick leaves rows to the next",
			(&life{schedule: 15 * minute, end: 3 * hour, behind: between(hour, hour+minute)}).series(), 3 * hour,
			[]string{backlog}},
		{"every 15 minutes, for good", (&life{schedule: 15 * minute, end: 3 * hour, behind: from(hour)}).series(), 3 * hour,
			[]string{backlog}},
		{"a first load of 20 minutes", (&life{schedule: 10, end: hour, behind: between(0, 20*minute)}).series(), hour, nil},
		{"a first load that goes on", (&life{schedule: 10, end: hour, behind: from(0)}).series(), hour, []string{backlog}},
		{"a restart, drained", (&life{schedule: 5 * minute, end: 2 * hour, starts: []int{hour + minute}}).series(), 2 * hour,
			nil},
		{"a restart in a backlog", (&life{schedule: 10, end: 2 * hour, starts: []int{hour + 5*minute},
			behind: from(hour)}).series(), 2 * hour, []string{backlog}},
		{"dies every 5 minutes in a backlog",
			(&life{schedule: 10, end: 2 * hour, starts: every(5*minute, hour, 2*hour), behind: from(hour)}).series(), 2 * hour,
			[]string{backlog}},
		{"another instance takes over, drained",
			both(&life{schedule: 10, end: 2 * hour, silent: from(hour)},
				&life{schedule: 10, end: 2 * hour, silent: between(0, hour)}), 2 * hour, nil},
		{"another instance takes over, and rows wait", both(&life{schedule: 10, end: 2 * hour, silent: from(hour)},
			&life{schedule: 10, end: 2 * hour, silent: between(0, hour), behind: from(hour)}), 2 * hour, []string{backlog}},
		{"two by turns, and rows wait",
			both(&life{schedule: 10, end: 2 * hour, silent: func(at int) bool { return at%20 == 0 }, behind: from(hour)},
				&life{schedule: 10, end: 2 * hour, silent: func(at int) bool {
					return at%20 != 0
				}, behind: from(hour)}), 2 * hour, []string{backlog}},
		{"paused in a backlog", (&life{schedule: 10, end: 2 * hour, behind: from(hour),
			more: map[string]func(int) int{"rowrelay_paused": func(at int) int {
				if at >= hour {
					return 1
				}
				return 0
			}}}).series(), 2 * hour, []string{"RowrelayPaused"}},
		{"an outage", (&life{schedule: 10, end: 2 * hour, behind: from(hour), fails: from(hour)}).series(), 2 * hour,
			[]string{"RowrelayDestinationDown", "RowrelayNoSuccess", "RowrelayTicksFailing"}},
		{"what the lag tells", (&life{schedule: 10, end: 2 * hour, behind: from(hour),
			more: map[string]func(int) int{lag: always(400)}}).series(), 2 * hour, []string{"RowrelayLag"}},
		{"a lag that comes and goes", (&life{schedule: 10, end: 2 * hour, behind: from(hour),
			more: map[string]func(int) int{lag: func(at int) int { return at % 600 }}}).series(), 2 * hour, []string{backlog}},
		{"what is held back", (&life{schedule: 10, end: 2 * hour, behind: from(hour),
			more: map[string]func(int) int{held: always(400)}}).series(), 2 * hour, []string{"RowrelayHeldBack"}},
		{"held back for moments", (&life{schedule: 10, end: 2 * hour, behind: from(hour),
			more: map[string]func(int) int{held: func(at int) int { return at % 400 }}}).series(), 2 * hour, []string{backlog}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if said, ok := simulate(t, c.end, c.series,
				question{Expr: fired, Samples: firing(map[string][]string{"orders": c.want})}); !ok {
				t.Errorf("other alerts fired than expected:\n%s", said)
			}
		})
	}
}

// The alert's text has no age since 1970, where a process has never seen its table drained.
func TestABacklogIsToldInWords(t *testing.T) {
	t.Parallel()
	rules := alertRules(t)
	i := slices.IndexFunc(rules, func(r rule) bool { return r.Alert == "RowrelayBacklog" })
	told := func(text string) string { return strings.ReplaceAll(text, "{{ $labels.poller }}", "orders") }
	const end = 60 * minute
	for summary, behind := range map[string]func(int) bool{
		"orders: rows wait, and it was not seen drained for more than a day": from(0),
		"orders: rows wait, and it was last drained 30m 10s ago":             from(30 * minute),
	} {
		t.Run(summary, func(t *testing.T) {
			t.Parallel()
			l := life{schedule: 10, end: end, behind: behind}
			said, ok := promtoolTest(t, map[string]any{"interval": "15s", "input_series": l.series(),
				"alert_rule_test": []any{map[string]any{
					"eval_time": fmt.Sprint(end * time.Second), "alertname": "RowrelayBacklog", "exp_alerts": []any{map[string]any{
						"exp_labels": map[string]string{"severity": "warning", "job": "rowrelay", "poller": "orders"},
						"exp_annotations": map[string]string{
							"summary": summary, "description": told(rules[i].Annotations["description"]),
							"runbook_url": rules[i].Annotations["runbook_url"],
						},
					}},
				}}})
			if !ok {
				t.Error(said)
			}
		})
	}
}

// rowsWait looks at the status of the poller "flooded", whose cursor is no time and whose ticks leave rows behind: it
// says since when, and no lag.
func rowsWait(t *testing.T, listen string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listen+"/status.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	type output struct {
		Poller       string     `json:"poller"`
		WaitingSince *time.Time `json:"waiting_since"`
		Lag          *float64   `json:"lag_seconds"`
	}
	var report struct {
		Outputs []output `json:"outputs"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&report); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(report.Outputs, func(o output) bool { return o.Poller == "flooded" })
	if i < 0 || report.Outputs[i].WaitingSince == nil || report.Outputs[i].Lag != nil {
		t.Errorf("rows of flooded wait, and the status says %+v", report.Outputs)
	}
}
