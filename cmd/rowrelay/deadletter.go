package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
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
fault and not the destination. It holds the row as it was then, why it was refused, how often and when. Dead letters lie beside
the state document (dead_letter__kind=state), or in a queue (dead_letter__kind=queue), which has readers of its own: of those, only
the ones that were too large for the queue lie here too.`,
		Args: cobra.NoArgs,
	}
	l := &letters{target: &target{console: c, history: true}}
	cmd.PersistentPreRun = l.remember
	cmd.PersistentFlags().StringVar(&l.output, "output", "", "name of a further output (outputs__<name>), or backfill-NAME for those of rowrelay backfill --name NAME; "+
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
newest state, in order with everything else of that key. What fails again is parked and given up again. A record is removed
when its row has been handed over; nothing is lost in between. Where the row is gone from the source, or does not meet
source__where any more, the record is kept: it is the only copy. Then the command fails.

--as-recorded sends the recorded rows at once, from here, under their recorded ids. That BREAKS THE ORDER: a receiver may have
newer states of these rows already.

Both need the lease for a moment: pause a poller whose ticks never end.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return l.replay(cmd.Context(), args[0], args[1:]) },
	}))
	replay.Flags().BoolVar(&l.asRecorded, "as-recorded", false, "send the recorded rows under their recorded ids, out of order")
	purge := l.flags(l.filters(&cobra.Command{
		Use:   "purge <poller> [event id ...]",
		Short: "Delete dead letters for good",
		Long: `Purge deletes records. Their rows stay in the source, and are delivered again when they are changed there. Where
after_dead_letter=block keeps their keys parked, purge lets what waits behind them go on.

--parked is about parked events that wait for their next attempt instead: it takes them out, as where source__key has changed
and they cannot be read by their keys any more. Rows that have changed meanwhile stay parked, and are tried at once.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return l.purge(cmd.Context(), args[0], args[1:]) },
	}))
	purge.Flags().BoolVar(&l.parked, "parked", false, "take out parked events that wait for their next attempt, instead of deleting records")
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
		return errors.New("an event id is empty: name the event, or give no ids at all")
	}
	for _, given := range l.given { // of one command only they were parsed
		if err := unsaid(given, "cause", "reason", "key", "since", "until"); err != nil {
			return err
		}
	}
	if len(ids) > 0 && (l.cause != "" || l.reason != "" || l.key != "" || l.since > 0 || l.until > 0) {
		return errors.New("give event ids, or filters (--cause, --reason, --key, --since, --until), not both")
	}
	return nil
}

// filter is what the flags choose. It leaves other outputs' records to be passed over: see chosen.
func (l *letters) filter(w *wired, app string) (deadletter.Filter, error) {
	f := deadletter.Filter{App: app, Poller: w.cfg.Name, Output: l.output, Reason: l.reason, Key: l.key}
	if l.cause != "" {
		causes := []poller.Cause{poller.Unavailable, poller.Refused, poller.Impossible}
		at := slices.IndexFunc(causes, func(c poller.Cause) bool { return c.String() == l.cause })
		if at < 0 {
			return f, fmt.Errorf("--cause %q is not unavailable, refused or impossible", l.cause)
		}
		f.Causes = causes[at : at+1]
	}
	now := time.Now()
	if l.since > 0 {
		f.Since = now.Add(-l.since)
	}
	if l.until > 0 {
		f.Until = now.Add(-l.until)
	}
	return f, nil
}

