package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/publisher/event"
)

func newOutboxRequeue(t *target) *cobra.Command {
	var f choiceOfEvents
	cmd := t.flags(t.onOutbox(&cobra.Command{
		Use:   "requeue <poller>",
		Short: "Publish dead letters again, and then what waits behind them",
		Long: `Requeue makes dead letters (with --state failed: events that wait for their next attempt) due at once, with their attempts
forgotten. The instances that publish find them within a few seconds; the later events of each aggregate follow in ` +
			`order. What
fails again is tried max_attempts times again; one whose expires_at has passed is discarded. With --state delayed the
times of delayed events are read again, after their available_at was changed.

It works in chunks: Ctrl-C stops between two of them, and the same command goes on.`,
		Example: `  rowrelay outbox requeue orders
  rowrelay outbox requeue orders --id 4711 --yes
  rowrelay outbox requeue orders --event-type OrderPlaced --younger-than 24h --dry-run`,
	}, func(d *managedOutbox, ctx context.Context) error { return d.requeue(ctx, &f) }))
	return f.flags(cmd, "dead", 0)
}

func newOutboxDiscard(t *target) *cobra.Command {
	var f choiceOfEvents
	cmd := t.flags(t.onOutbox(&cobra.Command{
		Use:   "discard <poller>",
		Short: "Give events up for ever, and let what waits behind them go on",
		Long: `Discard gives dead letters (with --state also failed, waiting and delayed events) up: they are NEVER published, which is data loss for
whoever waits for them. Their rows stay, as DISCARDED and with who did it, until clean-up deletes them. What waits ` +
			`only behind
them goes on.

It works in chunks: Ctrl-C stops between two of them, and the same command goes on.`,
		Example: `  rowrelay outbox discard orders --id 4711
  rowrelay outbox discard orders --key order-placed-4711
  rowrelay outbox discard orders --event-type Heartbeat --older-than 168h --dry-run`,
	}, func(d *managedOutbox, ctx context.Context) error { return d.discard(ctx, &f) }))
	return f.flags(cmd, "dead", 0)
}

func (d *managedOutbox) requeue(ctx context.Context, f *choiceOfEvents) error {
	return d.changeEvents(ctx, f, []event.State{event.Dead, event.Failed, event.Delayed}, d.Requeue)
}

func (d *managedOutbox) discard(ctx context.Context, f *choiceOfEvents) error {
	return d.changeEvents(ctx, f, []event.State{event.Dead, event.Failed, event.Waiting, event.Delayed}, d.Discard)
}

// changeEvents shows the first of the events that the flags choose, asks, and changes them. They are dead letters
// unless --state says others, which are allowed.
func (d *managedOutbox) changeEvents(
	ctx context.Context, f *choiceOfEvents, allowed []event.State,
	plan func(context.Context, event.Filter) (*admin.Events, error),
) error {
	filter, err := f.filter([]event.State{event.Dead}, allowed)
	if err != nil {
		return err
	}
	events, err := plan(ctx, filter)
	if err != nil {
		return d.carryOut(ctx, d.poller.Name, nil, err)
	}
	p := &printing.Printer{W: d.talk()}
	for i := range events.First {
		printEntry(p, &events.First[i])
	}
	if more := events.Total - int64(len(events.First)); more > 0 {
		p.Line("and %d more", more)
	}
	if p.Err != nil {
		return p.Err
	}
	defer d.watch(&d.Progress)()
	return d.carryOut(ctx, d.poller.Name, &events.Plan, nil)
}

// listed is how many events are shown unless --limit says otherwise.
const listed = 100

func newOutboxList(t *target) *cobra.Command {
	var f choiceOfEvents
	cmd := t.onOutbox(&cobra.Command{
		Use:   "list <poller>",
		Short: "List events that failed, wait or were given up, the oldest first",
		Long: `List shows events without their payloads, in the order in which they are published: when each was created, its number and
state, what it is, how often it failed, when the next attempt is due, and what the destination said last. With ` +
			`--json it prints
one event a line.`,
		Example: `  rowrelay outbox list orders
  rowrelay outbox list orders --state dead --json | jq -r .last_error | sort | uniq -c
  rowrelay outbox list orders --aggregate 4711 --state pending,failed,waiting,published,dead`,
	}, func(d *managedOutbox, ctx context.Context) error { return d.list(ctx, &f) })
	return f.flags(cmd, "dead, failed, waiting", listed)
}

func (d *managedOutbox) list(ctx context.Context, f *choiceOfEvents) error {
	filter, err := f.filter([]event.State{event.Dead, event.Failed, event.Waiting}, nil)
	if err != nil {
		return err
	}
	n := 0
	p := &printing.Printer{W: d.out}
	err = d.Events.List(ctx, filter, func(e event.Entry) error {
		n++
		if d.json {
			return printing.JSONLine(d.out, e)
		}
		printEntry(p, &e)
		return p.Err
	})
	if err != nil || d.json {
		return err
	}
	p.Line("%d event(s)", n)
	if filter.Limit > 0 && n == filter.Limit {
		p.Line("there may be more: --limit 0 shows all")
	}
	return p.Err
}

