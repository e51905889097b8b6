package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// step is what lies between two scrapes in the simulated time. In the test's own it is at least one tick of every
// poller, about a second: so an hour of a sick application is seen in half a minute. It is less than the five minutes
// after which Prometheus takes a series for gone.
const step = 4 * time.Minute

// scrape is what one GET of /metrics showed; samples are nil where nobody answered.
type scrape struct {
	at      time.Time
	samples map[string]float64 // by name and labels, as PromQL writes them
}

// look scrapes /metrics, as Prometheus does.
func look(listen string) (s scrape) {
	s.at = time.Now()
	text, err := programtest.Scrape(context.Background(), listen)
	if err != nil {
		return s
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return s
	}
	s.samples = map[string]float64{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			s.add(name, m)
		}
	}
	return s
}

func (s *scrape) add(name string, m *dto.Metric) {
	put := func(name string, v float64, more ...string) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.samples[seriesName(name, m.GetLabel(), more...)] = v
		}
	}
	switch h := m.GetHistogram(); {
	case h != nil:
		for _, b := range h.GetBucket() {
			put(name+"_bucket", float64(b.GetCumulativeCount()), "le", strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64))
		}
		put(name+"_bucket", float64(h.GetSampleCount()), "le", "+Inf")
		put(name+"_sum", h.GetSampleSum())
		put(name+"_count", float64(h.GetSampleCount()))
	case m.GetSummary() != nil:
		put(name+"_sum", m.GetSummary().GetSampleSum())
		put(name+"_count", float64(m.GetSummary().GetSampleCount()))
	case m.GetCounter() != nil:
		put(name, m.GetCounter().GetValue())
	case m.GetGauge() != nil:
		put(name, m.GetGauge().GetValue())
	default:
		put(name, m.GetUntyped().GetValue())
	}
}

func seriesName(name string, labels []*dto.LabelPair, more ...string) string {
	pairs := []string{}
	for _, l := range labels {
		pairs = append(pairs, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	for i := 0; i < len(more); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%s=%q", more[i], more[i+1]))
	}
	sort.Strings(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// ticks counts the ticks of a poller that a scrape shows.
func (s *scrape) ticks(poller string) float64 {
	n := 0.0
	for name, v := range s.samples {
		if strings.HasPrefix(name, "rowrelay_ticks_total{") && strings.Contains(name, fmt.Sprintf("poller=%q", poller)) {
			n += v
		}
	}
	return n
}

// stale reports whether a scrape shows a lease of somebody who does not renew it.
func stale(s scrape) bool {
	for series, v := range s.samples {
		if v > 0 && strings.HasPrefix(series, "rowrelay_lease_staleness_seconds{") {
			return true
		}
	}
	return false
}

// recording is what an application showed, scrape by scrape.
type recording []scrape

// next adds a scrape in which every poller has had a tick since the last one, or one that is worth it before that.
func (r *recording) next(t *testing.T, listen string, pollers []string, worth func(scrape) bool) {
	t.Helper()
	programtest.Until(t, "every poller has had a tick", func() bool {
		s := look(listen)
		if s.samples == nil {
			return false
		}
		if worth(s) {
			*r = append(*r, s)
			return true
		}
		for _, p := range pollers {
			before := 0.0
			if n := len(*r); n > 0 {
				before = (*r)[n-1].ticks(p)
			}
			if s.ticks(p) <= before {
				return false
			}
		}
		*r = append(*r, s)
		return true
	})
}

// simulated is a moment of the test in the simulated time, in seconds: scrapes are a step apart there, moments between
// two scrapes are in proportion, and what was before the first is as far before it as it was.
func (r recording) simulated(at time.Time) float64 {
	if at.Before(r[0].at) {
		return at.Sub(r[0].at).Seconds()
	}
	for i := 1; i < len(r); i++ {
		if !at.After(r[i].at) {
			part := float64(at.Sub(r[i-1].at)) / float64(r[i].at.Sub(r[i-1].at))
			return (float64(i-1) + part) * step.Seconds()
		}
	}
	return float64(len(r)-1) * step.Seconds()
}

// value is what a sample would have been had the simulated time been the real one. Figures that are moments or ages are
// moved with the time; all others are what the program said.
func (r recording) value(name string, s *scrape, v float64) float64 {
	name, _, _ = strings.Cut(name, "{")
	switch {
	case v <= 0:
		return v
	case strings.HasSuffix(name, "_timestamp_seconds"), name == "process_start_time_seconds":
		return r.simulated(time.UnixMilli(int64(v * 1000)))
	case name == "rowrelay_lag_seconds", name == "rowrelay_held_back_seconds", name == "rowrelay_lease_staleness_seconds",
		name == "rowrelay_outbox_oldest_pending_seconds":
		return r.simulated(s.at) - r.simulated(s.at.Add(-time.Duration(v*float64(time.Second))))
	default:
		return v
	}
}

// series is the recording as promtool's input, with the labels that Prometheus adds to a target.
func (r recording) series() []inputSeries {
	names := map[string]bool{}
	for i := range r {
		for name := range r[i].samples {
			names[name] = true
		}
	}
	target := `instance="shop:7878",job="rowrelay"`
	list := []inputSeries{}
	up := []string{}
	for i := range r {
		up = append(up, strconv.Itoa(map[bool]int{true: 1}[r[i].samples != nil]))
	}
	list = append(list, inputSeries{"up{" + target + "}", strings.Join(up, " ")})
	for name := range names {
		values := []string{}
		for i := range r {
			text := "_"
			if v, ok := r[i].samples[name]; ok {
				text = strconv.FormatFloat(r.value(name, &r[i], v), 'f', -1, 64)
			}
			values = append(values, text)
		}
		metric, labels, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
		if labels != "" {
			labels = "," + labels
		}
		list = append(list, inputSeries{metric + "{" + target + labels + "}", strings.Join(values, " ")})
	}
	sort.Slice(list, func(i, k int) bool { return list[i].Series < list[k].Series })
	return list
}

type inputSeries struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

// question is an expression that promtool evaluates at the end of the recording, and the samples that it must have.
type question struct {
	Expr    string   `json:"expr"`
	At      string   `json:"eval_time"`
	Samples []sample `json:"exp_samples"`
}

type sample struct {
	Labels string  `json:"labels"`
	Value  float64 `json:"value"`
}

// ask lets promtool run rules over the recording, and returns what it says where the answers are not the expected ones.
// JSON is YAML.
func (r recording) ask(t *testing.T, rules string, questions []question) (string, bool) {
	t.Helper()
	return r.askOver(t, rules, r.series(), questions)
}

// askOver does so over other series of the same times.
func (r recording) askOver(t *testing.T, rules string, series []inputSeries, questions []question) (string, bool) {
	t.Helper()
	path, err := filepath.Abs(rules)
	if err != nil {
		t.Fatal(err)
	}
	for i := range questions {
		questions[i].At = (time.Duration(len(r)-1) * step).String()
	}
	text, err := json.Marshal(map[string]any{
		"rule_files": []string{path}, "evaluation_interval": "1m",
		"tests": []any{map[string]any{"interval": step.String(), "input_series": series, "promql_expr_test": questions}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "test.yaml")
	testfile.Write(t, file, text)
	out, err := exec.CommandContext(t.Context(), promtool(t), "test", "rules", file).CombinedOutput()
	return string(bytes.TrimSpace(out)), err == nil
}

// promtool is Prometheus' own checker. It is required: the rules are worth what it says of them.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is missing: apt-get install prometheus (scripts/services.sh does)")
	}
	return path
}
