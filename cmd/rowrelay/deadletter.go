package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/wiring"
)

// letters is what the flags of the dead-letter commands say.
type letters struct {
	*target
	cause        string
	reason       string
	key          string
	since, until time.Duration
	asRecorded   bool
	given        []*pflag.FlagSet // of each command that has filters
	parked       bool             // --parked: not records, but what waits for its next attempt
}

func newDeadLetter(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deadletter",
		Short: "List, show, replay or purge the events that were given up",
		Long: `A dead letter is an event that its destination refused max_attempts times, where something showed that the event was at
fault and not the destination. It holds the row as it was then, why it was refused, how often and when. Dead ` +
			`letters lie beside
the state document (dead_letter__kind=state), or in a queue (dead_letter__kind=queue), which has readers of its ` +
			`own: of those, only
the ones that were too large for the queue lie here too.`,
		Args: cobra.NoArgs,
	}
	l := &letters{target: &target{console: c, history: true}}
	cmd.PersistentPreRun = l.remember
	cmd.PersistentFlags().StringVar(&l.output, "output", "",
		"name of a further output (outputs__<name>), or backfill-NAME for those of rowrelay backfill --name NAME; "+
			"default is the poller's own")
	list := l.filters(&cobra.Command{
		Use:   "list <poller>",
		Short: "List dead letters, the oldest first",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return l.list(cmd.Context(), args[0]) },
	})
	show := &cobra.Command{
		Use:   "show <poller> <event id>",
		Short: "Show one dead letter whole, its row included",
		Args:  cobra.ExactArgs(2),
		RunE:  func(cmd *cobra.Command, args []string) error { return l.show(cmd.Context(), args[0], args[1]) },
	}
	replay := l.flags(l.filters(&cobra.Command{
		Use:   "replay <poller> [event id ...]",
		Short: "Hand dead letters back to the poller",
		Long: `Replay hands the rows of dead letters back to the poller: its next tick reads each row again by its key and delivers its
newest state, in order with everything else of that key. What fails again is parked and given up again. A record is ` +
			`removed
when its row has been handed over; nothing is lost in between. Where the row is gone from the source, or does not meet
source__where any more, the record is kept: it is the only copy. Records that max_parked leaves no room for are kept
too, until the command is run again. In both cases it fails, after it has replayed the others.

--as-recorded sends the recorded rows at once, from here, under their recorded ids. That BREAKS THE ORDER: a ` +
			`receiver may have
newer states of these rows already.

Both need the lease for a moment: pause a poller whose ticks never end.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return l.replay(cmd.Context(), args[0], args[1:]) },
	}))
	replay.Flags().BoolVar(&l.asRecorded, "as-recorded", false,
		"send the recorded rows under their recorded ids, out of order")
	purge := l.flags(l.filters(&cobra.Command{
		Use:   "purge <poller> [event id ...]",
		Short: "Delete dead letters for good",
		Long: `Purge deletes records. Their rows stay in the source, and are delivered again when they are changed there. Where
after_dead_letter=block keeps their keys parked, purge lets what waits behind them go on.

--parked is about parked events that wait for their next attempt instead: it takes them out, as where source__key ` +
			`has changed
and they cannot be read by their keys any more. Rows that have changed meanwhile stay parked, and are tried at once.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return l.purge(cmd.Context(), args[0], args[1:]) },
	}))
	purge.Flags().BoolVar(&l.parked, "parked", false,
		"take out parked events that wait for their next attempt, instead of deleting records")
	cmd.AddCommand(list, show, replay, purge)
	return cmd
}

// filters adds the flags that choose records.
func (l *letters) filters(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&l.cause, "cause", "", "only those of this cause: refused, unavailable or impossible")
	cmd.Flags().StringVar(&l.reason, "reason", "", "only those whose reason holds this text")
	cmd.Flags().StringVar(&l.key, "key", "", "only those whose key holds this text")
	cmd.Flags().DurationVar(&l.since, "since", 0, "only those given up within this time: 24h")
	cmd.Flags().DurationVar(&l.until, "until", 0, "only those given up longer ago than this")
	l.given = append(l.given, cmd.Flags())
	return cmd
}

