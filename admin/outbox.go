package admin

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Outbox is the outbox of a poller, and what is needed to change it.
type Outbox struct {
	Poller string
	Events publisher.Operator
	// By is the person, for the rows and the log.
	By  string
	Log *slog.Logger
	// Progress is told how far long work is. It may be nil.
	Progress func(done, total int64, line string)
}

// Stopped says how far a change came that was stopped.
type Stopped struct{ Text string }

// Error is Text.
func (s *Stopped) Error() string { return s.Text }

// Pause stops publishing on every instance, until Resume.
func (o *Outbox) Pause(ctx context.Context) (*Plan, error) {
	about, err := o.Events.About(ctx)
	if err != nil {
		return nil, err
	}
	if about.Paused != "" {
		return nil, nothing("%s is paused already: %s", o.Poller, about.Paused)
	}
	p := &Plan{What: fmt.Sprintf("%s will stop on every instance, with the next fetch.", o.Poller)}
	p.apply = func(ctx context.Context, r *Result) error {
		if err := o.Events.Pause(ctx, o.By); err != nil {
			return err
		}
		o.audit("paused")
		r.say("paused")
		if n := len(about.Owners); n > 0 {
			r.say("paused; %d instance(s) finish what is under way", n)
		}
		return nil
	}
	return p, nil
}

// Resume lets a paused outbox go on.
func (o *Outbox) Resume(ctx context.Context) (*Plan, error) {
	about, err := o.Events.About(ctx)
	if err != nil {
		return nil, err
	}
	if about.Paused == "" {
		return nil, nothing("%s is not paused", o.Poller)
	}
	p := &Plan{What: fmt.Sprintf("%s will go on with its next tick. It was paused: %s", o.Poller, about.Paused)}
	p.apply = func(ctx context.Context, r *Result) error {
		if err := o.Events.Resume(ctx); err != nil {
			return err
		}
		o.audit("resumed")
		r.say("resumed")
		return nil
	}
	return p, nil
}

// ReplayNow requeues dead letters. Nothing is waited for.
func (o *Outbox) ReplayNow(ctx context.Context, ids []string, _ <-chan struct{}, _ error) (Result, error) {
	return applyNow(ctx, ids, o.Requeue)
}

// PurgeNow discards dead letters.
func (o *Outbox) PurgeNow(ctx context.Context, ids []string) (Result, error) {
	return applyNow(ctx, ids, o.Discard)
}

func applyNow(
	ctx context.Context, ids []string, of func(context.Context, event.Filter) (*Events, error),
) (Result, error) {
	plan, err := of(ctx, event.Filter{States: []event.State{event.Dead}, IDs: ids})
	if err != nil {
		return Result{}, err
	}
	return plan.Apply(ctx)
}

// Events is the plan of a change of events.
type Events struct {
	Plan
	// Total is how many there are, First the first of them.
	Total int64
	First []event.Entry
}

// Requeue makes events due at once, with their attempts forgotten; what waits behind them follows in order.
func (o *Outbox) Requeue(ctx context.Context, f event.Filter) (*Events, error) {
	return o.change(ctx, f, "outbox_requeued", "%d event(s) will be published again, and then what waits behind them.",
		o.Events.Requeue)
}

// Discard gives events up for ever, and lets what waits only behind them go on.
func (o *Outbox) Discard(ctx context.Context, f event.Filter) (*Events, error) {
	return o.change(ctx, f, "outbox_discarded",
		"%d event(s) will NEVER be published, which is data loss; what waits only behind them goes on.",
		func(ctx context.Context, f event.Filter, progress func(int64)) (int64, error) {
			return o.Events.Discard(ctx, f, o.By, progress)
		})
}

// firstEvents is how many of the events a plan shows.
const firstEvents = 10

