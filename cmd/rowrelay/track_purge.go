package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/tracking"
)

func newTrackPurge(t *target) *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "purge <poller>",
		Short: "Print, or apply, the statements that remove deletes which every poller has delivered",
		Long: `Purge prints the statements that remove keys from the change table whose rows are gone, as far as every poller of these
settings that reads it has delivered their deletes: none after the lowest position, and none after a parked event. With
--apply it runs them itself. A poller of other settings that is behind finds a gap afterwards, and says so. On
PostgreSQL a key stays as long as a transaction is open that is older than its delete.

A poller that stands still is waited for no longer than source__track_retention: older deletes go all the same, and the
poller that has not delivered them stops at a gap. On PostgreSQL and SQLite their age is counted from the first purge
after them.

The change table grows by a row for each key that is deleted. Where many are, run it daily.`,
		Example: `  rowrelay track purge orders
  rowrelay track purge orders --apply --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return t.purgeTracked(cmd.Context(), args[0], apply) },
	}
	return t.applies(cmd, &apply)
}

func (t *target) purgeTracked(ctx context.Context, name string, apply bool) error {
	return t.onApp(func(a *app) error {
		w, err := a.poller(name)
		if err == nil {
			err = refuse(a.cfg, []*wired{w})
		}
		if err == nil {
			err = w.Config.Source.Mode.NeedsTriggers(w.Config.Name)
		}
		if err != nil {
			return err
		}
		readers, err := t.readers(ctx, a, w)
		if err != nil {
			return flat(err)
		}
		of := &w.Config.Source
		work, err := tracking.Purge(ctx, w.Connection, of.Table, of.TrackTable, w.Config.Name, readers, of.TrackRetention)
		return t.carryOutWork(ctx, w, work, err, apply)
	})
}

// readers are the positions of all pollers that read the same change table.
func (t *target) readers(ctx context.Context, a *app, of *wired) (readers []tracking.Reader, err error) {
	table, err := of.Source.ChangeTable(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range a.pollers {
		if !w.Config.Source.Mode.Can(mode.Triggers) || w.Connection.Identity != of.Connection.Identity {
			continue
		}
		if err := refuse(a.cfg, []*wired{w}); err != nil {
			return nil, err
		}
		other, err := w.Source.ChangeTable(ctx)
		if err != nil {
			return nil, fmt.Errorf("poller %s: %w", w.Config.Name, err)
		}
		if other != table {
			continue
		}
		for _, out := range w.Outputs {
			d, err := a.managed(ctx, &target{console: t.console, output: out.Config.Name}, w.Config.Name, operator(),
				newLogger(t.console, a.cfg))
			if err != nil {
				return nil, err
			}
			needed, err := d.Needed(ctx)
			if err != nil {
				return nil, err
			}
			more, err := w.Source.Readers(ctx, needed)
			if err != nil {
				return nil, fmt.Errorf("poller %s: %w", w.Config.Name, err)
			}
			readers = append(readers, more...)
		}
	}
	slices.SortFunc(readers, func(a, b tracking.Reader) int {
		return cmp.Or(cmp.Compare(a.Passed, b.Passed), cmp.Compare(a.Own, b.Own))
	})
	if readers = slices.Compact(readers); len(readers) == 0 {
		return nil, fmt.Errorf("no poller has read the change table %s yet", table)
	}
	return readers, nil
}
