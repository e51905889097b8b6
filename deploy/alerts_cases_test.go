package deploy_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// minute is in seconds, as everything of a life.
const minute = 60

// life is one instance with one poller, as scrapes every 15 seconds see it. The recordings of the real program are too
// short and too coarse for what a schedule of minutes does.
type life struct {
	instance string // "" for shop:7878
	schedule int    // a tick every so many seconds
	end      int
	starts   []int                  // after the first, which is at 0; a restart takes 15 s
	fails    func(at int) bool      // nil: none does
	silent   func(at int) bool      // no tick then; nil: all come
	behind   func(at int) bool      // ticks leave rows behind; nil: none does
	dies     func(at int) (up bool) // nil: up
	more     map[string]func(at int) int
}

// series are what it shows. promtool's clock begins at 0, where the world's is at now: the gauge's 0 is as far in the
// past here.
func (l *life) series() []inputSeries {
	const scraped, now = 15, 1_700_000_000
	failures, success, drained, started := 0, -now, -now, 0
	seen := map[string][]string{}
	see := func(name, value string) { seen[name] = append(seen[name], value) }
	for at := 0; at <= l.end; at++ {
		if slices.Contains(l.starts, at) {
			failures, success, drained, started = 0, -now, -now, at
		}
		up := l.dies == nil || l.dies(at)
		down := !up || started > 0 && at < started+15
		if tick := at > 0 && at%l.schedule == 0; tick && !down && (l.silent == nil || !l.silent(at)) {
			if l.fails != nil && l.fails(at) {
				failures++
			} else {
				success = at
				if l.behind == nil || !l.behind(at) {
					drained = at
				}
			}
		}
		if at%scraped != 0 {
			continue
		}
		values := map[string]int{
			`rowrelay_failures_total{reason="unavailable",`: failures, `rowrelay_last_success_timestamp_seconds{`: success,
			`rowrelay_last_drained_timestamp_seconds{`: drained, `process_start_time_seconds{`: started, `rowrelay_paused{`: 0,
		}
		for name, value := range l.more {
			values[name+"{"] = value(at)
		}
		for name, value := range values {
			labels := fmt.Sprintf(`job="rowrelay",instance=%q}`, cmp.Or(l.instance, "shop:7878"))
			if !strings.HasPrefix(name, "process_") {
				labels = `poller="orders",output="",` + labels
			}
			if down {
				see(name+labels, "stale")
			} else {
				see(name+labels, strconv.Itoa(value))
			}
		}
	}
	var list []inputSeries
	for name, values := range seen {
		list = append(list, inputSeries{name, strings.Join(values, " ")})
	}
	return list
}

func between(from, to int) func(int) bool { return func(at int) bool { return from <= at && at < to } }

func from(begin int) func(int) bool { return func(at int) bool { return at >= begin } }

func every(step, begin, end int) (list []int) {
	for at := begin; at < end; at += step {
		list = append(list, at)
	}
	return list
}

