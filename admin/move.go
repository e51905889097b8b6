package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Move is the plan of a reset.
type Move struct {
	Plan
	From, To change.Cursor
	// Again and Skipped are rows that are delivered again, and that are never delivered. -1: they could not be counted.
	Again, Skipped int64
	// Late is how many rows of the window of late commits, which are not remembered as delivered, are not looked for
	// any more, at most: those that the move skips among them. -1: they could not be counted.
	Late int64
	// Parked is how many parked events are forgotten.
	Parked int

	d *Document
	// missing says what the file that was exported lacks; "" where none is read, or it lacks nothing.
	missing string
	parked  parkedEvents
	// snapshot is begun: the position stays where keeps says so. Nil where none is.
	snapshot *checkpointed.Snapshot
	keeps    bool
	apart    []state.Apart // those that go on
	passed   int           // as many lose what they have not delivered up to the new position
	window   bool          // the window of late commits, or a part of it, is before the new position
	// source is as it is defined now. The move accepts it; changed says that the document was written for another.
	source  checkpointed.Description
	changed bool
	// ahead says that no row stands at the new position or above it.
	ahead bool
	// foreign says that the position the document has means nothing in the source as it is defined now. So Skipped are
	// all rows up to the new one.
	foreign bool
	// retyped are the columns of the cursor or key as the document has them, and are as they are now, where they have
	// changed their type or collation since.
	retyped, are string
	// backfill was begun in the source as it was defined before; nil where none is stopped.
	backfill *state.Backfill
}

// Lost is how many rows the move skips, at most; -1 where they could not be counted.
func (m *Move) Lost() int64 {
	if m.Skipped < 0 || m.Late < 0 || m.passed > 0 {
		return -1
	}
	return max(m.Skipped, m.Late)
}

// move works out what a reset will do.
func (d *Document) move(ctx context.Context, r *Reset) (*Move, error) {
	to, missing, err := d.position(ctx, r)
	if err != nil {
		return nil, err
	}
	m := &Move{d: d, From: d.reached(), To: to, missing: missing}
	if m.source, err = d.Source.Describe(ctx); err != nil {
		return nil, err
	}
	if r.To != "latest" { // else it is a row's, or that of an instant
		m.ahead, err = d.Positions.Ahead(ctx, to)
		if errors.Is(err, poller.ErrConfig) { // a file that was written by hand: no tick could read that position
			return nil, fmt.Errorf("--to %s: %w", r.To, poller.NameDocument(err, d.address()))
		}
		if err != nil {
			m.note("whether a row stands at that position or above it could not be seen: %v",
				poller.NameDocument(err, d.address()))
		}
	}
	doc := &d.snap.Doc
	another := doc.SourceFingerprint != m.source.Fingerprint
	m.changed = another || !m.source.SameLate(doc)
	m.retyped, m.are = m.source.Retyped(doc)
	if m.foreign = another || m.retyped != ""; m.foreign {
		m.backfill, m.window = doc.Backfill, m.source.Late == late.Overlap && !to.IsStart()
		m.Skipped = d.before(ctx, to, &m.Plan) // which of them were delivered, nobody knows
	}
	switch {
	case r.To == "snapshot":
		if err := m.beginSnapshot(ctx); err != nil {
			return nil, err
		}
	case !m.foreign:
		m.weigh(ctx)
		if err := m.keepApart(ctx); err != nil {
			return nil, err
		}
	}
	m.parked = d.parked(ctx, &m.Plan)
	drop, err := drops(r.Parked, m.parked.rows)
	if drop {
		m.Parked = m.parked.rows
	}
	return m, err
}

// weigh counts what a move repeats and skips, where the position that the document has is one in the source as it is.
func (m *Move) weigh(ctx context.Context) {
	var err error
	if m.Again, m.Skipped, err = m.d.distance(ctx, m.From, m.To); err != nil {
		m.note("how many rows lie between could not be counted: %v", poller.NameDocument(err, m.d.address()))
	}
	if err := m.weighWindow(ctx); err != nil {
		m.note("the rows of the window could not be counted: %v", err)
	}
}

// keepApart finds the order keys that are read apart still: those that have not come to the new position. The others
// come again with it. Where the move skips rows, it skips theirs; where nobody knows, it does not.
func (m *Move) keepApart(ctx context.Context) error {
	for _, a := range m.d.snap.Doc.Apart {
		if m.Skipped > 0 {
			m.passed++
			continue
		}
		again, err := m.d.Positions.Count(ctx, change.Range{After: m.To, UpTo: a.At})
		if err != nil && m.Skipped == 0 {
			return err
		}
		if !m.To.IsStart() && (again == 0 || err != nil) {
			m.apart = append(m.apart, a)
		}
	}
	return nil
}

