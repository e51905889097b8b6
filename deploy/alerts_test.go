// Package deploy_test proves what lies in deploy/ and is not Go: here the alert rules and the board, with the metrics
// of the real program, sick and healthy.
package deploy_test

import (
	"fmt"
	"os/exec"
	"slices"
	"sort"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// rule is an alert of alerts.yaml.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func alertRules(t *testing.T) []rule {
	t.Helper()
	text := testfile.Read(t, "alerts.yaml")
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// Every rule says how bad it is, what is wrong, what to do, and where more of that stands.
func TestAlertRulesSayWhatToDo(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), promtool(t), "check", "rules",
		"alerts.yaml").CombinedOutput(); err != nil {
		t.Fatalf("promtool check rules: %v\n%s", err, out)
	}
	for _, r := range alertRules(t) {
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s has the severity %q", r.Alert, r.Labels["severity"])
		}
		if r.Annotations["summary"] == "" || len(r.Annotations["description"]) < 80 {
			t.Errorf("%s does not say what is wrong and what to do", r.Alert)
		}
		if want := "docs/operations.md#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], want) {
			t.Errorf("%s has the runbook %q, not %s", r.Alert, r.Annotations["runbook_url"], want)
		}
	}
}

// What each sick poller of the sick application makes fire. The poller "healthy" is beside them.
var expected = map[string][]string{
	"healthy":     nil,
	"down":        {"RowrelayDestinationDown", "RowrelayTicksFailing", "RowrelayNoSuccess"},
	"forbidden":   {"RowrelayDestinationDown", "RowrelayTicksFailing", "RowrelayNoSuccess"},
	"stuck":       {"RowrelayTicksFailing", "RowrelayNoSuccess", "RowrelayNeedsOperator"},
	"slow":        {"RowrelayLag"},
	"flooded":     {"RowrelayBacklog"},
	"leased":      {"RowrelayLeaseStale", "RowrelayNoSuccess"},
	"refused":     {"RowrelayParked"},
	"dead":        {"RowrelayDeadLetters"},
	"held":        {"RowrelayHeldBack"},
	"skipped":     {"RowrelaySkippedRows"},
	"moved":       {"RowrelayNeedsOperator", "RowrelaySkippedRows"},
	"nulls":       {"RowrelayNullCursors"},
	"paused":      {"RowrelayPaused"},
	"events":      {"RowrelayOutboxDeadLetters"},
	"behind":      {"RowrelayOutboxLag", "RowrelayDestinationDown", "RowrelayTicksFailing", "RowrelayNoSuccess"},
	"uncleanable": {"RowrelayOutboxCleanupFailing"},
}

// fired is every alert that fired at any time of the recording, with its poller.
const fired = `count by (alertname, poller) (max_over_time(ALERTS{alertstate="firing"}[1d])) * 0 + 1`

func firing(alerts map[string][]string) []sample {
	samples := []sample{}
	for poller, names := range alerts {
		for _, name := range names {
			labels := fmt.Sprintf(`{alertname=%q}`, name)
			if poller != "" {
				labels = fmt.Sprintf(`{alertname=%q, poller=%q}`, name, poller)
			}
			samples = append(samples, sample{labels, 1})
		}
	}
	return samples
}

// The real program runs sick in every way that an alert is for, and healthy; its real scrapes are the series over which
// Prometheus' own engine runs the rules. Exactly the expected alerts fire.
func TestAlertsFireForASickProgramAndNotForAHealthyOne(t *testing.T) {
	t.Parallel()
	var sick, healthy, gone recording
	t.Run("run", func(t *testing.T) {
		t.Run("sick", func(t *testing.T) { t.Parallel(); sick = runSick(t) })
		t.Run("healthy", func(t *testing.T) { t.Parallel(); healthy, gone = runHealthy(t) })
	})
	if t.Failed() {
		return
	}
	t.Run("sick", func(t *testing.T) {
		if said, ok := sick.ask(t, "alerts.yaml", []question{{Expr: fired, Samples: firing(expected)}}); !ok {
			t.Errorf("other alerts fired than expected:\n%s", said)
		}
	})
	t.Run("healthy", func(t *testing.T) {
		if said, ok := healthy.ask(t, "alerts.yaml", []question{{Expr: fired, Samples: []sample{}}}); !ok {
			t.Errorf("alerts fired:\n%s", said)
		}
	})
	t.Run("gone", func(t *testing.T) {
		if said, ok := gone.ask(t, "alerts.yaml", []question{{Expr: fired, Samples: firing(map[string][]string{
			"": {"RowrelayDown"}, "orders": {"RowrelayNoSuccess"}, "stamped": {"RowrelayNoSuccess"},
			"events": {"RowrelayNoSuccess"},
		})}}); !ok {
			t.Errorf("other alerts fired than expected:\n%s", said)
		}
	})
	t.Run("two deployments", func(t *testing.T) { checkDeployments(t, sick) })
	t.Run("every rule has a case", func(t *testing.T) {
		cases := []string{"RowrelayDown"}
		for _, names := range expected {
			cases = append(cases, names...)
		}
		var rules []string
		for _, r := range alertRules(t) {
			rules = append(rules, r.Alert)
		}
		sort.Strings(cases)
		sort.Strings(rules)
		if cases = slices.Compact(cases); !slices.Equal(cases, rules) {
			t.Errorf("the rules are\n%q, the cases\n%q", rules, cases)
		}
	})
	t.Run("board", func(t *testing.T) { checkBoard(t, sick) })
	t.Run("document", func(t *testing.T) { checkDocument(t, sick) })
}