// What is over, what a slow schedule does and a restart ring nobody; what goes on does.
func TestAlertsKnowABlipAndASlowSchedule(t *testing.T) {
	t.Parallel()
	const failing, without, down = "RowrelayTicksFailing", "RowrelayNoSuccess", "RowrelayDestinationDown"
	hour := 60 * minute
	for _, c := range []struct {
		name string
		life life
		want []string
	}{
		{"three failures in 30 seconds", life{schedule: 10, end: hour, fails: between(20*minute, 20*minute+30)}, nil},
		{"four minutes of failures", life{schedule: 10, end: hour, fails: between(20*minute, 24*minute)}, nil},
		{"six minutes of failures", life{schedule: 10, end: hour, fails: between(20*minute, 26*minute)}, []string{down}},
		{"a quarter of an hour of failures", life{schedule: 10, end: hour, fails: between(20*minute, 35*minute)},
			[]string{down, failing}},
		{"every 2 minutes, six minutes of failures",
			life{schedule: 2 * minute, end: hour, fails: between(20*minute, 26*minute+1)}, []string{down}},
		{"every 2 minutes, every other tick fails",
			life{schedule: 2 * minute, end: hour, fails: func(at int) bool { return at%(4*minute) == 0 }}, nil},
		{"every other tick fails", life{schedule: 10, end: hour, fails: func(at int) bool { return at%20 == 0 }},
			[]string{failing}},
		{"every 5 minutes", life{schedule: 5 * minute, end: 3 * hour}, nil},
		{"every 5 minutes, one failure", life{schedule: 5 * minute, end: 3 * hour, fails: between(hour, hour+minute)}, nil},
		{"every 5 minutes, two in a row", life{schedule: 5 * minute, end: 3 * hour, fails: between(hour, hour+6*minute)},
			nil},
		{"every 5 minutes, three in a row",
			life{schedule: 5 * minute, end: 90 * minute, fails: between(hour, hour+11*minute)}, nil},
		{"every 5 minutes, all fail", life{schedule: 5 * minute, end: 2 * hour, fails: from(hour)},
			[]string{without, failing}},
		{"every 15 minutes", life{schedule: 15 * minute, end: 6 * hour}, nil},
		{"every 15 minutes, all fail", life{schedule: 15 * minute, end: 3 * hour, fails: from(hour)},
			[]string{without, failing}},
		{"every 15 minutes, none succeeded ever", life{schedule: 15 * minute, end: 3 * hour, fails: from(0)},
			[]string{without, failing}},
		{"every 5 minutes, restarts", life{schedule: 5 * minute, end: 4 * hour,
			starts: []int{hour + minute, 2 * hour, 3*hour - 10}}, nil},
		{"every 15 minutes, restarts over a tick",
			life{schedule: 15 * minute, end: 4 * hour, starts: []int{2*hour - 5, 3*hour - 10}}, nil},
		{"no tick comes", life{schedule: 10, end: 2 * hour, silent: from(hour)}, []string{without}},
		{"no tick comes after a restart", life{schedule: 10, end: 2 * hour, starts: []int{hour}, silent: from(hour)},
			[]string{without}},
		{"no tick ever comes", life{schedule: 10, end: hour, silent: from(0)}, []string{without}},
		{"dies every 5 minutes, without a tick",
			life{schedule: 10, end: 3 * hour, starts: every(5*minute, hour, 3*hour), silent: from(hour)}, []string{without}},
		{"dies every 5 minutes from the first",
			life{schedule: 10, end: 2 * hour, starts: every(5*minute, 5*minute, 2*hour), silent: from(0)}, []string{without}},
		{"is gone", life{schedule: 10, end: 2 * hour, dies: func(at int) bool { return at < hour }}, []string{without}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wanted := firing(map[string][]string{"orders": c.want})
			if said, ok := simulate(t, c.life.end, c.life.series(), question{Expr: fired, Samples: wanted}); !ok {
				t.Errorf("other alerts fired than expected:\n%s", said)
			}
		})
	}
}

// simulate lets promtool run the rules over series with a sample every 15 seconds, and returns what it says where the
// answer at the end is not the expected one.
func simulate(t *testing.T, end int, series []inputSeries, q question) (string, bool) {
	t.Helper()
	q.At = (time.Duration(end) * time.Second).String()
	return promtoolTest(t, map[string]any{"interval": "15s", "input_series": series, "promql_expr_test": []question{q}})
}

// promtoolTest lets promtool run a test of the rules.
func promtoolTest(t *testing.T, test map[string]any) (string, bool) {
	t.Helper()
	rules, err := filepath.Abs("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"rule_files": []string{rules}, "evaluation_interval": "15s",
		"tests": []any{test}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "test.yaml")
	testfile.Write(t, file, text)
	out, err := exec.CommandContext(t.Context(), promtool(t), "test", "rules", file).CombinedOutput()
	return strings.TrimSpace(string(out)), err == nil
}
