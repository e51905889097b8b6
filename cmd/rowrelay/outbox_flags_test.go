package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/publisher"
)

// isQuiet reports whether an error fails the process without being shown again.
func isQuiet(err error) bool {
	var quiet *exitError
	return errors.As(err, &quiet)
}

// parsed are the flags of a command line, as requeue and discard take them; listing as list does.
func parsed(t *testing.T, listing bool, args ...string) *choiceOfEvents {
	t.Helper()
	var f choiceOfEvents
	limit := 0
	if listing {
		limit = listed
	}
	if err := f.flags(&cobra.Command{}, "dead", limit).ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return &f
}

// A flag that was given without a value is a script's mistake: it must not choose every event.
func TestFlagsWithoutValuesAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--id", ""}, {"--id="}, {"--id", "1", "--id", ""}, {"--key", ""}, {"--key", "k1", "--key", ""}, {"--aggregate", ""},
		{"--aggregate-type", ""},
		{"--event-type", ""}, {"--state", ""}, {"--older-than", "0s"}, {"--older-than", "0"}, {"--younger-than", "0h"},
		{"--limit", "0"},
	} {
		o := &fakeOutbox{events: some()}
		d, _, _ := outboxOf(o, "")
		d.yes = true
		name, _, _ := strings.Cut(args[0], "=")
		for _, change := range []func(context.Context, *choiceOfEvents) error{d.requeue, d.discard} {
			err := change(t.Context(), parsed(t, false, args...))
			if err == nil || !strings.Contains(err.Error(), name+" is ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v", args, err)
			}
		}
		if got := o.states(); got != untouched {
			t.Errorf("%q: %s", args, got)
		}
		if err := d.list(t.Context(), parsed(t, true, args...)); (err == nil) != (name == "--limit") {
			t.Errorf("list %q: %v", args, err)
		}
	}
	if _, err := parsed(t, false, "--id", "", "--older-than", "0s").filter(nil, nil); err == nil ||
		!strings.Contains(err.Error(), "--id is empty") ||
		!strings.Contains(err.Error(), "--older-than is zero") {
		t.Errorf("two at once: %v", err)
	}
	if _, err := parsed(t, false, "--id", "1", "--aggregate", "0", "--older-than", "1s", "--limit", "1").filter(nil,
		nil); err != nil {
		t.Error(err)
	}
}

// The same of dead letters that are no outbox's.
func TestDeadLetterFlagsWithoutValuesAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--cause", ""}, {"--reason", ""}, {"--key="}, {"--since", "0s"}, {"--until", "0"}} {
		var l letters
		other, cmd := l.filters(&cobra.Command{}), l.filters(&cobra.Command{})
		if err := errors.Join(other.ParseFlags(nil), cmd.ParseFlags(args)); err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(args[0], "=")
		if err := l.check(nil); err == nil || !strings.Contains(err.Error(), name+" is ") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if err := new(letters).check([]string{"a", ""}); err == nil {
		t.Error("an empty id is taken")
	}
}

// An id is never a key, and neither is split at a comma.
func TestIDsAndKeysAreNotSplit(t *testing.T) {
	f, err := parsed(t, false, "--id", "1", "--id", "a,b", "--key", "x,y", "--key", "1").filter(nil, nil)
	if err != nil || strings.Join(f.IDs, "|") != "1|a,b" || strings.Join(f.Keys, "|") != "x,y|1" {
		t.Errorf("%+v, %v", f, err)
	}
	o := &fakeOutbox{events: some()}
	o.events[0].IdempotencyKey = "6" // the number of the other dead letter
	d, _, _ := outboxOf(o, "")
	d.yes = true
	if err := d.discard(t.Context(), parsed(t, false, "--key", "6")); err != nil {
		t.Fatal(err)
	}
	if got := o.states(); got != "DISCARDED,WAITING,PUBLISHED,FAILED,PENDING,DEAD LETTER" {
		t.Error(got)
	}
}

// What was named and is not there is said, before anything is done and at its end.
func TestUnmatchedIDsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"one of two": {[]string{"--id", "6", "--id", "77"}, "done: 1; no such event has --id 77"},
		"a key":      {[]string{"--id", "6", "--key", "$(x) y"}, "done: 1; no such event has --key '$(x) y'"},
		"both": {[]string{"--id", "78", "--id", "6", "--key", "no"},
			"done: 1; no such event has --id 78, --key no"},
		"of another state": {[]string{"--id", "6", "--id", "3"}, "done: 1; no such event has --id 3"},
		"all are there":    {[]string{"--id", "006", "--id", "6"}, "done: 1\n"},
		"beyond the limit": {[]string{"--id", "1", "--id", "6", "--limit", "1"}, "done: 1\n"},
		"percent signs":    {[]string{"--id", "6", "--key", "100%d"}, "done: 1; no such event has --key '100%d'"},
	} {
		o := &fakeOutbox{events: some()}
		d, out, _ := outboxOf(o, "")
		d.yes = true
		if err := d.requeue(t.Context(), parsed(t, false, c.args...)); err != nil || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if strings.Contains(c.says, "no such event has") && strings.Count(out.String(), "no such event has") != 2 {
			t.Errorf("%s: it has to be said before the question, too:\n%s", name, out)
		}
	}
	d, out, _ := outboxOf(&fakeOutbox{events: some()}, "")
	d.yes = true
	err := d.requeue(t.Context(), parsed(t, false, "--id", "77", "--key", "no"))
	if err == nil || !strings.Contains(err.Error(), "no such event has --id 77, --key no") {
		t.Errorf("what was named and is nowhere fails the command: %v\n%s", err, out)
	}
}

