package statuspage

import (
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/status"
)

// TestRunbook: every failure, and every health that is not good, leads to a heading of the page that says what to do.
func TestRunbook(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(page), -1) {
		headings[strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	outputs := []status.Output{{Health: status.Failing}, {Health: status.Parked, DeadLetters: 1},
		{Health: status.Blocked, HeldBack: &status.HeldBack{}},
		{Health: status.Failing, LastError: &status.Problem{Event: "panic"}}}
	for _, event := range slices.Sorted(maps.Keys(byEvent)) {
		if !event.Fails() {
			t.Errorf("%s is no failure", event)
		}
		outputs = append(outputs, status.Output{Health: status.Failing, LastError: &status.Problem{Event: string(event)}})
	}
	for _, health := range status.Healths[:6] {
		outputs = append(outputs, status.Output{Health: health})
	}
	for i := range outputs {
		heading, ok := strings.CutPrefix(runbook(&outputs[i]), runbookPage)
		if !ok || !headings[heading] {
			t.Errorf("%+v leads to %q", outputs[i], heading)
		}
	}
	if at := runbook(&status.Output{Health: status.Healthy}); at != "" {
		t.Error(at)
	}
	for _, event := range []poller.Event{poller.HandlerFailed, poller.FetchFailed, poller.SourceGap, poller.StateGone} {
		if byEvent[event] == "" {
			t.Errorf("%s leads nowhere of its own", event)
		}
	}
	d := newDesk(t, token)
	d.logIn()
	d.wants("page", d.send("GET", "/status?poller=invoices", ""), http.StatusOK,
		`<a href="`+runbookPage+`the-destination-fails" rel="noreferrer">`)
}
