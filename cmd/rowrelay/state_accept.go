package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

func newStateAcceptFingerprint(t *target) *cobra.Command {
	var parked string
	cmd := t.flags(&cobra.Command{
		Use:   "accept-fingerprint <poller>",
		Short: "Go on at the stored position although the source definition has changed",
		Long: `Accept-fingerprint goes on at the stored position after the source definition has changed (its server, table or query, key,
cursor), or the way in which late commits are found. Rows that the new definition has behind that position are not delivered.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.acceptFingerprint(cmd.Context(), args[0], parked)
		},
	})
	cmd.Flags().StringVar(&parked, "parked", "", "keep or drop the parked events (asked for where there are some); drop where source__key has changed")
	return cmd
}

func newStateAcceptGap(t *target) *cobra.Command {
	return t.flags(&cobra.Command{
		Use:   "accept-gap <poller>",
		Short: "Go on although the database was restored, failed over or replaced",
		Long: `Accept-gap goes on at the stored position in the database as it is now; the next commit records its incarnation. Where the
position is ahead of the source's own counter it goes on at the last row that there is: new rows would otherwise be taken
for old ones.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return t.acceptGap(cmd.Context(), args[0]) },
	})
}

func (t *target) acceptFingerprint(ctx context.Context, name, parked string) error {
	op, err := t.begin(ctx, name)
	defer op.end()
	if err != nil {
		return err
	}
	if err := op.free(); err != nil {
		return err
	}
	source, err := op.w.source.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describing the source: %w", err)
	}
	doc := &op.snap.Doc
	stored, mode := doc.SourceFingerprint, doc.Late.Mode
	same := sameLate(doc, source)
	another, kinds := stored != source.Fingerprint, retyped(doc, source)
	if !another && same && kinds == "" {
		return op.idle("The stored fingerprint is that of the settings: there is nothing to accept.")
	}
	what := "The poller will go on at the stored position with the source as it is defined now."
	if another {
		what += fmt.Sprintf("\n  stored    %s\n  settings  %s\nRows that the new definition has behind that position will not be delivered.", stored, source.Fingerprint)
	}
	if kinds != "" {
		what += fmt.Sprintf("\nThe columns of the cursor or key were %s, and are %s. Rows that have another place in the new order are not looked for again.", kinds, source.Columns)
	}
	var ended *state.Backfill
	if another || kinds != "" {
		ended = doc.Backfill
		what += stopping(ended)
		// Another cursor or key makes of the position one that cannot be read: the next tick would say so.
		_, err := op.w.source.Fetch(ctx, poller.Range{After: op.reached()}, poller.Limit{Rows: 1, Bytes: 1})
		if errors.Is(err, poller.ErrConfig) {
			what += fmt.Sprintf("\nThe stored position does not fit the settings (%v): put it elsewhere afterwards, with rowrelay state reset.", op.named(err))
		}
	}
	if !same {
		what += fmt.Sprintf("\nLate commits were handled by %s, and will be by %s. The memory of delivered rows is forgotten: rows of the last window may come again.", mode, source.Late)
	}
	drop, err := op.dropParked(parked)
	if err != nil {
		return err
	}
	if n := doc.Parked.Count; drop && n > 0 {
		what += fmt.Sprintf("\n%d parked event(s) will be forgotten: their rows come when they are changed, or with rowrelay backfill.", n)
	}
	var dropped []poller.ParkedEntry
	if drop {
		if dropped, err = op.toDrop(ctx); err != nil {
			return err
		}
	}
	err = op.edit(ctx, what, func(doc *state.Document) {
		if drop && doc.Parked.Count > 0 {
			forget(doc, int64(doc.Parked.Count))
			doc.Parked = state.ObjectRef{}
		}
		doc.SourceFingerprint = source.Fingerprint
		doc.Checkpoint.Columns = source.Columns
		if another { // it may be another table of another database: the next commit says
			doc.Checkpoint.Table, doc.Checkpoint.Incarnation = "", ""
		}
		if ended != nil {
			doc.Backfill = nil
		}
		if !same {
			clock, at := doc.Late.Clock, doc.Late.ClockAt
			doc.Late = state.Late{}
			if !another { // the position stays, and what the database's clock was with it
				doc.Late.Clock, doc.Late.ClockAt = clock, at
			}
		}
	})
	if err == nil && !op.dryRun {
		op.auditDropped(dropped)
		op.auditStopped(ended)
		op.audit("fingerprint_accepted", "from", stored, "to", source.Fingerprint, "late_from", mode, "late_to", string(source.Late))
	}
	return err
}