// chosen reads the records that ids and flags choose, with progress. Records that cannot be read are told and passed over.
// blocked are those of keys that wait for an operator: they count where the store has no record of theirs.
func (l *letters) chosen(ctx context.Context, a *app, w *wired, ids []string, blocked []deadletter.Entry) ([]deadletter.Entry, error) {
	store := deadletter.NewStore(a.store)
	if err := l.check(ids); err != nil {
		return nil, err
	}
	f, err := l.filter(w, a.cfg.State.AppName)
	if err != nil {
		return nil, err
	}
	var entries []deadletter.Entry
	for _, id := range ids {
		e, err := store.Get(ctx, deadletter.Name(f.App, f.Poller, l.output, id))
		if at := indexID(blocked, id); errors.Is(err, state.ErrNotFound) && at >= 0 {
			e, err = blocked[at], nil
		}
		if errors.Is(err, state.ErrNotFound) {
			return nil, &status.Refusal{Missing: true,
				Err: fmt.Errorf("poller %s has no dead letter %s%s: rowrelay deadletter list %[1]s shows those that there are", f.Poller, id, elsewhere(w))}
		}
		if err != nil {
			return nil, err
		}
		if indexID(entries, id) < 0 { // named twice
			entries = append(entries, e)
		}
	}
	if len(ids) > 0 {
		return entries, nil
	}
	bar := newProgress(l.console)
	defer bar.end()
	err = store.List(ctx, f, func(e deadletter.Entry) error {
		switch {
		case e.Err != nil:
			_, err := fmt.Fprintf(l.err, "passed over: %v\n", e.Err)
			return err
		case e.Record.Output == l.output: // no output in the filter means all of them there
			entries = append(entries, e)
		}
		return nil
	}, func(done, total int) {
		bar.show(int64(done), int64(total), fmt.Sprintf("%d of %d dead letters read", done, total))
	})
	for _, e := range blocked {
		if indexID(entries, e.Record.ID) < 0 && f.Fits(e.Record) {
			entries = append(entries, e)
		}
	}
	slices.SortStableFunc(entries, func(x, y deadletter.Entry) int { return x.Record.WrittenAt.Compare(y.Record.WrittenAt) })
	return entries, err
}

// indexID is where the record with this id stands; -1 for nowhere.
func indexID(entries []deadletter.Entry, id string) int {
	return slices.IndexFunc(entries, func(e deadletter.Entry) bool { return e.Record.ID == id })
}

// elsewhere says where dead letters go that do not lie in the store; "" where all do.
func elsewhere(w *wired) string {
	if w.cfg.DeadLetter.Kind != "queue" {
		return ""
	}
	return fmt.Sprintf(" in the store (they go to the queue %s, dead_letter__kind=queue)", w.cfg.DeadLetter.Queue)
}

// tellElsewhere says that dead letters lie in a queue, which is read by other means.
func (l *letters) tellElsewhere(w *wired) error {
	to := &w.cfg.DeadLetter
	if to.Kind != "queue" {
		return nil
	}
	_, err := fmt.Fprintf(l.err, "the dead letters of %s go to the queue %s (dead_letter__kind=queue, %s): read them there. "+
		"What lies beside the state document are those that were too large for it, and those of before\n", w.cfg.Name, to.Queue, to.ConnectionSetting)
	return err
}

func (l *letters) list(ctx context.Context, name string) error {
	a, w, _, err := l.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // nothing was written
	if err := l.tellElsewhere(w); err != nil {
		return err
	}
	entries, err := l.chosen(ctx, a, w, nil, nil)
	if err != nil {
		return err
	}
	if l.json {
		for i := range entries {
			if err := l.print(entries[i].Record); err != nil {
				return err
			}
		}
		return nil
	}
	p := &printer{w: l.out}
	for i := range entries {
		r := entries[i].Record
		p.line("%s  %s  %s  %s %d after %d attempt(s)  %s", r.WrittenAt.UTC().Format(time.RFC3339), r.ID, r.Key, r.Cause, r.Status, r.Attempts, r.Reason)
	}
	p.line("%d dead letter(s)", len(entries))
	return p.err
}

func (l *letters) show(ctx context.Context, name, id string) error {
	a, w, _, err := l.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // nothing was written
	entries, err := l.chosen(ctx, a, w, []string{id}, nil)
	if err != nil {
		return err
	}
	return l.print(entries[0].Record)
}

// print writes a record as it is stored: one line of JSON.
func (l *letters) print(r *deadletter.Record) error {
	line, err := r.Encode()
	if err == nil {
		_, err = l.out.Write(line)
	}
	return err
}
