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
		"state pause":              "rowrelay state pause does not take 0 argument(s): write rowrelay state pause <poller>",
		"state clone orders":       "write rowrelay state clone <poller> <new poller>",
		"state pause orders other": "write rowrelay state pause <poller>",
		"outbox init":              "write rowrelay outbox init <poller>",
		"deadletter replay":        "write rowrelay deadletter replay <poller> [event id ...]",
		"version now":              "write rowrelay version",
		"help stat":                "there is no command rowrelay stat: did you mean rowrelay state or rowrelay status?",
		"help state pasue":         "there is no command rowrelay state pasue: did you mean rowrelay state pause?",
		"completion zish":          "there is no command rowrelay completion zish: did you mean rowrelay completion bash or rowrelay completion fish or rowrelay completion zsh?",
	} {
		var out, errs bytes.Buffer
		err := execute(context.Background(), strings.Fields(line), nil, nil, &out, &errs)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "arg(s)") ||
			exitCode(err) != 2 {
			t.Errorf("%s: %v (exit code %d)", line, err, exitCode(err))
		}
		if out.Len() > 0 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %v\n%s", line, err, out.String())
		}
	}
	const list = "Available Commands:"
	for line, want := range map[string]string{
		"": list, "state": list, "outbox": list, "deadletter": list, "help": list, "help state pause": "Pause works",
		"completion": "zsh", "completion bash": "complete",
	} {
		var out, errs bytes.Buffer
		if err := execute(context.Background(), strings.Fields(line), nil, nil, &out, &errs); err != nil ||
			!strings.Contains(out.String(), want) {
			t.Errorf("%q: %v\n%s", line, err, out.String())
		}
	}
}

// A database that is not there: check, and the tick, say once what is the matter, and begin with it.
func TestFaultsOfTheSourceAreSaidOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	environ := []string{"SHOP_DB=sqlite:gone.db", "state__kind=file", "pollers__orders__source__connection=SHOP_DB",
		"pollers__orders__source__table=orders", "pollers__orders__source__cursor=id",
		"pollers__orders__output__kind=stdout"}
	for _, line := range []string{"check", "run --once"} {
		var out, errs bytes.Buffer
		err := execute(context.Background(), strings.Fields(line), environ, nil, &out, &errs)
		if err == nil {
			t.Errorf("%s succeeds", line)
			continue
		}
		said := out.String() + errs.String() + err.Error()
		if strings.Count(said, "configuration: sqlite orders: the file cannot be opened") != 1 ||
			strings.Contains(said, ": configuration: ") {
			t.Errorf("%s: %s", line, said)
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
