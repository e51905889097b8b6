package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/wiring"
)

func newState(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Show a poller's position, and control it: reset, pause, copy, accept",
		Long: `State shows and changes the document that holds a poller's checkpoint and lease.

Every change shows first what it would do, with the rows counted that would be sent again or skipped, and asks for the
poller's name (--yes goes on without asking, --dry-run only shows). A change of the position is refused while an ` +
			`instance
holds the lease: pause the poller first, which works at any time and takes effect at its next batch. Each change is one
compare-and-swap, and is written to the log.`,
		Args: cobra.NoArgs,
	}
	t := &target{console: c}
	cmd.PersistentPreRun = t.remember
	outputFlag(cmd.PersistentFlags(), &t.output)
	cmd.AddCommand(newStateShow(t), newStateReset(t), newStatePause(t), newStateResume(t), newStateAcceptFingerprint(t),
		newStateAcceptGap(t), newStateExport(t), newStateClone(t), newStateImport(t), newStateInit(t), newStateMove(t))
	return cmd
}

func newStateShow(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "show <poller>",
		Short: "Show position, lease, parked events, skips and source of a poller",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return t.show(cmd.Context(), args[0]) },
	}
}

func (t *target) show(ctx context.Context, name string) error {
	is, err := t.onShared(name, func(s *admin.Shared) error {
		view, err := s.View(ctx)
		if err != nil {
			return err
		}
		if t.json {
			return printing.JSONLine(t.out, view)
		}
		return t.say("%s", view)
	})
	if is || err != nil {
		return err
	}
	return t.onDocument(ctx, name, func(d *wiring.Document) error {
		view, err := d.State(ctx)
		if err != nil {
			return err
		}
		if t.json {
			return printing.JSONLine(t.out, view)
		}
		return printState(t.out, view)
	})
}

// onShared does some work on the shared state of a poller whose changes instances share by leases; it reports false of
// any other poller.
func (t *target) onShared(name string, work func(*admin.Shared) error) (is bool, err error) {
	err = t.onApp(func(a *wiring.App) error {
		w, err := a.Poller(strings.ToLower(name))
		if err != nil || w.Leases == nil {
			return nil //nolint:nilerr // who looks for a document tells it
		}
		is = true
		return work(&admin.Shared{Poller: w.Config.Name, Leases: w.Leases})
	})
	return is, err
}

func newStatePause(t *target) *cobra.Command {
	return t.onOneOrAll(&cobra.Command{
		Use:   "pause <poller>",
		Short: "Stop a poller at its next batch, until resume",
		Long: `Pause works at any time, also while an instance holds the lease. That instance stops before its next batch and gives the
lease back; ticks of a paused poller do nothing and succeed (event=paused). For an outbox it is rowrelay outbox pause.
--all pauses every output of every poller.`,
	}, admin.Controls.Pause)
}

func newStateResume(t *target) *cobra.Command {
	return t.onOneOrAll(&cobra.Command{
		Use:   "resume <poller>",
		Short: "Let a paused poller go on",
	}, admin.Controls.Resume)
}

