package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/state"
)

// movement is a change of the position that was worked out, and not made yet.
type movement struct {
	from, to change.Cursor
	distance
	// late is how many rows of the window, which are not remembered as delivered, are not looked for any more, at most: those
	// that the move skips among them. -1: they could not be counted.
	late   int64
	window bool // the window of late commits, or a part of it, is behind the new position
	parked int  // parked events that are forgotten
	// source is as it is defined now. The movement accepts it; changed says that the document was written for another.
	source  checkpointed.Description
	changed bool
	// foreign says that the position the document has means nothing in the source as it is defined now.
	foreign bool
	// retyped are the columns of the cursor or key as the document has them, where they have changed their type since.
	retyped string
	// backfill was begun in the source as it was defined before; nil where none is stopped.
	backfill *state.Backfill
}

// String says what it will do.
func (m *movement) String() string {
	text := fmt.Sprintf("The poller will go on at %s: %s.", m.to, m.distance)
	if m.window {
		text += "\nRows that commit late behind that position are not looked for any more: the memory of late commits is forgotten."
		switch {
		case m.late < 0:
			text += " How many such rows there are already could not be counted."
		case m.late > m.skipped:
			text += fmt.Sprintf(" At most %d row(s) up to there that are not remembered as delivered are SKIPPED, which is data loss.", m.late)
		}
	}
	if m.parked > 0 {
		text += fmt.Sprintf("\n%d parked event(s) will be forgotten.", m.parked)
	}
	if m.changed {
		text += "\nThe source is defined in another way than when the document was written: it is accepted as the settings have it now."
	}
	if m.retyped != "" {
		text += fmt.Sprintf("\nThe columns of the cursor or key were %s, and are %s: they are accepted as they are now.", m.retyped, m.source.Columns)
	}
	return text + stopping(m.backfill)
}

// stopping says that a backfill ends because the source has changed; "" where there is none.
func stopping(b *state.Backfill) string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("\nThe backfill will be stopped, because its range belongs to the source as it was: %s.", backfillOf(b))
}

// auditStopped writes to the log that a backfill was stopped.
func (op *operation) auditStopped(b *state.Backfill) {
	if b != nil {
		op.audit("backfill_stopped", "backfill", b.ID, "done", b.Done, "of", b.Total)
	}
}

// retyped are the columns of the cursor or key as a document has them, where they have changed their type since; else "".
func retyped(doc *state.Document, source checkpointed.Description) string {
	if was := doc.Checkpoint.Columns; source.Columns != "" && was != source.Columns {
		return was
	}
	return ""
}

// sameDefinition reports whether a document was written for a source as it is defined now, and under its way of late commits.
func sameDefinition(doc *state.Document, source checkpointed.Description) bool {
	return doc.SourceFingerprint == source.Fingerprint && sameLate(doc, source)
}

// sameLate reports whether late commits are handled as when the document was written; it is silent before the first commit.
func sameLate(doc *state.Document, source checkpointed.Description) bool {
	return doc.Late.Mode == "" || doc.Late.Mode == string(source.Late)
}

// lost is how many rows the movement skips, at most; -1 where they could not be counted.
func (m *movement) lost() int64 {
	if m.skipped < 0 || m.late < 0 {
		return -1
	}
	return max(m.skipped, m.late)
}

// plan works out what a reset will do. It changes nothing.
func (op *operation) plan(ctx context.Context, r *reset) (*movement, error) {
	to, err := op.position(ctx, r)
	if err != nil {
		return nil, err
	}
	m := &movement{from: op.reached(), to: to}
	if m.source, err = op.w.source.Describe(ctx); err != nil {
		return nil, fmt.Errorf("describing the source: %w", err)
	}
	doc := &op.snap.Doc
	m.changed, m.retyped = !sameDefinition(doc, m.source), retyped(doc, m.source)
	if m.foreign = doc.SourceFingerprint != m.source.Fingerprint || m.retyped != ""; m.foreign {
		m.backfill, m.window = doc.Backfill, m.source.Late == late.Overlap && !to.IsStart()
		m.atMost = true // which of the rows up to there were delivered, nobody knows
		if m.skipped, err = op.before(ctx, to); err != nil {
			return nil, err
		}
	} else if err := op.weigh(ctx, m); err != nil {
		return nil, err
	}
	drop, err := op.dropParked(r.parked)
	if drop {
		m.parked = doc.Parked.Count
	}
	return m, err
}