// check refuses ids together with filters: which of the two would be meant is not known.
func (l *letters) check(ids []string) error {
	if slices.Contains(ids, "") {
		return commandline.Mistaken("an event id is empty: name the event, or give no ids at all")
	}
	for _, given := range l.given { // of one command only they were parsed
		if err := commandline.Unsaid(given, "cause", "reason", "key", "since", "until"); err != nil {
			return err
		}
	}
	switch {
	case l.since < 0, l.until < 0:
		return commandline.Mistaken("--since and --until must not be negative")
	case l.since > 0 && l.until >= l.since:
		return commandline.Mistaken("no dead letter is newer than --since %s and older than --until %s", l.since, l.until)
	}
	if len(ids) > 0 && (l.cause != "" || l.reason != "" || l.key != "" || l.since > 0 || l.until > 0) {
		return commandline.Mistaken("give event ids, or filters (--cause, --reason, --key, --since, --until), not both")
	}
	return nil
}

// choice is what ids and flags choose.
func (l *letters) choice(ids []string) (*admin.Choice, error) {
	if err := l.check(ids); err != nil {
		return nil, err
	}
	c := &admin.Choice{IDs: ids, Filter: deadletter.Filter{Reason: l.reason, Key: l.key}, Parked: l.parked,
		Rows: l.json || l.asRecorded}
	if l.cause != "" {
		causes := []poller.Cause{poller.Unavailable, poller.Refused, poller.Impossible}
		at := slices.IndexFunc(causes, func(c poller.Cause) bool { return c.String() == l.cause })
		if at < 0 {
			return nil, commandline.Mistaken("--cause %q is not unavailable, refused or impossible", l.cause)
		}
		c.Filter.Causes = causes[at : at+1]
	}
	now := time.Now()
	if l.since > 0 {
		c.Filter.Since = now.Add(-l.since)
	}
	if l.until > 0 {
		c.Filter.Until = now.Add(-l.until)
	}
	return c, nil
}

// passedOver tells which records could not be read.
func (l *letters) passedOver(unread []error) error {
	for _, err := range unread {
		if _, err := fmt.Fprintf(l.err, "passed over: %v\n", err); err != nil {
			return err
		}
	}
	if len(unread) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(l.err, "to delete one that cannot be read, name it by the id that its file has: "+
		"rowrelay deadletter purge <poller> <event id>")
	return err
}

// tellElsewhere says that dead letters lie in a queue, which is read by other means.
func (l *letters) tellElsewhere(w *wiring.Poller) error {
	to := &w.Config.DeadLetter
	if to.Kind != "queue" {
		return nil
	}
	_, err := fmt.Fprintf(l.err, "the dead letters of %s go to the queue %s (dead_letter__kind=queue, %s): read them there. "+
		"What lies beside the state document are those that were too large for it, and those of before\n", w.Config.Name,
		to.Queue, to.ConnectionSetting)
	return err
}

func (l *letters) list(ctx context.Context, name string) error {
	c, err := l.choice(nil)
	if err != nil {
		return err
	}
	return l.onDocument(ctx, name, func(d *wiring.Document) error {
		if err := l.tellElsewhere(d.Of); err != nil {
			return err
		}
		end := l.watch(&d.Progress)
		found, err := d.Find(ctx, c)
		end()
		if err := errors.Join(l.passedOver(found.Unread), err); err != nil {
			return err
		}
		if l.json {
			for i := range found.Entries {
				if err := l.print(found.Entries[i].Record); err != nil {
					return err
				}
			}
			return nil
		}
		p := &printing.Printer{W: l.out}
		for i := range found.Entries {
			r := found.Entries[i].Record
			p.Line("%s  %s  %s  %s %d after %d attempt(s)  %s", r.WrittenAt.UTC().Format(time.RFC3339), r.ID, r.Key, r.Cause,
				r.Status, r.Attempts, r.Reason)
		}
		p.Line("%d dead letter(s)", len(found.Entries))
		return p.Err
	})
}

func (l *letters) show(ctx context.Context, name, id string) error {
	c, err := l.choice([]string{id})
	if err != nil {
		return err
	}
	return l.onDocument(ctx, name, func(d *wiring.Document) error {
		found, err := d.Find(ctx, c)
		if err != nil {
			return err
		}
		if l.json {
			return l.print(found.Entries[0].Record)
		}
		return printLetter(l.out, found.Entries[0].Record)
	})
}

