package status

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/poller"
)

// TestRunbook: every failure, and every health that is not good, leads to a heading of the page that says what to do.
func TestRunbook(t *testing.T) {
	page := testfile.Read(t, "../docs/operations.md")
	headings := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(page), -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		headings[strings.ReplaceAll(plain, " ", "-")] = true
	}
	outputs := []Output{{Health: Failing}, {Health: Parked, DeadLetters: 1},
		{Health: Blocked, HeldBack: &HeldBack{}},
		{Health: Failing, LastError: &Problem{Event: "panic"}}}
	for _, event := range slices.Sorted(maps.Keys(byEvent)) {
		if !event.Fails() {
			t.Errorf("%s is no failure", event)
		}
		outputs = append(outputs, Output{Health: Failing, LastError: &Problem{Event: string(event)}})
	}
	for _, health := range Healths[:6] {
		outputs = append(outputs, Output{Health: health})
	}
	for i := range outputs {
		heading, ok := strings.CutPrefix(outputs[i].Runbook(), RunbookPage)
		if !ok || !headings[heading] {
			t.Errorf("%+v leads to %q", outputs[i], heading)
		}
	}
	if at := (&Output{Health: Healthy}).Runbook(); at != "" {
		t.Error(at)
	}
	for _, event := range []poller.Event{poller.HandlerFailed, poller.FetchFailed, poller.SourceGap, poller.StateGone} {
		if byEvent[event] == "" {
			t.Errorf("%s leads nowhere of its own", event)
		}
	}
}