// change plans a change of events, which is made in chunks: a stop leaves whole chunks done.
func (o *Outbox) change(
	ctx context.Context, f event.Filter, named, what string,
	do func(context.Context, event.Filter, func(int64)) (int64, error),
) (*Events, error) {
	total, err := o.Events.Count(ctx, f)
	if err != nil {
		return nil, err
	}
	if f.Limit > 0 {
		total = min(total, int64(f.Limit))
	}
	missing, err := o.unmatched(ctx, f)
	if err != nil {
		return nil, err
	}
	shown := fmt.Sprintf("rowrelay outbox list %s shows those that failed, wait or were given up", o.Poller)
	switch {
	case total == 0 && missing != "": // it was named: a mistake, or somebody was here before
		return nil, &Refusal{Missing: true, Err: fmt.Errorf("poller %s has no such events%s", o.Poller, missing),
			Remedy: shown}
	case total == 0:
		return nil, nothing("there are no such events: %s", shown)
	}
	e := &Events{Plan: Plan{What: fmt.Sprintf(what, total)}, Total: total}
	if missing != "" {
		e.What += "\nThere is more that was asked for" + missing + "."
	}
	first := f
	first.Limit = int(min(firstEvents, total))
	if err := o.Events.List(ctx, first, func(found event.Entry) error {
		e.First = append(e.First, found)
		return nil
	}); err != nil {
		return e, err
	}
	e.apply = func(ctx context.Context, r *Result) error {
		n, err := do(ctx, f, func(n int64) {
			if o.Progress != nil {
				o.Progress(n, total, fmt.Sprintf("%d of %d events", n, total))
			}
		})
		if n > 0 {
			o.audit(named, "events", n, "filter", filterText(&f))
		}
		switch {
		case ctx.Err() != nil && err != nil:
			return &Stopped{fmt.Sprintf("stopped: %d of %d events were changed; the same command goes on with the others", n,
				total)}
		case err != nil:
			return fmt.Errorf("after %d of %d events: %w", n, total, err)
		}
		r.say("done: %d%s", n, missing)
		return nil
	}
	return e, nil
}

// unmatched names the ids and keys that no event has which the filter chooses: "; no such event has --id 7". It is ""
// where each has one.
func (o *Outbox) unmatched(ctx context.Context, f event.Filter) (string, error) {
	if len(f.IDs)+len(f.Keys) == 0 {
		return "", nil
	}
	var ids, keys []string
	f.Limit = 0
	err := o.Events.List(ctx, f, func(e event.Entry) error {
		ids, keys = append(ids, e.ID), append(keys, e.IdempotencyKey)
		return nil
	})
	if err != nil {
		return "", err
	}
	var missing []string
	for _, part := range []struct {
		flag       string
		asked, got []string
	}{{"--id", f.IDs, ids}, {"--key", f.Keys, keys}} {
		for _, value := range part.asked {
			if !slices.ContainsFunc(part.got, func(s string) bool { return sameID(s, value) }) {
				missing = append(missing, part.flag+" "+plaintext.ShellWord(value))
			}
		}
	}
	if len(missing) == 0 {
		return "", nil
	}
	return "; no such event has " + plaintext.Line(strings.Join(missing, ", ")), nil
}

// sameID compares as databases do: 007 is the number 7, and a uuid may be written in either case.
func sameID(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	n, err := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	m, err2 := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	return err == nil && err2 == nil && n == m
}

// States are the states of events by the names that commands give them.
var States = []struct {
	Name  string
	State event.State
}{
	{"pending", event.Pending}, {"delayed", event.Delayed}, {"published", event.Published},
	{"failed", event.Failed}, {"waiting", event.Waiting}, {"dead", event.Dead},
	{"discarded", event.Discarded},
}

// AllStates are the names of all states.
func AllStates() []string {
	names := make([]string, len(States))
	for i, s := range States {
		names[i] = s.Name
	}
	return names
}

// StateNames are states as commands name them.
func StateNames(states []event.State) string {
	var names []string
	for _, s := range States {
		if slices.Contains(states, s.State) {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ", ")
}

// filterText is a filter for the log.
func filterText(f *event.Filter) string {
	text := "state=" + StateNames(f.States)
	for _, part := range []struct {
		name, value string
		is          bool
	}{
		{"id", fmt.Sprintf("%q", f.IDs), len(f.IDs) > 0}, {"key", fmt.Sprintf("%q", f.Keys), len(f.Keys) > 0},
		{"aggregate-type", f.AggregateType, f.AggregateType != ""}, {"aggregate", f.Aggregate, f.Aggregate != ""},
		{"event-type", f.EventType, f.EventType != ""}, {"older-than", f.OlderThan.String(), f.OlderThan > 0},
		{"younger-than", f.YoungerThan.String(), f.YoungerThan > 0}, {"limit", fmt.Sprint(f.Limit), f.Limit > 0},
	} {
		if part.is {
			text += " " + part.name + "=" + part.value
		}
	}
	return text
}

// audit writes to the log what an operator did: who, and what.
func (o *Outbox) audit(event string, args ...any) {
	o.Log.Warn("an operator changed the outbox", append([]any{"event", event, "poller", o.Poller, "by", o.By}, args...)...)
}
