package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/tracking"
	"github.com/rowrelay/rowrelay/wiring"
)

func newTrack(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "track",
		Short: "Install, look at and remove what a poller with source__mode=changetracking reads",
		Long: `Track is about the triggers that record which keys of a table were inserted, updated and deleted, and the change table
that they keep beside it. SQL Server needs neither: there it is about its own change tracking. docs/change-tracking.md
is the page about all of this.`,
		Example: `  rowrelay track install orders
  rowrelay track status orders
  rowrelay track purge orders --apply
  rowrelay track uninstall orders --apply`,
		Args: cobra.NoArgs,
	}
	t := &target{console: c}
	cmd.AddCommand(newTrackInstall(t), newTrackStatus(t), newTrackPurge(t), newTrackUninstall(t))
	return cmd
}

func newTrackInstall(t *target) *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "install <poller>",
		Short: "Print, or apply, the DDL of the change table and its triggers",
		Long: `Install prints the statements that create the change table and the triggers on source__table, in the dialect of the
poller's database, ready to be read and run by whoever may: with psql, mysql or sqlite3. With --apply it runs
them itself.

Rows that are in the table already are told of when they are written next, or first of all (source__start=snapshot).
With source__every_change it is a history: run it again where the table has another column, and no change is missed.

Run it again where a trigger was dropped or disabled. Pollers then stop at the gap, because writes may
have been missed.`,
		Example: `  rowrelay track install orders | psql "$ORDERS_DB"
  rowrelay track install orders --apply`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.track(cmd.Context(), args[0], func(ctx context.Context, w *wiring.Poller) (tracking.Work, error) {
				s := &w.Config.Source
				return tracking.Install(ctx, w.Connection, s.Table, s.TrackTable, w.Config.Name, writes(s))
			}, apply)
		},
	}
	return t.applies(cmd, &apply)
}

// writes are those that the settings name.
func writes(s *config.Source) tracking.Writes {
	return tracking.Writes{Changed: s.Changed, Ignored: s.IgnoreContext, Every: s.EveryChange, Before: s.BeforeImage,
		Columns: s.Columns, OrderKey: s.OrderKey, ReadCommitted: s.ReadsCommitted()}
}

func newTrackUninstall(t *target) *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "uninstall <poller>",
		Short: "Print, or apply, the DDL that removes the triggers and the change table",
		Long: `Uninstall prints the statements that remove the triggers and the change table: nothing is left behind. With --apply it
runs them itself. Every poller that reads the change table then fails, and says so.`,
		Example: `  rowrelay track uninstall orders | sqlite3 shop.db
  rowrelay track uninstall orders --apply`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.track(cmd.Context(), args[0], func(ctx context.Context, w *wiring.Poller) (tracking.Work, error) {
				s := &w.Config.Source
				return tracking.Uninstall(ctx, w.Connection, s.Table, s.TrackTable, w.Config.Name, writes(s))
			}, apply)
		},
	}
	return t.applies(cmd, &apply)
}

// applies adds the flags of a command that prints statements, or runs them.
func (t *target) applies(cmd *cobra.Command, apply *bool) *cobra.Command {
	cmd.Flags().BoolVar(apply, "apply", false, "run the statements, instead of printing them")
	cmd.Flags().BoolVar(&t.yes, "yes", false, "with --apply: do not ask")
	return cmd
}

