package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher/event"
)

func newOutboxRequeue(t *target) *cobra.Command {
	var f choiceOfEvents
	cmd := t.flags(&cobra.Command{
		Use:   "requeue <poller>",
		Short: "Publish dead letters again, and then what waits behind them",
		Long: `Requeue makes dead letters (with --state failed: events that wait for their next attempt) due at once, with their attempts
forgotten. The instances that publish find them within a few seconds; the later events of each aggregate follow in order. What
fails again is tried max_attempts times again.

It works in chunks: Ctrl-C stops between two of them, and the same command goes on.`,
		Example: `  rowrelay outbox requeue orders
  rowrelay outbox requeue orders --id 4711 --yes
  rowrelay outbox requeue orders --event-type OrderPlaced --younger-than 24h --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.atDesk(args[0], func(d *desk) error { return d.requeue(cmd.Context(), &f) })
		},
	})
	return f.flags(cmd, "dead", 0)
}

func newOutboxDiscard(t *target) *cobra.Command {
	var f choiceOfEvents
	cmd := t.flags(&cobra.Command{
		Use:   "discard <poller>",
		Short: "Give events up for ever, and let what waits behind them go on",
		Long: `Discard gives dead letters (with --state also failed and waiting events) up: they are NEVER published, which is data loss for
whoever waits for them. Their rows stay, as DISCARDED and with who did it, until clean-up deletes them. What waits only behind
them goes on.

It works in chunks: Ctrl-C stops between two of them, and the same command goes on.`,
		Example: `  rowrelay outbox discard orders --id 4711
  rowrelay outbox discard orders --key order-placed-4711
  rowrelay outbox discard orders --event-type Heartbeat --older-than 168h --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.atDesk(args[0], func(d *desk) error { return d.discard(cmd.Context(), &f) })
		},
	})
	return f.flags(cmd, "dead", 0)
}

func (d *desk) requeue(ctx context.Context, f *choiceOfEvents) error {
	filter, err := f.filter([]event.State{event.Dead}, []event.State{event.Dead, event.Failed})
	if err != nil {
		return err
	}
	return d.change(ctx, filter, "outbox_requeued", "%d event(s) will be published again, and then what waits behind them.",
		func(ctx context.Context, progress func(int64)) (int64, error) {
			return d.outbox.Requeue(ctx, filter, progress)
		})
}

func (d *desk) discard(ctx context.Context, f *choiceOfEvents) error {
	filter, err := f.filter([]event.State{event.Dead}, []event.State{event.Dead, event.Failed, event.Waiting})
	if err != nil {
		return err
	}
	return d.change(ctx, filter, "outbox_discarded", "%d event(s) will NEVER be published, which is data loss; what waits only behind them goes on.",
		func(ctx context.Context, progress func(int64)) (int64, error) {
			return d.outbox.Discard(ctx, filter, operator(), progress)
		})
}

// shown is how many of the events are listed that are about to be changed.
const shown = 10

// change counts the events, shows the first of them, asks, and does it with progress. A stop leaves whole chunks done.
func (d *desk) change(ctx context.Context, filter event.Filter, event, what string, do func(context.Context, func(int64)) (int64, error)) error {
	total, err := d.outbox.Count(ctx, filter)
	if err != nil {
		return err
	}
	if filter.Limit > 0 {
		total = min(total, int64(filter.Limit))
	}
	missing, err := d.unmatched(ctx, filter)
	if err != nil {
		return err
	}
	if total == 0 {
		return d.idle("there are no such events%s: rowrelay outbox list %s shows those that failed, wait or were given up", missing, d.poller.Name)
	}
	if err := d.first(ctx, filter, total); err != nil {
		return err
	}
	if missing != "" {
		what += "\nThere is more that was asked for" + strings.ReplaceAll(missing, "%", "%%") + "."
	}
	ok, err := d.agreed(fmt.Sprintf(what, total))
	if err != nil || !ok {
		return err
	}
	bar := newProgress(d.console)
	n, err := do(ctx, func(n int64) { bar.show(n, total, fmt.Sprintf("%d of %d events", n, total)) })
	bar.end()
	if n > 0 {
		d.audit(event, "events", n, "filter", filterText(&filter))
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return d.stopped("stopped: %d of %d events were changed; the same command goes on with the others", n, total)
	case err != nil:
		return fmt.Errorf("after %d of %d events: %w", n, total, err)
	}
	return d.done("done: %d%s", n, missing)
}

// unmatched names the ids and keys that no event has which the other flags choose: "; no such event has --id 7". It is "" where
// each has one.
func (d *desk) unmatched(ctx context.Context, filter event.Filter) (string, error) {
	if len(filter.IDs)+len(filter.Keys) == 0 {
		return "", nil
	}
	var ids, keys []string
	filter.Limit = 0
	err := d.outbox.List(ctx, filter, func(e event.Entry) error {
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
	}{{"--id", filter.IDs, ids}, {"--key", filter.Keys, keys}} {
		for _, value := range part.asked {
			if !slices.ContainsFunc(part.got, func(s string) bool { return sameID(s, value) }) {
				missing = append(missing, part.flag+" "+handler.ShellWord(value))
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

// first shows the first of the events.
func (d *desk) first(ctx context.Context, filter event.Filter, total int64) error {
	to := d.out
	if d.json {
		to = d.err
	}
	p := &printer{w: to}
	filter.Limit = int(min(shown, total))
	if err := d.outbox.List(ctx, filter, func(e event.Entry) error { p.entry(&e); return p.err }); err != nil {
		return err
	}
	if total > shown {
		p.line("and %d more", total-shown)
	}
	return p.err
}

// filterText is a filter for the log.
func filterText(f *event.Filter) string {
	text := "state=" + flagsOf(f.States)
	for _, part := range []struct {
		name, value string
		is          bool
	}{
		{"id", fmt.Sprintf("%q", f.IDs), len(f.IDs) > 0}, {"key", fmt.Sprintf("%q", f.Keys), len(f.Keys) > 0}, {"aggregate-type", f.AggregateType, f.AggregateType != ""},
		{"aggregate", f.Aggregate, f.Aggregate != ""}, {"event-type", f.EventType, f.EventType != ""},
		{"older-than", f.OlderThan.String(), f.OlderThan > 0}, {"younger-than", f.YoungerThan.String(), f.YoungerThan > 0},
		{"limit", fmt.Sprint(f.Limit), f.Limit > 0},
	} {
		if part.is {
			text += " " + part.name + "=" + part.value
		}
	}
	return text
}
