package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/publisher/event"
)

func newOutboxCleanup(t *target) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cleanup <poller>",
		Short: "Delete published and discarded events that are older than the retention, now",
		Long: `Cleanup does at once what source__cleanup_schedule (rowrelay run) or the function <poller>_cleanup (the Functions host) does by
itself: it deletes published and discarded events that are older than source__retention, in chunks of source__cleanup_chunk.
Dead letters, and whatever is still to be published, are kept for ever.

Ctrl-C stops between two chunks; the same command, or the next clean-up, goes on.`,
		Example: `  rowrelay outbox cleanup orders --dry-run
  rowrelay outbox cleanup orders`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.atDesk(args[0], func(d *desk) error { return d.cleanup(cmd.Context()) })
		},
	}
	cmd.Flags().BoolVar(&t.dryRun, "dry-run", false, "only count the events that were created before the retention; it reads them all")
	return cmd
}

func (d *desk) cleanup(ctx context.Context) error {
	s := &d.poller.Source
	if d.dryRun {
		n, err := d.outbox.Count(ctx, event.Filter{States: []event.State{event.Published, event.Discarded}, OlderThan: s.Retention})
		if err != nil {
			return err
		}
		return d.idle("dry run: about %d event(s) are older than %s (source__retention); nothing was deleted", n, plain(s.Retention))
	}
	if err := d.say("events of %s published more than %s ago are deleted, %d at a time; Ctrl-C stops between two chunks", d.poller.Name, plain(s.Retention), s.CleanupChunk); err != nil {
		return err
	}
	bar := newProgress(d.console)
	did, err := d.outbox.Cleanup(ctx, func(n int64) { bar.show(n, 0, fmt.Sprintf("%d events deleted", n)) })
	bar.end()
	switch {
	case ctx.Err() != nil && (did.More || errors.Is(err, ctx.Err())):
		return d.stopped("stopped: %d event(s) were deleted; the same command goes on with the others", did.Rows)
	case err != nil:
		return fmt.Errorf("after %d events: %w", did.Rows, err)
	case did.Chunks == 0: // one that runs looks at a chunk at least
		return d.idle("another clean-up is under way: nothing was done")
	case did.Rows == 0:
		return d.done("done: 0 event(s) were deleted: none was published or discarded more than %s ago", plain(s.Retention))
	}
	return d.done("done: %d event(s) were deleted in %d chunk(s), in %s", did.Rows, did.Chunks, did.Took.Round(time.Millisecond))
}

func newOutboxPause(t *target) *cobra.Command {
	return t.flags(&cobra.Command{
		Use:   "pause <poller>",
		Short: "Stop publishing on every instance, until resume",
		Long: `Pause works at any time. Every instance stops with its next fetch; what is under way is finished. Ticks of a paused outbox do
nothing and succeed (event=paused). Writers are not hindered: events pile up as PENDING.`,
		Example: `  rowrelay outbox pause orders --yes`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.atDesk(args[0], func(d *desk) error { return d.pause(cmd.Context()) })
		},
	})
}

func newOutboxResume(t *target) *cobra.Command {
	return t.flags(&cobra.Command{
		Use:     "resume <poller>",
		Short:   "Let a paused outbox go on",
		Long:    `Resume lets every instance publish again, with its next fetch.`,
		Example: `  rowrelay outbox resume orders --yes`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.atDesk(args[0], func(d *desk) error { return d.resume(cmd.Context()) })
		},
	})
}

func (d *desk) pause(ctx context.Context) error {
	about, err := d.outbox.About(ctx)
	if err != nil {
		return err
	}
	if about.Paused != "" {
		return d.idle("%s is paused already: %s", d.poller.Name, about.Paused)
	}
	ok, err := d.agreed(fmt.Sprintf("%s will stop on every instance, with the next fetch.", d.poller.Name))
	if err != nil || !ok {
		return err
	}
	if err := d.outbox.Pause(ctx, d.who()); err != nil {
		return err
	}
	d.audit("paused")
	if n := len(about.Owners); n > 0 {
		return d.done("paused; %d instance(s) finish what is under way", n)
	}
	return d.done("paused")
}

func (d *desk) resume(ctx context.Context) error {
	about, err := d.outbox.About(ctx)
	if err != nil {
		return err
	}
	if about.Paused == "" {
		return d.idle("%s is not paused", d.poller.Name)
	}
	ok, err := d.agreed(fmt.Sprintf("%s will go on with its next tick. It was paused: %s", d.poller.Name, about.Paused))
	if err != nil || !ok {
		return err
	}
	if err := d.outbox.Resume(ctx); err != nil {
		return err
	}
	d.audit("resumed")
	return d.done("resumed")
}
