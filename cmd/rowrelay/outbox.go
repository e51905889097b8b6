package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/inspect/report"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/wiring"
)

func newOutbox(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "Create, look into and control the outbox of a poller with source__mode=outbox",
		Long: `Outbox is about pollers of the mode outbox, whose position is the state of their rows:

  PENDING      to be published
  DELAYED      to be published at its available_at; later events of its aggregate wait
  PUBLISHED    accepted by the destination; clean-up deletes it when it is older than source__retention
  FAILED       refused by the destination; has a next attempt
  WAITING      behind an event of its aggregate that failed, is delayed, or was given up
  DEAD LETTER  given up after max_attempts; its aggregate waits until somebody requeues or discards it
  DISCARDED    given up by an operator, or at its expires_at

What changes events shows first how many there are and asks for the poller's name (--yes goes on without asking, ` +
			`--dry-run
only shows). Each change is written to the log. docs/outbox.md is the page about all of this.`,
		Example: `  rowrelay outbox init orders | psql "$ORDERS_DB"
  rowrelay outbox status orders
  rowrelay outbox list orders --state dead
  rowrelay outbox requeue orders --event-type OrderPlaced --younger-than 24h`,
		Args: cobra.NoArgs,
	}
	t := &target{console: c}
	cmd.AddCommand(newOutboxInit(t), newOutboxStatus(t), newOutboxList(t), newOutboxRequeue(t), newOutboxDiscard(t),
		newOutboxCleanup(t), newOutboxPause(t), newOutboxResume(t))
	return cmd
}

// managedOutbox is an outbox that somebody changes.
type managedOutbox struct {
	*target
	*admin.Outbox
	poller *config.Poller
	close  func() error
}

// outbox opens the outbox of a poller.
func (t *target) outbox(name string) (*managedOutbox, error) {
	cfg, err := load(t.console)
	if err != nil {
		return nil, err
	}
	p, pub, err := wiring.OpenTable(cfg, t.process(), name)
	if err != nil {
		return nil, err
	}
	outbox := &admin.Outbox{Poller: p.Name, Events: pub, By: operator(), Log: auditLogger(t.console, cfg)}
	return &managedOutbox{target: t, Outbox: outbox, poller: p, close: pub.Close}, nil
}

// onOutbox makes cmd do some work on the outbox of the poller that is named.
func (t *target) onOutbox(cmd *cobra.Command, work func(*managedOutbox, context.Context) error) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := t.outbox(args[0])
		if err != nil {
			return err
		}
		defer d.end()
		return plaintext.Error(work(d, cmd.Context()))
	}
	return cmd
}

// end closes connections; what was to be written is written by now.
func (d *managedOutbox) end() {
	_ = d.close()
}

// carryOutOn plans something about the outbox, asks, and does it.
func (d *managedOutbox) carryOutOn(ctx context.Context, plan planning) error {
	p, err := plan(d.Outbox, ctx)
	return d.carryOut(ctx, d.poller.Name, p, err)
}

func newOutboxPause(t *target) *cobra.Command {
	return t.flags(t.onOutbox(&cobra.Command{
		Use:   "pause <poller>",
		Short: "Stop publishing on every instance, until resume",
		Long: `Pause works at any time. Every instance stops with its next fetch; what is under way is finished. Ticks of a paused outbox do
nothing and succeed (event=paused). Writers are not hindered: events pile up as PENDING.`,
		Example: `  rowrelay outbox pause orders --yes`,
	}, func(d *managedOutbox, ctx context.Context) error { return d.carryOutOn(ctx, admin.Controls.Pause) }))
}

func newOutboxResume(t *target) *cobra.Command {
	return t.flags(t.onOutbox(&cobra.Command{
		Use:     "resume <poller>",
		Short:   "Let a paused outbox go on",
		Long:    `Resume lets every instance publish again, with its next fetch.`,
		Example: `  rowrelay outbox resume orders --yes`,
	}, func(d *managedOutbox, ctx context.Context) error { return d.carryOutOn(ctx, admin.Controls.Resume) }))
}

func newOutboxCleanup(t *target) *cobra.Command {
	cmd := t.onOutbox(&cobra.Command{
		Use:   "cleanup <poller>",
		Short: "Delete published and discarded events that are older than the retention, now",
		Long: `Cleanup does at once what source__cleanup_schedule (rowrelay run) or the function <poller>_cleanup (the Functions host) does by
itself: it deletes published and discarded events that are older than source__retention, in chunks of ` +
			`source__cleanup_chunk.
Dead letters, and whatever is still to be published, are kept for ever.

Ctrl-C stops between two chunks; the same command, or the next clean-up, goes on.`,
		Example: `  rowrelay outbox cleanup orders --dry-run
  rowrelay outbox cleanup orders`,
	}, (*managedOutbox).cleanup)
	cmd.Flags().BoolVar(&t.dryRun, "dry-run", false,
		"only count the events that would be deleted; it reads the whole table")
	return cmd
}

func (d *managedOutbox) cleanup(ctx context.Context) error {
	s := &d.poller.Source
	if d.dryRun {
		n, err := d.Events.CountCleanable(ctx)
		if err != nil {
			return err
		}
		return d.idle("dry run: %d event(s) were published or discarded more than %s ago (source__retention); "+
			"nothing was deleted", n, inspect.Plain(s.Retention))
	}
	if err := d.say("events of %s published more than %s ago are deleted, %d at a time; Ctrl-C stops between two chunks",
		d.poller.Name, inspect.Plain(s.Retention), s.CleanupChunk); err != nil {
		return err
	}
	end := d.watch(&d.Progress)
	did, err := d.Events.Cleanup(ctx, func(n int64) { d.Progress(n, 0, fmt.Sprintf("%d events deleted", n)) })
	end()
	switch {
	case ctx.Err() != nil && (did.More || errors.Is(err, ctx.Err())):
		return d.stopped("stopped: %d event(s) were deleted; the same command goes on with the others", did.Rows)
	case err != nil:
		return fmt.Errorf("after %d events: %w", did.Rows, err)
	case did.Chunks == 0: // one that runs looks at a chunk at least
		return d.idle("another clean-up is under way: nothing was done")
	case did.Rows == 0:
		return d.done("done: 0 event(s) were deleted: none was published or discarded more than %s ago",
			inspect.Plain(s.Retention))
	}
	return d.done("done: %d event(s) were deleted in %d chunk(s), in %s", did.Rows, did.Chunks,
		did.Took.Round(time.Millisecond))
}

func newOutboxStatus(t *target) *cobra.Command {
	return t.onOutbox(&cobra.Command{
		Use:   "status <poller>",
		Short: "Show how many events there are in each state, and who publishes",
		Long: `Status counts the events of an outbox by state, says how old the oldest pending one is, and shows the instances that hold
claims now: their names, how many units (the table, partitions or aggregates), the fencing token and when the claims end
unless they are renewed. Counting may stop at a bound, which is shown as "at least".`,
		Example: `  rowrelay outbox status orders
  rowrelay outbox status orders --json | jq .oldest_pending_seconds`,
	}, (*managedOutbox).status)
}

func (d *managedOutbox) status(ctx context.Context) error {
	about, err := d.Events.About(ctx)
	if err != nil {
		return err
	}
	v := report.OutboxOf(d.poller, &about)
	if d.json {
		return printing.JSON(d.out, &v)
	}
	return v.WriteText(d.out)
}