// No more is shown than is changed.
func TestLimitShowsWhatItChanges(t *testing.T) {
	o := &fakeOutbox{events: append(some(), some()...)}
	d, out, _ := outboxOf(o, "")
	d.dryRun = true
	if err := d.requeue(t.Context(), &choiceOfEvents{limit: 2}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "DEAD LETTER"); n != 2 {
		t.Errorf("%d events are shown, 2 would be changed:\n%s", n, out)
	}
}

// An empty clean-up speaks of no chunks, and of another one that is under way.
func TestEmptyCleanup(t *testing.T) {
	for says, did := range map[string]publisher.Cleaned{"done: 0 event(s) were deleted: none": {Chunks: 1},
		"another clean-up is under way": {}} {
		d, out, _ := outboxOf(&fakeOutbox{}, "")
		d.Events = cleaned{did: did}
		if err := d.cleanup(t.Context()); err != nil || !strings.Contains(out.String(), says) ||
			strings.Contains(out.String(), "chunk(s)") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

type cleaned struct {
	publisher.Operator
	did publisher.Cleaned
}

func (c cleaned) Cleanup(context.Context, func(int64)) (publisher.Cleaned, error) { return c.did, nil }

// Ctrl-C at the question ends it, though nothing is typed.
func TestStopAtTheQuestion(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close() //nolint:errcheck // nothing is under way
	stop := make(chan struct{})
	time.AfterFunc(10*time.Millisecond, func() { close(stop) })
	var out bytes.Buffer
	if err := confirm(&console{in: in, out: &out, err: &out, stop: stop}, "orders"); err == nil ||
		err.Error() != "stopped: nothing was changed" {
		t.Error(err)
	}
}

// What an operator does with the rows needs nothing of the output, nor of fan-out, to be right.
func TestDeskNeedsOnlyTheTable(t *testing.T) {
	good := []string{"DB=sqlite:" + filepath.Join(t.TempDir(), "shop.db"), "pollers__events__source__mode=outbox",
		"pollers__events__source__connection=DB",
		"pollers__events__source__table=outbox"}
	for name, c := range map[string]struct {
		more []string
		err  string
	}{
		"no output": {nil, ""},
		"a broker not set": {[]string{"pollers__events__output__kind=rabbitmq",
			"pollers__events__output__connection=MQ"}, ""},
		"a broken broker": {[]string{"pollers__events__output__kind=rabbitmq",
			"pollers__events__output__connection=MQ", "MQ=http://x"}, ""},
		"a broker of a like name": {[]string{"pollers__events__output__kind=rabbitmq",
			"pollers__events__output__connection=DB_MQ", "DB_MQ=http://x"}, ""},
		"a misspelt poller": {[]string{"poller__events__source__claim_ttl=9s"}, "poller__events__source__claim_ttl"},
		"fan-out half set": {[]string{"pollers__events__output__kind=stdout",
			"pollers__events__source__fanout_queue=parts"}, ""},
		"a schedule": {[]string{"pollers__events__output__kind=stdout",
			"pollers__events__source__cleanup_schedule=never", "pollers__events__schedule=x"}, ""},
		"a number": {[]string{"pollers__events__batch_size=many", "pollers__events__max_attempts=none",
			"pollers__events__tick_budget=x"}, ""},
		"dead letters":   {[]string{"pollers__events__dead_letter__kind=queue"}, ""},
		"another poller": {[]string{"pollers__orders__batch_size=0"}, ""},
		"the app":        {[]string{"state__kind=paper"}, ""},
		"the claims": {[]string{"pollers__events__source__claim_ttl=soon"},
			"pollers__events__source__claim_ttl"},
		"the strategy":        {[]string{"pollers__events__source__strategy=best"}, "pollers__events__source__strategy"},
		"a misspelt setting":  {[]string{"pollers__events__source__tabel=x"}, "pollers__events__source__tabel"},
		"the order":           {[]string{"pollers__events__ordering=any"}, "pollers__events__ordering"},
		"no connection":       {[]string{"pollers__events__source__connection=ABSENT"}, "ABSENT, which is not set"},
		"a broken connection": {[]string{"DB=nonsense"}, "DB"},
		"it is no outbox": {[]string{"pollers__events__source__mode=cursor", "pollers__events__source__cursor=id"},
			"is no outbox"},
	} {
		env := map[string]string{}
		for _, pair := range append(good[:len(good):len(good)], c.more...) {
			key, value, _ := strings.Cut(pair, "=")
			env[key] = value
		}
		var out bytes.Buffer
		con := &console{out: &out, err: &out}
		for key, value := range env {
			con.environ = append(con.environ, key+"="+value)
		}
		d, err := (&target{console: con}).outbox("events")
		if err == nil {
			d.end()
		}
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}

// What standard output gives to events it does not give to log lines.
func TestLogLinesStayOutOfTheEvents(t *testing.T) {
	for kind, want := range map[string]bool{"stdout": true, "http": false} {
		var out, errs bytes.Buffer
		cfg := &config.App{Log: config.Log{Level: "info"},
			Pollers: []*config.Poller{{}, {Outputs: []config.Output{{Kind: "http"}, {Kind: kind}}}}}
		newLogger(&console{out: &out, err: &errs}, cfg).Info("hello")
		if (out.Len() == 0) != want || (errs.Len() > 0) != want {
			t.Errorf("%s: out %q, err %q", kind, &out, &errs)
		}
	}
}