// weigh counts what a movement repeats and skips, where the position that the document has is one in the source as it is.
func (op *operation) weigh(ctx context.Context, m *movement) (err error) {
	if m.distance, err = op.distance(ctx, m.from, m.to); err != nil {
		if err := op.say("how many rows lie between could not be counted: %v", op.named(err)); err != nil {
			return err
		}
	}
	if m.window, m.late, err = op.leftBehind(ctx, m.to, m.distance); err != nil {
		return op.say("the rows of the window could not be counted: %v", err)
	}
	return nil
}

// leftBehind counts the rows of the window of late commits that are not remembered as delivered and lie behind a new position,
// as an upper bound: with overlap they, and those to come, would have been found by the next sweeps.
func (op *operation) leftBehind(ctx context.Context, to change.Cursor, d distance) (window bool, rows int64, err error) {
	doc := &op.snap.Doc
	if doc.Late.Mode != string(late.Overlap) || to.IsStart() {
		return false, 0, nil
	}
	low := doc.Checkpoint.Cursor
	behind, err := op.w.source.Count(ctx, change.Range{After: low, UpTo: to})
	switch {
	case err != nil:
		return true, -1, err
	case behind == 0: // it lies before the window, or at its low edge, or no row of the window is left
		return d.again == 0 && !bytes.Equal(low, to), 0, nil
	case d.again <= 0:
		return true, max(0, behind-int64(doc.Late.Memory.Count)), nil
	}
	// Where the position goes back into the window, what is remembered of the rows after it counts for those.
	all, err := op.w.source.Count(ctx, change.Range{After: low, UpTo: op.reached()})
	if err != nil {
		return true, -1, err
	}
	return true, min(behind, max(0, all-int64(doc.Late.Memory.Count))), nil
}

// carryOut makes the movement.
func (op *operation) carryOut(ctx context.Context, m *movement) error {
	lost := m.lost()
	var dropped []checkpointed.ParkedEntry
	var err error
	if m.parked > 0 {
		if dropped, err = op.toDrop(ctx); err != nil {
			return err
		}
	}
	_, err = op.out.keeper.Edit(ctx, op.snap, func(doc *state.Document) {
		if lost != 0 {
			skip(doc, m.from, m.to, lost)
		}
		move(doc, m.to)
		if m.to.IsStart() || doc.SourceFingerprint != m.source.Fingerprint {
			doc.Checkpoint.Incarnation = "" // another source may be another database: the next commit says
		}
		if m.changed {
			doc.SourceFingerprint, doc.Late = m.source.Fingerprint, state.Late{}
		}
		if m.foreign {
			doc.Backfill = nil
		}
		// The position is one that a person chose in the table as it is now.
		doc.Checkpoint.Table, doc.Checkpoint.Columns = "", ""
		if m.parked > 0 {
			if !m.to.IsStart() { // from the beginning they come again
				forget(doc, int64(m.parked))
			}
			doc.Parked = state.ObjectRef{}
		}
	})
	if err != nil {
		return err
	}
	op.auditDropped(dropped)
	if m.changed {
		op.audit("fingerprint_accepted", "from", op.snap.Doc.SourceFingerprint, "to", m.source.Fingerprint, "late_from", op.snap.Doc.Late.Mode, "late_to", string(m.source.Late))
	}
	op.auditStopped(m.backfill)
	if lost != 0 {
		op.audit("checkpoint_advanced_manually", "from", m.from.String(), "to", m.to.String(), "count", lost)
	} else {
		op.audit("checkpoint_reset_manually", "from", m.from.String(), "to", m.to.String(), "count", m.again)
	}
	return op.done("done")
}