// weighWindow counts the rows of the window of late commits that are not remembered as delivered and lie before the new
// position, as an upper bound: with overlap they, and those to come, would have been found by the next sweeps.
func (m *Move) weighWindow(ctx context.Context) error {
	doc := &m.d.snap.Doc
	if doc.Late.Mode != string(late.Overlap) || m.To.IsStart() {
		return nil
	}
	low := doc.Checkpoint.Cursor
	m.window, m.Late = true, -1
	before, err := m.d.upTo(ctx, low, m.To)
	switch {
	case err != nil:
		return err
	case before == 0: // it lies before the window, or at its low edge, or no row of the window is left
		m.window, m.Late = m.Again == 0 && !bytes.Equal(low, m.To), 0
		return nil
	case m.Again <= 0:
		m.Late = max(0, before-int64(doc.Late.Memory.Count))
		return nil
	}
	// Where the position goes back into the window, what is remembered of the rows after it counts for those.
	all, err := m.d.Positions.Count(ctx, change.Range{After: low, UpTo: m.From})
	if err != nil {
		return err
	}
	m.Late = min(before, max(0, all-int64(doc.Late.Memory.Count)))
	return nil
}

// noRowAbove is said of a position that rows to come may be below.
const noRowAbove = "\nNo row stands at that position or above it: rows that come below it are NEVER delivered."

// text says what the move will do.
func (m *Move) text() string {
	text := fmt.Sprintf("The poller will go on at %s: %s.", m.To, m.rows())
	if m.snapshot != nil {
		text = m.snapshotText()
	}
	if m.ahead {
		text += noRowAbove + " To go on after the last row that there is: --to latest."
	}
	if m.window {
		text += "\nRows below that position that commit late will not be found: the memory of late commits is forgotten."
		switch {
		case m.Late < 0:
			text += " How many such rows there are already could not be counted."
		case m.Late > m.Skipped:
			text += fmt.Sprintf(" At most %d row(s) up to there are SKIPPED, which is data loss: they are not remembered as "+
				"delivered.", m.Late)
		}
	}
	if m.passed > 0 {
		text += fmt.Sprintf("\n%d order key(s) are read apart: their rows up to that position that were not delivered are "+
			"SKIPPED, which is data loss. How many they are is not counted.", m.passed)
	}
	if m.Parked > 0 {
		text += fmt.Sprintf("\n%d parked event(s) will be forgotten.", m.Parked)
	}
	text += m.parked.moved()
	if m.missing != "" {
		text += "\nWhen the file was written, " + m.missing + "."
	}
	if m.changed {
		text += "\nThe source is defined in another way than when the document was written: it is accepted as it is now."
	}
	if m.retyped != "" {
		text += fmt.Sprintf("\nThe columns of the cursor or key were %s, and are %s: they are accepted as they are now.",
			m.retyped, m.are)
	}
	return text + stopping(m.backfill)
}

func (m *Move) rows() string {
	switch {
	case m.foreign && m.Skipped > 0:
		return fmt.Sprintf("at most %d row(s) up to there will be SKIPPED: they are never delivered, which is data loss "+
			"where they were not before", m.Skipped)
	case m.foreign && m.Skipped == 0:
		return "every row after that will be delivered"
	case m.Again < 0 || m.Skipped < 0:
		return "how many rows lie between could not be counted"
	case m.Skipped > 0:
		return fmt.Sprintf("%d row(s) will be SKIPPED: they are never delivered, which is data loss", m.Skipped)
	default:
		return fmt.Sprintf("%d row(s) will be delivered again", m.Again)
	}
}

// carryOut makes the move.
func (m *Move) carryOut(ctx context.Context) error {
	d, lost, was := m.d, m.Lost(), m.d.snap.Doc
	if err := d.endWait(ctx, &m.parked); err != nil {
		return err
	}
	if err := d.edit(ctx, func(doc *state.Document) { m.write(doc, lost) }); err != nil {
		return err
	}
	if m.Parked > 0 {
		d.auditDropped(m.parked.entries)
	}
	if m.changed {
		d.audit("fingerprint_accepted", "from", was.SourceFingerprint, "to", m.source.Fingerprint,
			"late_from", was.Late.Mode, "late_to", string(m.source.Late))
	}
	d.auditStopped(m.backfill)
	if lost != 0 {
		d.audit("checkpoint_advanced_manually", "from", m.From.String(), "to", m.To.String(), "count", lost)
	} else {
		d.audit("checkpoint_reset_manually", "from", m.From.String(), "to", m.To.String(), "count", m.Again)
	}
	d.forgetNote(ctx)
	return nil
}

// write puts the move into a document.
func (m *Move) write(doc *state.Document, lost int64) {
	if lost != 0 {
		m.d.skip(doc, m.From, m.To, lost)
	}
	if m.snapshot != nil {
		m.writeSnapshot(doc)
	} else {
		move(doc, m.To)
		doc.Apart = m.apart
	}
	if m.To.IsStart() || doc.SourceFingerprint != m.source.Fingerprint {
		doc.Checkpoint.Incarnation = "" // another source may be another database: the next commit says
	}
	if m.changed {
		doc.SourceFingerprint, doc.Late = m.source.Fingerprint, state.Late{}
	}
	if m.foreign && m.snapshot == nil {
		doc.Backfill = nil
	}
	// The position is one that a person chose in the table as it is now.
	doc.Checkpoint.Table, doc.Checkpoint.Columns, doc.Checkpoint.Collations = "", "", ""
	if m.Parked > 0 {
		if !m.To.IsStart() { // from the beginning they come again
			m.d.forget(doc, m.Parked)
		}
		doc.Parked = state.ObjectRef{}
	}
}