// printEntry writes one event on one line.
func printEntry(p *printing.Printer, e *event.Entry) {
	created := "-"
	if !e.CreatedAt.IsZero() {
		created = e.CreatedAt.UTC().Format(time.RFC3339)
	}
	text := fmt.Sprintf("%-20s  %s  %-11s  %s/%s  %s  %s", created, e.ID, e.State,
		e.AggregateType, e.AggregateID, e.EventType, e.IdempotencyKey)
	if e.Attempts > 0 {
		text += fmt.Sprintf("  failed %d time(s)", e.Attempts)
	}
	if !e.NextAttempt.IsZero() && e.State == event.Failed {
		text += "  next attempt " + e.NextAttempt.UTC().Format(time.RFC3339)
	}
	if e.LastError != "" {
		text += "  " + plaintext.Line(e.LastError)
	}
	p.Line("%s", text)
}

// choiceOfEvents is what the flags that choose events say.
type choiceOfEvents struct {
	states, ids, keys        []string
	aggregateType, aggregate string
	eventType                string
	olderThan, youngerThan   time.Duration
	limit                    int
	given                    *pflag.FlagSet // nil: not from a command line
}

// flags adds the flags that choose events. what is the default of --state, for people; limit that of --limit.
func (f *choiceOfEvents) flags(cmd *cobra.Command, what string, limit int) *cobra.Command {
	cmd.Flags().StringSliceVar(&f.states, "state", nil,
		"only events in these states: "+strings.Join(admin.AllStates(), ", ")+" (default "+what+")")
	cmd.Flags().StringArrayVar(&f.ids, "id", nil,
		"only the event with this id; may be repeated")
	cmd.Flags().StringArrayVar(&f.keys, "key", nil, "only the event with this idempotency key; may be repeated")
	cmd.Flags().StringVar(&f.aggregateType, "aggregate-type", "", "only events of this aggregate type")
	cmd.Flags().StringVar(&f.aggregate, "aggregate", "", "only events of the aggregate with this id")
	cmd.Flags().StringVar(&f.eventType, "event-type", "", "only events of this type")
	cmd.Flags().DurationVar(&f.olderThan, "older-than", 0, "only events created longer ago than this: 24h")
	cmd.Flags().DurationVar(&f.youngerThan, "younger-than", 0, "only events created within this time")
	cmd.Flags().IntVar(&f.limit, "limit", limit,
		"the most events, the oldest first"+map[bool]string{true: "; 0 is all"}[limit > 0])
	f.given = cmd.Flags()
	return cmd
}

// stateOf reads a state as the flag or the column spells it.
func stateOf(text string) (event.State, error) {
	for _, s := range admin.States {
		if strings.EqualFold(text, s.Name) ||
			strings.EqualFold(strings.NewReplacer("_", " ", "-", " ").Replace(text), string(s.State)) {
			return s.State, nil
		}
	}
	return "", commandline.Mistaken("--state %q is not one of %s", text, strings.Join(admin.AllStates(), ", "))
}

// filter is what the flags choose: of these states, unless --state says others; only of allowed ones (nil: any).
func (f *choiceOfEvents) filter(states, allowed []event.State) (event.Filter, error) {
	if err := commandline.Unsaid(f.given, "state", "id", "key", "aggregate-type", "aggregate", "event-type", "older-than",
		"younger-than", "limit"); err != nil {
		return event.Filter{}, err
	}
	switch {
	case f.limit < 0:
		return event.Filter{}, commandline.Mistaken("--limit must not be negative")
	case f.olderThan < 0, f.youngerThan < 0:
		return event.Filter{}, commandline.Mistaken("--older-than and --younger-than must not be negative")
	case f.olderThan > 0 && f.youngerThan > 0 && f.olderThan >= f.youngerThan:
		return event.Filter{}, commandline.Mistaken("no event is older than %s and younger than %s", f.olderThan,
			f.youngerThan)
	}
	chosen := event.Filter{
		States: states, IDs: f.ids, Keys: f.keys, AggregateType: f.aggregateType, Aggregate: f.aggregate,
		EventType: f.eventType,
		OlderThan: f.olderThan, YoungerThan: f.youngerThan, Limit: f.limit,
	}
	if len(f.states) == 0 {
		return chosen, nil
	}
	chosen.States = nil
	for _, text := range f.states {
		s, err := stateOf(text)
		if err != nil {
			return chosen, err
		}
		if allowed != nil && !slices.Contains(allowed, s) {
			return chosen, fmt.Errorf("--state %s cannot be changed by this command: only %s", text, admin.StateNames(allowed))
		}
		chosen.States = append(chosen.States, s)
	}
	return chosen, nil
}
