package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/config"
)

// What is mistyped fails, does nothing, and says what to write; a command that only has others below it shows its help.
func TestMistakesAreExplained(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"rnu":                      "there is no command rowrelay rnu: did you mean rowrelay run?",
		"state pasue orders":       "there is no command rowrelay state pasue: did you mean rowrelay state pause?",
		"outbox xyz":               "there is no command rowrelay outbox xyz: rowrelay outbox --help lists those that there are",
		"deadletter lst orders":    "did you mean rowrelay deadletter list?",
		"run --onec":               "unknown flag: --onec: rowrelay run --help lists the flags",
		"state reset orders --two": "rowrelay state reset --help lists the flags",
	} {
		var out, errs bytes.Buffer
		err := run(context.Background(), strings.Fields(line), nil, nil, &out, &errs)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
		if out.Len() > 0 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %v\n%s", line, err, out.String())
		}
	}
	for _, line := range []string{"", "state", "outbox", "deadletter"} {
		var out, errs bytes.Buffer
		if err := run(context.Background(), strings.Fields(line), nil, nil, &out, &errs); err != nil ||
			!strings.Contains(out.String(), "Available Commands:") {
			t.Errorf("%q: %v\n%s", line, err, out.String())
		}
	}
}

// The settings that --help begins with are without a fault.
func TestSmallestSettingsAreRight(t *testing.T) {
	var environ []string
	for line := range strings.Lines(smallest) {
		environ = append(environ, strings.TrimSpace(line))
	}
	app, err := config.Load(environ)
	if err != nil || len(app.Pollers) != 1 {
		t.Errorf("%v", err)
	}
}