func (t *target) acceptGap(ctx context.Context, name string) error {
	op, err := t.begin(ctx, name)
	defer op.end()
	if err != nil {
		return err
	}
	if err := op.free(); err != nil {
		return err
	}
	from := op.reached() // where the next live rows are looked for: with overlap the position itself lies behind it
	ahead := op.w.source.Gap(ctx, from)
	if ahead != nil && !errors.Is(ahead, poller.ErrGap) {
		return ahead
	}
	incarnation := op.snap.Doc.Checkpoint.Incarnation
	remade := false
	if ahead == nil && incarnation == "" {
		if remade, err = op.remade(ctx, from); err != nil {
			return err
		}
	}
	if ahead == nil && incarnation == "" && !remade {
		return op.idle("The document names no incarnation, and the position is not ahead of the source: there is no gap to accept.")
	}
	what := "The poller will go on in the database, and the table, as they are now. Rows that were written before the restore or failover and have been lost " +
		"since are not missed; rows that were written again behind the position are not delivered."
	to, skipped := from, int64(0)
	if ahead != nil {
		if to, err = op.w.source.Latest(ctx); err != nil {
			return err
		}
		// Which of the rows up to there were delivered before the counter went back, nobody knows.
		if skipped, err = op.before(ctx, to); err != nil {
			return err
		}
		rows := fmt.Sprintf("at most %d row(s) up to it are SKIPPED", skipped)
		if skipped < 0 {
			rows = "rows up to it are SKIPPED"
		}
		what = fmt.Sprintf("The position is ahead of the source (%v).\nThe poller will go on at %s, the last row that there is now: "+
			"%s: they are never delivered, which is data loss where they were not before; rows after it are delivered.", op.named(ahead), to, rows)
	}
	err = op.edit(ctx, what, func(doc *state.Document) {
		doc.Checkpoint.Incarnation, doc.Checkpoint.Table = "", ""
		// The memory of delivered rows is the old life's: a cursor that is drawn again would be taken for a row that came.
		if move(doc, doc.Checkpoint.Cursor); ahead != nil {
			move(doc, to)
		}
		if skipped != 0 {
			skip(doc, from, to, skipped)
		}
	})
	if err == nil && !op.dryRun {
		op.audit("gap_accepted", "from", from.String(), "to", to.String(), "incarnation", incarnation)
		if skipped != 0 {
			op.audit("checkpoint_advanced_manually", "from", from.String(), "to", to.String(), "count", skipped)
		}
	}
	return err
}

// remade reports whether the table is not the one that the position was read in, and holds rows that were never seen.
func (op *operation) remade(ctx context.Context, from change.Cursor) (bool, error) {
	was := op.snap.Doc.Checkpoint.Table
	if was == "" {
		return false, nil
	}
	page, err := op.w.source.Fetch(ctx, poller.Range{After: from}, poller.Limit{Rows: 1, Bytes: 1})
	if err != nil || page.Table == "" || page.Table == was {
		return false, err
	}
	_, err = op.w.source.Replaced(ctx, from, was, page.Table)
	if errors.Is(err, poller.ErrGap) {
		return true, nil
	}
	return false, err
}

// before counts the rows up to a position; -1 where they could not be counted, which is said.
func (op *operation) before(ctx context.Context, to change.Cursor) (int64, error) {
	if to.IsStart() {
		return 0, nil
	}
	n, err := op.w.source.Count(ctx, poller.Range{UpTo: to})
	if err != nil {
		return -1, op.say("how many rows lie up to there could not be counted: %v", err)
	}
	return n, nil
}