func newTrackStatus(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "status <poller>",
		Short: "Show whether the triggers are there, and what the change table holds",
		Long: `Status shows whether the change table and its triggers are there and enabled, how many keys it holds, and which writes to
the table no trigger sees. It fails where changes are missed. It counts rows: on a large table that takes its time.`,
		Example: `  rowrelay track status orders
  rowrelay track status orders --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return t.trackStatus(cmd.Context(), args[0]) },
	}
}

// track prints what a command would do to the database, or does it.
func (t *target) track(ctx context.Context, name string,
	planned func(context.Context, *wiring.Poller) (tracking.Work, error), apply bool) error {
	w, err := t.tracked(name)
	if err != nil {
		return err
	}
	work, err := planned(ctx, w)
	return t.carryOutWork(ctx, w, work, err, apply)
}

// carryOutWork prints statements, or runs them. err is that of the planning.
func (t *target) carryOutWork(ctx context.Context, w *wiring.Poller, work tracking.Work, err error, apply bool) error {
	switch {
	case err != nil:
		return plaintext.Error(poller.NameDocument(err, w.Config.Name))
	case apply && work.Done:
		return t.idle("%s is there: nothing to do", work.Changes.Title())
	case !apply:
		return t.printWork(w, &work)
	}
	if err := t.say("%s", work.Script()); err != nil {
		return err
	}
	if err := t.notes(work.Notes()); err != nil {
		return err
	}
	if err := t.confirmed(w.Config.Name); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, max(initTimeout, w.Config.Source.Timeout))
	defer cancel()
	db := w.Connection.WriteDB(1)
	defer func() { _ = db.Close() }() // nothing is under way
	if err := work.Apply(bounded, db); err != nil {
		if work.Rights != "" {
			err = fmt.Errorf("%w (%s)", err, work.Rights)
		}
		return plaintext.Error(err)
	}
	return t.done("done: rowrelay track status %s shows what is there", w.Config.Name)
}

// tracked returns a poller whose table has triggers, connected. Nothing else of it is wired.
func (t *target) tracked(name string) (*wiring.Poller, error) {
	cfg, err := load(t.console)
	if err != nil {
		return nil, err
	}
	w, err := wiring.SourceOf(cfg, name)
	if err != nil {
		return nil, err
	}
	if err := w.Config.Source.Mode.NeedsTriggers(w.Config.Name); err != nil {
		return nil, err
	}
	return w, nil
}

func (t *target) printWork(w *wiring.Poller, work *tracking.Work) error {
	if t.json {
		return printing.JSON(t.out, struct {
			statements
			Notes []string `json:"notes"`
		}{statements{w.Connection.Engine, work.Statements}, work.Notes()})
	}
	p := &printing.Printer{W: t.out}
	p.Line("-- For the poller %s on %s: %s.", w.Config.Name, w.Connection.Engine, plaintext.Line(work.Changes.Title()))
	for _, note := range work.Notes() {
		p.Line("-- %s", plaintext.Line(note))
	}
	p.Line("\n%s", work.Script())
	return p.Err
}

func (t *target) trackStatus(ctx context.Context, name string) error {
	w, err := t.tracked(name)
	if err != nil {
		return err
	}
	s, err := tracking.Look(ctx, w.Connection, w.Config.Source.Table, w.Config.Source.TrackTable,
		w.Config.Name, writes(&w.Config.Source))
	if err != nil {
		return plaintext.Error(poller.NameDocument(err, w.Config.Name))
	}
	bad := errors.New(strings.Join(s.Faults, "; "))
	if !s.Installed && len(s.Faults) == 0 {
		bad = fmt.Errorf("%s has no change table: rowrelay track install %s", s.Table, w.Config.Name)
	}
	if t.json {
		if err := printing.JSON(t.out, s); err != nil {
			return err
		}
	} else if s.Installed {
		p := &printing.Printer{W: t.out}
		p.Line("table         %s", plaintext.Line(s.Table))
		if s.Changes != "" {
			p.Line("change table  %s", plaintext.Line(s.Changes))
		}
		if s.Every {
			p.Line("changes       %d, of which %d are deletes", s.Rows, s.Deleted)
		} else {
			p.Line("keys          %d, of which %d are deleted", s.Rows, s.Deleted)
		}
		p.Line("versions      %s to %s; changes up to %s may be missing", cmp.Or(s.Oldest, "none"),
			cmp.Or(s.Newest, "none"), cmp.Or(s.Floor, "an unknown one"))
		if s.Retained != "" {
			p.Line("retained      %s: a poller that stands still for longer stops at a gap", s.Retained)
		}
		for _, text := range s.Unseen {
			p.Line("not seen      %s", plaintext.Line(text))
		}
		if s.Outdated != "" {
			p.Line("outdated      %s", s.Outdated)
		}
		for _, text := range s.Faults {
			p.Line("✗             %s", plaintext.Line(text))
		}
		if p.Err != nil {
			return p.Err
		}
	}
	if s.Installed && len(s.Faults) == 0 {
		return nil
	}
	return bad
}

func newTrackPurge(t *target) *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "purge <poller>",
		Short: "Print, or apply, the statements that remove deletes which every poller has delivered",
		Long: `Purge prints the statements that remove keys from the change table whose rows are gone, as far as every poller of these
settings that reads it has delivered their deletes: none after the lowest position, and none after a parked event. With
--apply it runs them itself. A poller of other settings that lags finds a gap afterwards, and says so. On
PostgreSQL a key stays as long as a transaction is open that is older than its delete.

A poller that stands still is waited for no longer than source__track_retention, and with no more deletes than
source__track_max_deletes: older ones go all the same, and the poller that has not delivered them stops at a gap. On
PostgreSQL and SQLite their age is counted from the first purge after them.

The change table grows by a row for each key that is deleted. Where many are, run it daily. A history
(source__every_change) grows with every change: of that, purge removes what every poller has delivered, a day after it
was made, and what is older than source__track_retention. Run it daily.`,
		Example: `  rowrelay track purge orders
  rowrelay track purge orders --apply --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return t.purgeTracked(cmd.Context(), args[0], apply) },
	}
	return t.applies(cmd, &apply)
}