// printLetter writes a record for people.
func printLetter(w io.Writer, r *deadletter.Record) error {
	p, times := &printing.Printer{W: w}, func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	name := poller.Address(r.Poller, r.Output)
	p.Line("%s", name)
	p.Field("event", r.ID)
	first := ""
	if !r.FirstAttempt.IsZero() { // leases on rows know only how many there were
		first = "the first " + times(r.FirstAttempt) + ", "
	}
	p.Field("given up", fmt.Sprintf("%s, after %s, %sthe last %s", times(r.WrittenAt),
		printing.Count(r.Attempts, "attempt"), first, times(r.LastAttempt)))
	why := r.Cause.String()
	if r.Status != 0 {
		why += fmt.Sprintf(", %d", r.Status)
	}
	p.Field("because", why+": "+r.Reason)
	p.Field("table", fmt.Sprintf("%s (%s)", r.Table, r.Engine))
	p.Field("key", string(r.Key))
	if !bytes.Equal(r.Key, r.OrderKey) {
		p.Field("order key", string(r.OrderKey))
	}
	p.Field("position", r.Cursor.String())
	if len(r.Before) > 0 {
		p.Field("before", indented(r.Before))
	}
	p.Field(r.Op.String(), indented(r.Row))
	p.Field("to do", "mend the receiver or the row, then: rowrelay deadletter replay "+name+" "+r.ID)
	return p.Err
}

// indented is a row for people.
func indented(row []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, row, "", "  "); err != nil || len(row) == 0 {
		return "(not in the record)"
	}
	return b.String()
}

// print writes a record as it is stored: one line of JSON.
func (l *letters) print(r *deadletter.Record) error {
	line, err := r.Encode()
	if err == nil {
		_, err = l.out.Write(line)
	}
	return err
}

// onChosen does something with what ids and flags choose.
func (l *letters) onChosen(ctx context.Context, name string, ids []string,
	work func(*wiring.Document, *admin.Chosen) error) error {
	c, err := l.choice(ids)
	if err != nil {
		return err
	}
	return l.onDocument(ctx, name, func(d *wiring.Document) error {
		end := l.watch(&d.Progress)
		chosen, err := d.Choose(ctx, c)
		end()
		if chosen != nil {
			if err := l.passedOver(chosen.Unread); err != nil {
				return err
			}
		}
		if err != nil {
			_, err = l.agreed(d.Poller, nil, err)
			return err
		}
		defer l.watch(&d.Progress)()
		return work(d, chosen)
	})
}

// name names the records that something is to be done with.
func (l *letters) name(entries []deadletter.Entry) error {
	for i := range entries {
		if err := l.say("  %s  %s", entries[i].Record.ID, entries[i].Record.Key); err != nil {
			return err
		}
	}
	return nil
}

func (l *letters) replay(ctx context.Context, name string, ids []string) error {
	if !l.asRecorded {
		if err := admin.CanReplay(l.output); err != nil {
			return err
		}
	}
	return l.onChosen(ctx, name, ids, func(d *wiring.Document, chosen *admin.Chosen) error {
		if l.asRecorded {
			if err := l.name(chosen.Entries); err != nil {
				return err
			}
			plan, err := chosen.Resend(func() (poller.Output, error) { return d.App.OpenOutput(d.Of.Config, d.To.Config) },
				d.To.Config.Timeout)
			return l.carryOut(ctx, d.Poller, plan, err)
		}
		replay, err := chosen.Replay(ctx)
		if err != nil {
			return err
		}
		if err := l.name(replay.Rows); err != nil {
			return err
		}
		ok, err := l.agreed(d.Poller, &replay.Plan, nil)
		if err != nil || !ok {
			return errors.Join(err, replay.Kept)
		}
		return l.apply(ctx, &replay.Plan)
	})
}

func (l *letters) purge(ctx context.Context, name string, ids []string) error {
	return l.onChosen(ctx, name, ids, func(d *wiring.Document, chosen *admin.Chosen) error {
		if err := l.name(chosen.Entries); err != nil {
			return err
		}
		plan, err := chosen.Purge()
		return l.carryOut(ctx, d.Poller, plan, err)
	})
}
