package mode

import (
	"strings"
	"testing"
)

func TestEveryModeHasItsTables(t *testing.T) {
	for _, m := range All() {
		if abilities[m] == 0 {
			t.Errorf("%s has no abilities", m)
		}
		for o := Inspect; o <= Backfill; o++ {
			if commands[m][o] == "" {
				t.Errorf("%s has no command for the operation %d", m, o)
			}
		}
	}
	if len(abilities) != len(All()) || len(commands) != len(All()) {
		t.Error("a table has a mode that All does not name")
	}
}

func TestAFaultyModeCountsAsCursor(t *testing.T) {
	m := Mode("")
	if !m.Can(Document) || m.Can(Marks) || m.Command(Pause, "orders", "") != "rowrelay state pause orders" {
		t.Errorf("Document %t, Marks %t, it pauses by %q", m.Can(Document), m.Can(Marks), m.Command(Pause, "orders", ""))
	}
}

func TestCommandsNameTheEvent(t *testing.T) {
	for m, want := range map[Mode]string{
		Cursor: "rowrelay deadletter replay orders {}",
		Outbox: "rowrelay outbox requeue orders --id {}",
	} {
		if got := m.Command(ReplayOne, "orders", "{}"); got != want {
			t.Errorf("%s: %q, want %q", m, got, want)
		}
	}
}

func TestDocumentCommandsNameTheOutboxCommand(t *testing.T) {
	for typed, want := range map[string]string{
		"state show":        "outbox status orders",
		"state reset":       "outbox requeue orders",
		"state pause":       "outbox pause orders",
		"state resume":      "outbox resume orders",
		"state accept-gap":  "outbox status orders",
		"deadletter show":   "outbox list orders --id <seq>",
		"deadletter list":   "outbox list orders",
		"deadletter replay": "outbox requeue orders",
		"deadletter purge":  "outbox discard orders",
		"backfill":          "outbox requeue orders",
	} {
		want = "Use rowrelay " + want
		err := Outbox.NoDocument("orders", "rowrelay "+typed)
		if !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", typed, err)
		}
	}
}
