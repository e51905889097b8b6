package status

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// TestStatusLeadsToWhatToDo: an output that is not well names the runbook's heading about it, and the words.
func TestStatusLeadsToWhatToDo(t *testing.T) {
	print := func(o Output) string {
		var out strings.Builder
		if err := (&Report{Outputs: []Output{o}}).WriteText(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	text := print(Output{Poller: "orders", Health: Failing,
		LastError: &Problem{Text: "503", Event: string(poller.HandlerFailed)}})
	for _, want := range []string{RunbookPage + "the-destination-fails", GlossaryPage} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in:\n%s", want, text)
		}
	}
	if text = print(Output{Poller: "orders", Health: Healthy}); strings.Contains(text, "https://") {
		t.Errorf("a healthy one:\n%s", text)
	}
}

// The next run has its day where that is not today, in UTC.
func TestTheNextRunHasItsDay(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 59, 0, 0, time.UTC)
	for next, want := range map[time.Time]string{
		now.Add(30 * time.Second): "next at 23:59:30",
		now.Add(time.Minute):      "next at 2026-03-02 00:00:00",
		now.AddDate(1, 0, 0):      "next at 2027-03-01 23:59:00",
	} {
		if said := (&Output{NextRun: &next}).ticks(now.In(time.FixedZone("", 3600))); said != want {
			t.Errorf("%q, want %q", said, want)
		}
	}
}
