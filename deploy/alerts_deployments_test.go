package deploy_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// deployment is where series come from, as Prometheus labels them.
type deployment struct{ namespace, job string }

// of is a recording's series as those of this deployment, with the same address as any other's.
func (d deployment) of(series []inputSeries) (list []inputSeries) {
	for _, s := range series {
		s.Series = strings.Replace(s.Series, `job="rowrelay"`, fmt.Sprintf(`namespace=%q,job=%q`, d.namespace, d.job), 1)
		list = append(list, s)
	}
	return list
}

var pollerLabel = regexp.MustCompile(`poller="(\w+)"`)

// as are the series of one poller under the names of others, and those of no poller.
func as(poller string, names []string, series []inputSeries) (list []inputSeries) {
	for _, s := range series {
		m := pollerLabel.FindStringSubmatch(s.Series)
		switch {
		case m == nil:
			list = append(list, s)
		case m[1] == poller:
			for _, name := range names {
				list = append(list, inputSeries{strings.Replace(s.Series, m[0], fmt.Sprintf("poller=%q", name), 1), s.Values})
			}
		}
	}
	return list
}

var grouping = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)

// Every rule that adds up or compares series does so for each deployment by itself.
func TestAlertRulesTellDeploymentsApart(t *testing.T) {
	t.Parallel()
	for _, r := range alertRules(t) {
		groups := grouping.FindAllStringSubmatch(r.Expr, -1)
		if len(groups) == 0 && r.Alert != "RowrelayDown" { // which is of each instance
			t.Errorf("%s does not say of what it speaks: %s", r.Alert, r.Expr)
		}
		for _, g := range groups {
			if !strings.HasPrefix(g[1], "namespace, job, ") {
				t.Errorf("%s groups by %s: another deployment's pollers may have the same names", r.Alert, g[1])
			}
		}
	}
}

// checkDeployments puts other deployments beside the sick one, whose pollers have the same names and are healthy,
// paused, or outboxes: none hides what is wrong with it, and a second sick one is told by itself. So the labels in "by"
// and "on" of every rule are right.
func checkDeployments(t *testing.T, sick recording) {
	t.Helper()
	names := []string{}
	for name := range expected {
		names = append(names, name)
	}
	slices.Sort(names)
	series := sick.series()
	paused := func(series []inputSeries) []inputSeries {
		for i := range series {
			if strings.HasPrefix(series[i].Series, "rowrelay_paused{") {
				series[i].Values = strings.TrimSpace(strings.Repeat("1 ", len(sick)))
			}
		}
		return series
	}
	all, wanted := []inputSeries{}, []sample{}
	for d, its := range map[deployment][]inputSeries{
		{"prod", "rowrelay"}:       series,
		{"prod", "rowrelay-again"}: series,
		{"staging", "rowrelay"}:    as("healthy", names, series),
		{"prod", "rowrelay-twin"}:  as("healthy", names, series),
		{"paused", "rowrelay"}:     paused(as("healthy", names, series)),
		{"outboxes", "rowrelay"}:   as("behind", names, series),
	} {
		all = append(all, d.of(its)...)
		for _, name := range names {
			alerts := expected[name]
			switch d.namespace {
			case "staging":
				alerts = nil
			case "paused":
				alerts = []string{"RowrelayPaused"}
			case "outboxes":
				alerts = expected["behind"]
			}
			if d.job == "rowrelay-twin" {
				alerts = nil
			}
			for _, alert := range alerts {
				wanted = append(wanted, sample{fmt.Sprintf(`{alertname=%q, namespace=%q, job=%q, poller=%q}`, alert, d.namespace,
					d.job, name), 1})
			}
		}
	}
	by := strings.Replace(fired, "by (alertname, poller)", "by (alertname, namespace, job, poller)", 1)
	if said, ok := sick.askOver(t, "alerts.yaml", all, []question{{Expr: by, Samples: wanted}}); !ok {
		t.Errorf("other alerts fired than expected:\n%s", said)
	}
}
