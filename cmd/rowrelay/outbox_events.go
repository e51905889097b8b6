package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher"
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
	return d.changeEvents(ctx, f, []publisher.State{publisher.Dead, publisher.Failed}, d.Requeue)
}

func (d *desk) discard(ctx context.Context, f *choiceOfEvents) error {
	return d.changeEvents(ctx, f, []publisher.State{publisher.Dead, publisher.Failed, publisher.Waiting}, d.Discard)
}

// changeEvents shows the first of the events that the flags choose, asks, and changes them. They are dead letters unless --state says
// others, which are allowed.
func (d *desk) changeEvents(
	ctx context.Context, f *choiceOfEvents, allowed []publisher.State, plan func(context.Context, publisher.Filter) (*admin.Events, error),
) error {
	filter, err := f.filter([]publisher.State{publisher.Dead}, allowed)
	if err != nil {
		return err
	}
	events, err := plan(ctx, filter)
	if err != nil {
		return d.carryOut(ctx, d.poller.Name, nil, err)
	}
	p := &printer{w: d.talk()}
	for i := range events.First {
		p.entry(&events.First[i])
	}
	if more := events.Total - int64(len(events.First)); more > 0 {
		p.line("and %d more", more)
	}
	if p.err != nil {
		return p.err
	}
	defer d.watch(&d.Progress)()
	return d.carryOut(ctx, d.poller.Name, &events.Plan, nil)
}

// listed is how many events are shown unless --limit says otherwise.
const listed = 100

func newOutboxList(t *target) *cobra.Command {
	var f choiceOfEvents
	cmd := &cobra.Command{
		Use:   "list <poller>",
		Short: "List events that failed, wait or were given up, the oldest first",
		Long: `List shows events without their payloads, in the order in which they are published: when each was created, its number and
state, what it is, how often it failed, when the next attempt is due, and what the destination said last. With --json it prints
one event a line.`,
		Example: `  rowrelay outbox list orders
  rowrelay outbox list orders --state dead --json | jq -r .last_error | sort | uniq -c
  rowrelay outbox list orders --aggregate 4711 --state pending,failed,waiting,published,dead`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.atDesk(args[0], func(d *desk) error { return d.list(cmd.Context(), &f) })
		},
	}
	return f.flags(cmd, "dead, failed, waiting", listed)
}

func (d *desk) list(ctx context.Context, f *choiceOfEvents) error {
	filter, err := f.filter([]publisher.State{publisher.Dead, publisher.Failed, publisher.Waiting}, nil)
	if err != nil {
		return err
	}
	n := 0
	p := &printer{w: d.out}
	encoder := json.NewEncoder(d.out)
	encoder.SetEscapeHTML(false)
	err = d.Events.List(ctx, filter, func(e publisher.Entry) error {
		n++
		if d.json {
			return encoder.Encode(e)
		}
		p.entry(&e)
		return p.err
	})
	if err != nil || d.json {
		return err
	}
	p.line("%d event(s)", n)
	if filter.Limit > 0 && n == filter.Limit {
		p.line("there may be more: --limit 0 shows all")
	}
	return p.err
}

// entry writes one event on one line.
func (p *printer) entry(e *publisher.Entry) {
	text := fmt.Sprintf("%s  %s  %-11s  %s/%s  %s  %s", e.CreatedAt.UTC().Format(time.RFC3339), e.ID, e.State, e.AggregateType, e.AggregateID, e.EventType, e.IdempotencyKey)
	if e.Attempts > 0 {
		text += fmt.Sprintf("  failed %d time(s)", e.Attempts)
	}
	if !e.NextAttempt.IsZero() && e.State == publisher.Failed {
		text += "  next attempt " + e.NextAttempt.UTC().Format(time.RFC3339)
	}
	if e.LastError != "" {
		text += "  " + plaintext.Line(e.LastError)
	}
	p.line("%s", text)
}
