package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher/event"
)

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
	filter, err := f.filter([]event.State{event.Dead, event.Failed, event.Waiting}, nil)
	if err != nil {
		return err
	}
	n := 0
	p := &printer{w: d.out}
	encoder := json.NewEncoder(d.out)
	encoder.SetEscapeHTML(false)
	err = d.outbox.List(ctx, filter, func(e event.Entry) error {
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
func (p *printer) entry(e *event.Entry) {
	text := fmt.Sprintf("%s  %s  %-11s  %s/%s  %s  %s", e.CreatedAt.UTC().Format(time.RFC3339), e.ID, e.State, e.AggregateType, e.AggregateID, e.EventType, e.IdempotencyKey)
	if e.Attempts > 0 {
		text += fmt.Sprintf("  failed %d time(s)", e.Attempts)
	}
	if !e.NextAttempt.IsZero() && e.State == event.Failed {
		text += "  next attempt " + e.NextAttempt.UTC().Format(time.RFC3339)
	}
	if e.LastError != "" {
		text += "  " + plaintext.Line(e.LastError)
	}
	p.line("%s", text)
}