func newStateReset(t *target) *cobra.Command {
	var r admin.Reset
	cmd := t.flags(&cobra.Command{
		Use:   "reset <poller> --to beginning|latest|snapshot|cursor=VALUE|file=PATH",
		Short: "Put a poller's position somewhere else",
		Long: `Reset moves the checkpoint by one compare-and-swap. It forgets the memory of late commits, and asks what shall become
of parked events. Where the source's definition or source__late_commits has changed since, it accepts what the ` +
			`settings have now.
It is refused while an instance holds the lease: pause the poller first.

  --to beginning     before the first row: every row is delivered again
  --to latest        after the last row that there is now: what lies between is skipped
  --to snapshot      with source__mode=changetracking: every row of the table is delivered as it is, beside the changes
  --to cursor=VALUE  with --key for every key column: after exactly that row;
                     with --ties=after: after all rows of that value; with --ties=before: before them
  --to file=PATH     what "rowrelay state export" wrote

Rows that are skipped are never delivered. That is data loss: it is logged as checkpoint_advanced_manually, counted by
rowrelay_skipped_rows_total, and listed by "rowrelay state show".

--break-lease takes the lease away from whoever holds it, raises the fencing token, and delivers nothing. It is for ` +
			`a holder
that is known to be dead: one that is alive may go on delivering for a moment, under the lower token, beside the ` +
			`next one.
Pause the poller first. Alone, without --to, it does only that.`,
		Example: `  rowrelay state reset orders --to beginning --dry-run
  rowrelay state reset orders --to cursor=2026-04-07T01:23:45Z --ties before
  rowrelay state reset orders --to cursor=4711 --key id=12 --key line=3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			is, err := t.onShared(args[0], func(s *admin.Shared) error {
				plan, err := s.Reset(cmd.Context(), r.To)
				return t.carryOut(cmd.Context(), s.Poller, plan, err)
			})
			if is || err != nil {
				return err
			}
			return t.onDocument(cmd.Context(), args[0], func(d *wiring.Document) error {
				move, err := d.Reset(cmd.Context(), &r)
				return t.carryOut(cmd.Context(), d.Poller, planOf(move), err)
			})
		},
	})
	cmd.Flags().StringVar(&r.To, "to", "", "beginning, latest, snapshot, cursor=VALUE or file=PATH")
	cmd.Flags().Var(commandline.OnceEach{Values: &r.Key}, "key",
		"a key column and its value, as `column=value`, for --to cursor=; once for each")
	cmd.Flags().StringVar(&r.Ties, "ties", "", "before or after all rows of the value of --to cursor=")
	cmd.Flags().StringVar(&r.Parked, "parked", "", "keep or drop the parked events (asked for where there are some)")
	cmd.Flags().BoolVar(&r.BreakLease, "break-lease", false, "take the lease away from a holder that is dead")
	return cmd
}

func newStateAcceptFingerprint(t *target) *cobra.Command {
	var parked string
	cmd := t.planned(&cobra.Command{
		Use:   "accept-fingerprint <poller>",
		Short: "Go on at the stored position although the source definition has changed",
		Long: `Accept-fingerprint goes on at the stored position after the source definition has changed (its server, table or query, key,
cursor), or the way in which late commits are found. Rows that the new definition has at or below that position are ` +
			`not delivered.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, d *wiring.Document, _ []string) (*admin.Plan, error) {
		return d.AcceptFingerprint(ctx, parked)
	})
	cmd.Flags().StringVar(&parked, "parked", "",
		"keep or drop the parked events (asked for where there are some); drop where source__key has changed")
	return cmd
}

func newStateAcceptGap(t *target) *cobra.Command {
	return t.planned(&cobra.Command{
		Use:   "accept-gap <poller>",
		Short: "Go on although the database was restored, failed over or replaced",
		Long: `Accept-gap goes on at the stored position in the database as it is now; the next commit records its incarnation. Where the
position is ahead of the source's own counter it goes on at the last row that there is: new rows would otherwise be ` +
			`taken
for old ones.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, d *wiring.Document, _ []string) (*admin.Plan, error) {
		return d.AcceptGap(ctx)
	})
}

func newStateExport(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "export <poller>",
		Short: "Write the position as JSON, for reset --to file=",
		Long: `Export writes the position from which nothing is missed. Where events are parked, it is before the oldest
of them: rows that were delivered since come again. Of parked rows whose places are not known (they wait behind others,
were replayed, or came from a snapshot) the number stands in the file, on standard error, and in what reset --to file=
says. Dead letters are not in it.`,
		Example: "  rowrelay state export orders > orders.json\n  rowrelay state reset orders --to file=orders.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.onDocument(cmd.Context(), args[0], func(d *wiring.Document) error {
				found, err := d.Export(cmd.Context())
				if err != nil {
					return err
				}
				if text := found.Missing(); text != "" {
					if _, err := fmt.Fprintf(t.err, "rowrelay: %s\n", text); err != nil {
						return err
					}
				}
				return printing.JSON(t.out, found)
			})
		},
	}
}

func newStateClone(t *target) *cobra.Command {
	return t.planned(&cobra.Command{
		Use:   "clone <poller> <new poller>",
		Short: "Give a new poller of the same source the position of another",
		Long: `Clone creates the state document of a poller that has none yet, at the position of another. Both have to be in the settings,
with the same source definition. Parked events, a pause, a backfill and the memory of late commits stay with the ` +
			`old one: what
committed late within the last window is delivered to the new one from the window's low edge on.`,
		Args: cobra.ExactArgs(2),
	}, func(ctx context.Context, d *wiring.Document, args []string) (*admin.Plan, error) {
		other, err := t.find(ctx, d.App, args[1])
		if err != nil {
			return nil, err
		}
		return d.Clone(ctx, args[0], other.Document, args[1])
	})
}

