package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// What a command tells people holds no line of JSON; with --json every line is one.
func TestCommandsDoNotMixTextAndJSON(t *testing.T) {
	s := twoPollers(t)
	s.settings["pollers__orders__max_attempts"] = "1"
	s.receiver(`"id":2`, false)
	s.execute(`INSERT INTO orders VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')`)
	s.tick()
	for _, line := range []string{
		"state pause orders --yes", "state resume orders --yes", "state reset orders --to beginning --yes",
		"deadletter list orders", "deadletter purge orders --yes", "state pause --all --yes", "state resume --all --yes",
	} {
		out, errs, err := s.cli(strings.Fields(line)...)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for text := range strings.Lines(out + errs) {
			if strings.HasPrefix(text, "{") {
				t.Errorf("%s: %s", line, text)
			}
		}
	}
	if _, errs, err := s.cli("state", "pause", "orders", "--yes"); err != nil ||
		!strings.Contains(errs, "event=paused poller=orders") {
		t.Errorf("the audit: %v\n%s", err, errs)
	}
	out, _, err := s.cli("state", "resume", "orders", "--yes", "--json")
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(out) {
		if !json.Valid([]byte(text)) {
			t.Errorf("--json: %s", text)
		}
	}
}

// A dead letter is shown to people in lines, and to machines as it is stored.
func TestDeadLetterShow(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	s.settings["pollers__orders__max_attempts"] = "1"
	s.receiver(`"id":2`, false)
	s.execute(`INSERT INTO orders VALUES (1, 1, 'a'), (2, 2, 'say "no"'), (3, 3, 'c')`)
	s.tick()
	out, _, err := s.cli("deadletter", "list", "orders", "--json")
	var record struct{ ID string }
	if err != nil || json.Unmarshal([]byte(out), &record) != nil || record.ID == "" {
		t.Fatalf("%v\n%s", err, out)
	}
	if shown, _, err := s.cli("deadletter", "show", "orders", record.ID, "--json"); err != nil || shown != out {
		t.Errorf("%v\n%s", err, shown)
	}
	shown, _, err := s.cli("deadletter", "show", "orders", record.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"event      " + record.ID + "\n", "key        {\"id\":2}\n", "after 1 attempt",
		"refused, 422",
		"\n               \"note\": \"say \\\"no\\\"\"\n", "rowrelay deadletter replay orders " + record.ID + "\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in:\n%s", want, shown)
		}
	}
}
