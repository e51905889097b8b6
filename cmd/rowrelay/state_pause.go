package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/state"
)

func newStatePause(t *target) *cobra.Command {
	return t.flags(&cobra.Command{
		Use:   "pause <poller>",
		Short: "Stop a poller at its next batch, until resume",
		Long: `Pause works at any time, also while an instance holds the lease. That instance stops before its next batch and gives the
lease back; ticks of a paused poller do nothing and succeed (event=paused). For an outbox it is rowrelay outbox pause.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return t.pause(cmd.Context(), args[0]) },
	})
}

func newStateResume(t *target) *cobra.Command {
	return t.flags(&cobra.Command{
		Use:   "resume <poller>",
		Short: "Let a paused poller go on",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return t.resume(cmd.Context(), args[0]) },
	})
}

// outboxDesk is the desk of an outbox, whose pause is a row in its database; nil for every other poller, and where it cannot
// be told.
func (t *target) outboxDesk(name string) *desk {
	d, err := t.desk(name)
	if err != nil {
		return nil // the command itself will say why
	}
	return d
}

func (t *target) pause(ctx context.Context, name string) error {
	if d := t.outboxDesk(name); d != nil {
		defer d.end()
		return flat(d.pause(ctx))
	}
	op, err := t.begin(ctx, name)
	defer op.end()
	if err != nil {
		return err
	}
	if p := op.snap.Doc.Paused; p != nil && !isForReplay(p) {
		return op.idle("%s has been paused since %s by %s", op.name(), p.At.UTC().Format(time.RFC3339), p.By)
	}
	ok, err := op.agreed(fmt.Sprintf("%s will stop before its next batch.", op.name()))
	if err != nil || !ok {
		return err
	}
	after, err := op.out.keeper.Amend(ctx, func(doc *state.Document) error {
		if doc.Paused == nil || isForReplay(doc.Paused) { // whose end would end this one too
			doc.Paused = &state.Paused{At: time.Now(), By: op.who()}
		}
		return nil
	})
	if err != nil {
		return err
	}
	op.audit("paused")
	if held := after.Held(); held != nil {
		return op.done("paused; %v, and gives it back after the batch that is under way", held)
	}
	return op.done("paused")
}

func (t *target) resume(ctx context.Context, name string) error {
	if d := t.outboxDesk(name); d != nil {
		defer d.end()
		return flat(d.resume(ctx))
	}
	op, err := t.begin(ctx, name)
	defer op.end()
	if err != nil {
		return err
	}
	if op.snap.Doc.Paused == nil {
		return op.idle("%s is not paused", op.name())
	}
	ok, err := op.agreed(fmt.Sprintf("%s will go on with its next tick.", op.name()))
	if err != nil || !ok {
		return err
	}
	if _, err := op.out.keeper.Amend(ctx, func(doc *state.Document) error { doc.Paused = nil; return nil }); err != nil {
		return err
	}
	op.audit("resumed")
	return op.done("resumed")
}