func (t *target) purgeTracked(ctx context.Context, name string, apply bool) error {
	return t.onApp(func(a *wiring.App) error {
		w, err := a.Poller(name)
		if err == nil {
			err = wiring.Refuse(a.Config, []*wiring.Poller{w})
		}
		if err == nil {
			err = w.Config.Source.Mode.NeedsTriggers(w.Config.Name)
		}
		if err != nil {
			return err
		}
		readers, err := t.readers(ctx, a, w)
		if err != nil {
			return plaintext.Error(err)
		}
		of := &w.Config.Source
		work, err := tracking.Purge(ctx, w.Connection, of.Table, of.TrackTable, w.Config.Name, writes(of), readers,
			tracking.Keep{For: of.TrackRetention, Most: of.TrackMaxDeletes})
		return t.carryOutWork(ctx, w, work, err, apply)
	})
}

// readers are the positions of all pollers that read the same change table.
func (t *target) readers(ctx context.Context, a *wiring.App, of *wiring.Poller) (readers []tracking.Reader, err error) {
	table, err := of.Source.ChangeTable(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range a.Pollers {
		if !w.Config.Source.Mode.Can(mode.Triggers) || w.Connection.Identity != of.Connection.Identity {
			continue
		}
		if err := wiring.Refuse(a.Config, []*wiring.Poller{w}); err != nil {
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
			d, err := a.Managed(ctx, &wiring.Choice{Output: out.Config.Name}, w.Config.Name, operator(),
				auditLogger(t.console, a.Config))
			if err != nil {
				return nil, err
			}
			needed, err := d.Needed(ctx)
			if err != nil {
				return nil, err
			}
			if needed == nil {
				continue
			}
			more, err := w.Source.Readers(ctx, needed)
			if err != nil {
				return nil, fmt.Errorf("poller %s: %w", poller.Address(w.Config.Name, out.Config.Name), err)
			}
			readers = append(readers, more...)
		}
	}
	slices.SortFunc(readers, func(a, b tracking.Reader) int {
		return cmp.Or(cmp.Compare(a.Passed, b.Passed), cmp.Compare(a.Own, b.Own), cmp.Compare(a.Number, b.Number))
	})
	if readers = slices.Compact(readers); len(readers) == 0 {
		return nil, fmt.Errorf("no poller has read the change table %s yet", table)
	}
	return readers, nil
}
