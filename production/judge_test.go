package production

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// untold are the items that nobody can decide from here: a person has to look. The list is short on purpose.
var untold = []string{"idempotent", "alerts", "recovery", "runbook"}

// TestNoItemIsAYesMan: each item has a case by which it is to mend, and the items that can never be decided are the
// pinned ones. The cases themselves are tried by the test of their group.
func TestNoItemIsAYesMan(t *testing.T) {
	mends := map[string]bool{}
	for _, c := range cases() {
		mends[c.id] = mends[c.id] || c.want == ToMend
	}
	var never []string
	for _, i := range checklist() {
		if i.untold {
			never = append(never, i.id)
		}
		if mends[i.id] == i.untold {
			t.Errorf("%s: no facts here make it to mend", i.id)
		}
	}
	if !slices.Equal(never, untold) {
		t.Errorf("the items that cannot be told are %q, want %q", never, untold)
	}
}

// TestGoodAppsHaveNothingToMend: of an app that is ready no item is to mend, and the items that are never decided are
// not.
func TestGoodAppsHaveNothingToMend(t *testing.T) {
	identity := []string{"state__kind=blob", "state__connection=S", "S__blobServiceUri=https://shop.blob.core.windows.net"}
	for _, settings := range [][]string{nil, {outboxMode}, identity} {
		f, _ := factsOf(t, settings...)
		report := Judge(f, nil)
		if report.ToMend() != 0 || report.App != "shop" {
			t.Errorf("%q: %+v", settings, report.Counts)
		}
		for _, i := range report.Items {
			for _, a := range i.Answers {
				if a.Verdict == ToMend || slices.Contains(untold, i.ID) && a.Verdict != CannotTell {
					t.Errorf("%q: %s is %s: %s", settings, i.ID, a.Verdict, a.Seen)
				}
			}
		}
	}
}

// TestAccepted: an item that is meant to be so is shown with its verdict, and not counted as to mend; one that is in
// order stays so.
func TestAccepted(t *testing.T) {
	f, _ := factsOf(t, "pollers__orders__ordering=none", "pollers__orders__source__start=latest")
	report := Judge(f, []string{"ordering", "lag"})
	if report.ToMend() != 1 || report.Counts["accepted"] != 1 {
		t.Errorf("%+v", report.Counts)
	}
	for _, i := range report.Items {
		a := i.Answers[0]
		if a.Accepted != (i.ID == "ordering") || a.Accepted && a.Verdict != ToMend {
			t.Errorf("%s: %+v", i.ID, a)
		}
	}
	if !Known("ordering") || Known("ordning") {
		t.Error("which items there are")
	}
}

// TestEachPollerIsAnswered: an item of pollers has an answer for each, by its name, in one line.
func TestEachPollerIsAnswered(t *testing.T) {
	f, p := factsOf(t)
	second := *p
	cfg := *p.Config
	second.Config, cfg.Name = &cfg, "lines"
	second.Table.Index = "lines_tx\nON lines"
	f.Pollers = append(f.Pollers, &second)
	for _, i := range Judge(f, nil).Items {
		if i.ID == "index" && (len(i.Answers) != 2 || i.Answers[0].Of != "orders" || i.Answers[1].Of != "lines" ||
			i.Answers[1].Seen != "lines_tx ON lines") {
			t.Errorf("%+v", i.Answers)
		}
		if i.ID == "settings" && (len(i.Answers) != 1 || i.Answers[0].Of != "") {
			t.Errorf("%+v", i.Answers)
		}
	}
	var b strings.Builder
	if err := Judge(f, nil).WriteText(&b); err != nil ||
		!strings.Contains(b.String(), "index            lines: lines_tx ON lines\n") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestLagRingsWithTheAlert: the item says to mend what the alert would ring for.
func TestLagRingsWithTheAlert(t *testing.T) {
	text := testfile.Read(t, "../deploy/alerts.yaml")
	m := regexp.MustCompile(`rowrelay_lag_seconds\) > (\d+)\n`).FindSubmatch(text)
	if m == nil || string(m[1]) != "300" || longestGap != 300*time.Second {
		t.Errorf("deploy/alerts.yaml has %q, and the item %s", m, longestGap)
	}
}