func newStateImport(t *target) *cobra.Command {
	var keys []string
	cmd := t.planned(&cobra.Command{
		Use:   "import <poller> <file>",
		Short: "Take over the position from a state document of azure-functions-db",
		Long: `Import reads a state document of azure-functions-db-python (the blob state/{poller}.json in its container), and creates the
state document of a poller that has none yet, at its position. Stop the old function first: its lease must be free ` +
			`or expired.

The document holds the values of cursor_column and pk_columns, and not their names: source__cursor and source__key ` +
			`must name the
same columns, in the same order. Where the key has several columns, --key says how pk_columns names them. A value ` +
			`that would not
be the same in Rowrelay is refused, with what to do instead.`,
		Example: "  rowrelay state import orders blob.json\n  rowrelay state import orders blob.json --key tenant,id",
		Args:    cobra.ExactArgs(2),
	}, func(ctx context.Context, d *wiring.Document, args []string) (*admin.Plan, error) {
		return d.Import(ctx, d.Of.Source, args[1], keys)
	})
	cmd.Flags().StringSliceVar(&keys, "key", nil,
		"pk_columns of the old function, in its order; needed where there are several")
	cmd.Flags().Lookup("key").DefValue = "" // none, which help need not say as []
	return cmd
}

// planOf is the plan of a move; nil where none could be made.
func planOf(m *admin.Move) *admin.Plan {
	if m == nil {
		return nil
	}
	return &m.Plan
}

func printState(w io.Writer, v *admin.State) error {
	lease := "free"
	switch {
	case v.Held != "":
		lease = v.Held
	case v.Owner != "":
		lease = fmt.Sprintf("expired (last held by %s until %s)", v.Owner, v.ExpiresAt.Format(time.RFC3339))
	}
	p := &printing.Printer{W: w}
	p.Line("poller       %s", v.Poller)
	p.Line("document     %s", v.Document)
	p.Line("position     %s", v.Position)
	if v.Late != nil {
		mode := v.Late.Mode
		if v.Late.Mode == string(late.Overlap) {
			mode += fmt.Sprintf(": the position is the window's low edge; delivered as far as %s, %d row(s) remembered",
				v.Late.Frontier, v.Late.Remembered)
		}
		p.Line("late commits %s", mode)
	}
	p.Line("last batch   %s", cmp.Or(v.BatchID, "none"))
	p.Line("committed    %s", orNever(v.UpdatedAt))
	p.Line("source       %s", v.Fingerprint)
	p.Line("incarnation  %s", cmp.Or(v.Incarnation, "none"))
	if v.Gap != "" {
		p.Line("gap          %s", v.Gap)
	}
	p.Line("lease        %s", lease)
	p.Line("token        %d", v.Token)
	if v.Paused != nil {
		ends := ""
		if !v.Paused.Until.IsZero() {
			ends = ", until " + v.Paused.Until.UTC().Format(time.RFC3339) + " at the latest"
		}
		p.Line("paused       since %s by %s%s", v.Paused.At.UTC().Format(time.RFC3339), v.Paused.By, ends)
	}
	if v.Backfill != nil {
		p.Line("backfill     %s", v.Backfill)
	}
	for _, a := range v.Apart {
		p.Line("read apart   order key %s: its rows after %s are delivered beside the others'", a.OrderKey, a.At)
	}
	for _, e := range v.Parked {
		p.Line("parked       %s", parkedLine(&e))
	}
	for _, s := range v.Skips {
		rows := fmt.Sprintf("%d row(s)", s.Rows)
		if s.Rows < 0 {
			rows = "rows that could not be counted"
		}
		p.Line("SKIPPED      %s by %s on %s: from %s to %s", rows, s.By, s.At.UTC().Format(time.RFC3339), s.From, s.To)
	}
	return p.Err
}

func parkedLine(e *parking.Entry) string {
	text := fmt.Sprintf("%s: %d attempt(s)", e.Key, e.Attempts)
	switch {
	case e.Blocked:
		text += ", dead-lettered and blocked until it is replayed or purged"
	default:
		text += ", next " + e.Next.UTC().Format(time.RFC3339)
	}
	if n := len(e.Followers); n > 0 {
		text += fmt.Sprintf(", %d row(s) of %s wait behind it", n, e.OrderKey)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

func orNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
