package commandline

import (
	"slices"
	"testing"
)

func TestPlaceholders(t *testing.T) {
	for use, want := range map[string][]string{
		"run [poller ...]":                {"[poller ...]"},
		"clone <poller> <new poller>":     {"<poller>", "<new poller>"},
		"replay <poller> [event id ...]":  {"<poller>", "[event id ...]"},
		"reset <poller> --to beginning|x": {"<poller>"},
		"version":                         nil,
		"broken <poller":                  nil,
		"import <poller> <file> [flags]":  {"<poller>", "<file>", "[flags]"},
		"odd   <poller>  <file>":          {"<poller>", "<file>"},
		"man --dir DIR":                   nil,
	} {
		if got := placeholders(use); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", use, got, want)
		}
	}
}
