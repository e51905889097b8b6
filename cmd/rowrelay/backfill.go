package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/wiring"
)

// backfillFlags are the flags of `rowrelay backfill`.
type backfillFlags struct {
	admin.Rows
	name   string
	stop   bool
	status bool
	watch  bool
	detach bool
}

func newBackfill(c *console) *cobra.Command {
	t := &target{console: c}
	var b backfillFlags
	cmd := t.flags(&cobra.Command{
		Use:   "backfill <poller>",
		Short: "Send a range of rows again, beside the live ones",
		Long: `Backfill sends the rows of a range again: those after --from, up to and including --to. The poller itself does it: its ticks
send chunks of the range between the live rows, in the same lanes, so that the order of each key holds and no row ` +
			`is ever
followed by an older state of itself. What they have not come to is left to them, and their position is not touched.
Progress is kept in the state document, so that it survives restarts; one backfill at a time.

The poller has to be running (under the host, or rowrelay run). This command asks for the backfill and shows how ` +
			`far it is;
Ctrl-C leaves it running.

With --name the range is sent from this process instead, with a state document of its own; its requests carry the name
(Rowrelay-Backfill, rowrelaybackfill). That is OUTSIDE the order promise: the live poller may send a newer state of ` +
			`a row
first. Started again under its name, without --from and --to or with the same, it goes on where it was. What it ` +
			`gives up are
dead letters of its own: rowrelay deadletter list orders --output backfill-NAME.`,
		Example: `  rowrelay backfill orders --from beginning --to latest --rate 500
  rowrelay backfill orders --from cursor=2026-04-07T00:00:00Z --to cursor=2026-04-08T00:00:00Z
  rowrelay backfill orders --watch
  rowrelay backfill orders --stop`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := b.check(cmd.Flags()); err != nil {
				return err
			}
			return t.backfill(cmd.Context(), args[0], &b)
		},
	})
	cmd.PreRun = t.remember
	outputFlag(cmd.Flags(), &t.output)
	cmd.Flags().StringVar(&b.From, "from", "", "where the range begins: beginning or cursor=VALUE (rows after it)")
	cmd.Flags().StringVar(&b.To, "to", "",
		"where it ends: latest (the last row that was delivered; with --name: that there is) or cursor=VALUE (rows of that value "+
			"included); default is latest")
	cmd.Flags().IntVar(&b.Rate, "rate", 0, "the most rows per second; 0 does not throttle")
	cmd.Flags().StringVar(&b.name, "name", "",
		"send it from here, under a name and a position of its own, outside the order promise")
	cmd.Flags().BoolVar(&b.status, "status", false, "show the backfill that is running")
	cmd.Flags().BoolVar(&b.stop, "stop", false, "stop it; what was sent is sent")
	cmd.Flags().BoolVar(&b.detach, "detach", false, "do not wait for its end")
	cmd.Flags().BoolVar(&b.watch, "watch", false, "show how far the one that is running is, until it ends; also a snapshot")
	return cmd
}

// check refuses flags that would do nothing beside others.
func (b *backfillFlags) check(given *pflag.FlagSet) error {
	if err := commandline.OneOf(given, "status", "stop", "watch", "from"); err != nil {
		return err
	}
	switch {
	case b.status, b.stop, b.watch:
		return commandline.NoneOf(given,
			"belongs to a backfill that begins; --status, --stop and --watch are about the one that runs",
			"to", "rate", "name", "detach")
	case b.name != "":
		return commandline.NoneOf(given,
			"is of a backfill that the poller sends, and one with --name is sent from here", "detach")
	}
	return nil
}

func (t *target) backfill(ctx context.Context, name string, b *backfillFlags) error {
	return t.onDocument(ctx, name, func(d *wiring.Document) error {
		switch {
		case b.status:
			return t.backfillStatus(ctx, d)
		case b.watch:
			return t.backfillWatch(ctx, d)
		case b.stop:
			plan, err := d.StopBackfill(ctx)
			return t.carryOut(ctx, d.Poller, plan, err)
		case b.name != "":
			return t.namedBackfill(ctx, d, b)
		}
		return t.startBackfill(ctx, d, b)
	})
}

func (t *target) backfillStatus(ctx context.Context, d *wiring.Document) error {
	running, err := d.Running(ctx)
	switch {
	case err != nil:
		return t.carryOut(ctx, d.Poller, nil, err)
	case t.json:
		return json.NewEncoder(t.out).Encode(running)
	}
	return t.say("%s", running)
}

func (t *target) backfillWatch(ctx context.Context, d *wiring.Document) error {
	running, err := d.Running(ctx)
	if err != nil {
		return t.carryOut(ctx, d.Poller, nil, err)
	}
	if err := t.say("%s", running); err != nil {
		return err
	}
	return t.watched(ctx, d, running.ID)
}

// watched shows how far a backfill is, until it ends.
func (t *target) watched(ctx context.Context, d *wiring.Document, id string) error {
	end := t.watch(&d.Progress)
	result, err := d.Watch(ctx, id)
	end()
	return t.ended(result, err)
}

func (t *target) startBackfill(ctx context.Context, d *wiring.Document, b *backfillFlags) error {
	started, err := d.Backfill(ctx, &b.Rows)
	var plan *admin.Plan
	if started != nil {
		plan = &started.Plan
	}
	ok, err := t.agreed(d.Poller, plan, err)
	if err != nil || !ok {
		return err
	}
	result, err := plan.Apply(ctx)
	if err == nil && !b.detach {
		return t.watched(ctx, d, started.ID)
	}
	return t.ended(result, err)
}

func (t *target) namedBackfill(ctx context.Context, d *wiring.Document, b *backfillFlags) error {
	plan, err := d.NamedBackfill(ctx,
		&admin.Named{Rows: b.Rows, Name: b.name, Open: func(src checkpointed.Source) (*admin.Sender, error) {
			return d.Sender(b.name, b.Rate, src)
		}})
	ok, err := t.agreed(d.Poller, plan, err)
	if err != nil || !ok {
		return err
	}
	end := t.watch(&d.Progress)
	result, err := plan.Apply(ctx)
	end()
	return t.ended(result, err)
}
