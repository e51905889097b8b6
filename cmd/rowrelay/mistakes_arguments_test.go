package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestWrongArgumentsAreExplained: how many there are to be is said by the command's own usage.
func TestWrongArgumentsAreExplained(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"state pause":              "write rowrelay state pause <poller>",
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
		err := run(context.Background(), strings.Fields(line), nil, nil, &out, &errs)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "arg(s)") || out.Len() > 0 {
			t.Errorf("%s: %v\n%s", line, err, out.String())
		}
	}
	for line, want := range map[string]string{
		"help": "Available Commands:", "help state pause": "Pause works", "completion": "zsh", "completion bash": "complete",
	} {
		var out, errs bytes.Buffer
		if err := run(context.Background(), strings.Fields(line), nil, nil, &out, &errs); err != nil ||
			!strings.Contains(out.String(), want) {
			t.Errorf("%s: %v\n%s", line, err, out.String())
		}
	}
}
