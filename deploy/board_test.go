package deploy_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// panel is what the test reads of a panel of the board.
type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource struct{ UID string }
	GridPos    struct{ H, W, X, Y int }
	Targets    []struct {
		Expr       string
		Datasource struct{ UID string }
	}
}

func board(t *testing.T) (panels []panel, variables []string) {
	t.Helper()
	text := testfile.Read(t, "grafana/rowrelay.json")
	var file struct {
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
		Panels []panel
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Templating.List {
		variables = append(variables, v.Name)
	}
	return file.Panels, variables
}

// The board has its rows, asks the data source that the viewer chose, and no panel lies upon another.
func TestTheBoardCanBeImported(t *testing.T) {
	panels, variables := board(t)
	if !slices.Equal(variables, []string{"datasource", "namespace", "job", "poller", "output"}) {
		t.Errorf("the variables are %q", variables)
	}
	var rows []string
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok || x >= 24 {
					t.Fatalf("%q lies upon %q, or beyond the board", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%q asks nothing, or not the data source that was chosen", p.Title)
		}
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" {
				t.Errorf("%q asks the data source %q", p.Title, target.Datasource.UID)
			}
		}
	}
	if !slices.Equal(rows, []string{"Overview", "Pollers", "Outboxes", "Runtime"}) {
		t.Errorf("the rows are %q", rows)
	}
}

// filled is an expression as Grafana sends it, with all pollers chosen.
func filled(expr string) string {
	return strings.NewReplacer("$namespace", ".*", "$job", "rowrelay", "$poller", ".*", "$output", ".*",
		"$__rate_interval", "15m").Replace(expr)
}

// checkBoard lets Prometheus' own engine evaluate each expression of the board over what the real program showed: each
// must parse, and have an answer.
func checkBoard(t *testing.T, r recording) {
	panels, _ := board(t)
	exists := r.names()
	var questions []question
	for _, p := range panels {
		for _, target := range p.Targets {
			for _, name := range metricNames(target.Expr) {
				if !exists[name] {
					t.Errorf("the panel %q shows %s, which the program does not have", p.Title, name)
				}
			}
			questions = append(questions, question{Expr: fmt.Sprintf("count(%s) > bool 0", filled(target.Expr)),
				Samples: []sample{{"{}", 1}}})
			if !strings.Contains(target.Expr, `namespace=~"$namespace",job=~"$job"`) {
				t.Errorf("the panel %q is not about the deployment that was chosen: %s", p.Title, target.Expr)
			}
			if by := regexp.MustCompile(`by \([a-z, ]*poller`).FindString(target.Expr); by != "" &&
				!strings.Contains(by, "namespace, job, poller") {
				t.Errorf("the panel %q mixes up deployments: %s", p.Title, target.Expr)
			}
		}
	}
	questions = append(questions, neverSucceeded(t, panels)...)
	if len(questions) < 30 {
		t.Errorf("the board asks only %d questions", len(questions))
	}
	if said, ok := r.ask(t, "alerts.yaml", questions); !ok {
		t.Errorf("panels that cannot be evaluated, or show nothing:\n%s", said)
	}
	for _, rule := range alertRules(t) {
		for _, name := range metricNames(rule.Expr) {
			if !exists[name] {
				t.Errorf("%s asks for %s, which the program does not have", rule.Alert, name)
			}
		}
	}
	// The other way round: what the program measures, somebody can see.
	seen := map[string]bool{}
	for _, p := range panels {
		for _, target := range p.Targets {
			for _, name := range metricNames(target.Expr) {
				seen[name] = true
			}
		}
	}
	for name := range exists {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(name, "rowrelay_") && !seen[name] && !seen[base+"_bucket"] && !seen[base+"_sum"] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// neverSucceeded asks the panels of the last success and the last time drained for the poller "forbidden", which has
// had neither: it is shown with a day, and not left out.
func neverSucceeded(t *testing.T, panels []panel) (questions []question) {
	t.Helper()
	for _, title := range []string{"Longest without success", "Seconds since the last success", "Longest not drained",
		"Seconds since it was last drained"} {
		i := slices.IndexFunc(panels, func(p panel) bool { return p.Title == title })
		if i < 0 {
			t.Fatalf("there is no panel %q", title)
		}
		expr := strings.Replace(filled(panels[i].Targets[0].Expr), `poller=~".*"`, `poller="forbidden"`, 1)
		questions = append(questions, question{Expr: "max(" + expr + ") > bool 3600", Samples: []sample{{"{}", 1}}})
	}
	return questions
}

// checkDocument compares the page with the program: every metric is explained, and none that there is not.
func checkDocument(t *testing.T, r recording) {
	text := testfile.Read(t, "../docs/observability.md")
	exists := map[string]bool{}
	for name := range r.names() {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if strings.HasPrefix(name, "rowrelay_") {
			exists[name] = true
		}
	}
	for _, name := range trackingMetrics() { // no poller of the recordings tracks changes
		exists[name] = true
	}
	told := map[string]bool{}
	for _, name := range metricName.FindAllString(string(text), -1) {
		if strings.HasPrefix(name, "rowrelay_") && !told[name] {
			told[name] = true
			if !exists[name] {
				t.Errorf("docs/observability.md explains %s, which the program does not have", name)
			}
		}
	}
	for name := range exists {
		if !told[name] {
			t.Errorf("docs/observability.md does not explain %s", name)
		}
	}
}

// trackingMetrics are those that only pollers in the mode of change tracking have.
func trackingMetrics() []string {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		handler.NewTrackingMetrics(nil).Describe(descriptions)
		close(descriptions)
	}()
	var names []string
	for d := range descriptions {
		names = append(names, metricName.FindString(d.String()))
	}
	return names
}

var (
	quoted     = regexp.MustCompile(`"[^"]*"`)
	metricName = regexp.MustCompile(`\b(up|(rowrelay|go|process)_[a-z0-9_]+)\b`)
)

// metricNames are the metrics of an expression. What they do in it, Prometheus' parser knows.
func metricNames(expr string) []string {
	return metricName.FindAllString(quoted.ReplaceAllString(expr, `""`), -1)
}

// names are the metrics that a recording holds.
func (r recording) names() map[string]bool {
	names := map[string]bool{"up": true} // Prometheus' own
	for i := range r {
		for series := range r[i].samples {
			name, _, _ := strings.Cut(series, "{")
			names[name] = true
		}
	}
	return names
}
