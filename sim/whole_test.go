package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// This file is the whole of a tracked table, read beside its changes: at the start, and where changes are missing.

// fill writes the rows that are there before changes are recorded: only a snapshot shows them.
func (t *table) fill() {
	x := &tx{}
	for range t.w.pro.Before {
		r := &row{key: len(t.rows), group: -1}
		if t.w.pro.Groups > 0 {
			r.group = t.w.rng.IntN(t.w.pro.Groups)
		}
		t.rows = append(t.rows, r)
		t.w.tally.Rows++
		t.draw(x, r)
	}
	for _, v := range x.writes {
		v.unrecorded, v.row.writer, v.row.cur = true, nil, v
	}
}

// chunk is a page of the table itself, in the order of keys.
func (t *table) chunk(after, upTo place, limit poller.Limit) change.Page {
	page := change.Page{Incarnation: t.incarnation, NullCursors: -1}
	for _, r := range t.rows {
		if !r.there() || r.key <= after.at.key || r.key > upTo.at.key {
			continue
		}
		if page.More = len(page.Events) == limit.Rows; page.More {
			break
		}
		e := r.cur.event
		e.At = inTable(r.key).cursor()
		page.Events = append(page.Events, e)
	}
	return page
}

// inTable is the place after a row of the table itself.
func inTable(key int) place { return place{begun: true, table: true, at: pos{0, key}} }

// lastKey is the highest key that there is; -1 where there is no row.
func (t *table) lastKey() (key, rows int) {
	key = -1
	for _, r := range t.rows {
		if r.there() {
			key = r.key
			rows++
		}
	}
	return key, rows
}

var _ checkpointed.Snapshotter = sourceOf{}

// Snapshot implements checkpointed.Snapshotter: the position first, then the rows.
func (o sourceOf) Snapshot(ctx context.Context) (s checkpointed.Snapshot, err error) {
	t := o.p.w.table
	err = o.read(ctx, "snapshot", "", func() (string, error) {
		if t.openBelow() {
			return "", errOpenBelow
		}
		s.After, s.Incarnation = t.latest().cursor(), t.incarnation
		return brief(s.After), nil
	})
	if err != nil {
		return s, err
	}
	err = o.read(ctx, "highest key", "", func() (string, error) {
		key, rows := t.lastKey()
		s.Rows, s.Count = change.Range{After: inTable(-1).cursor()}, int64(rows)
		if key >= 0 {
			s.Rows.UpTo = inTable(key).cursor()
		}
		return fmt.Sprint(key), nil
	})
	return s, err
}

var errOpenBelow = errors.New("a transaction is open that began before the last purge by age")

// openBelow reports whether a transaction may have written below the floor what is not committed yet.
func (t *table) openBelow() bool {
	p := &t.w.pro
	return p.Clock && p.Shown && slices.ContainsFunc(t.open, func(x *tx) bool { return x.value < t.floor.value })
}

// wholeTable has the whole table read again.
func (o *operator) wholeTable() {
	o.command("reset to the whole table", func(ctx context.Context, p *process, d *admin.Document) error {
		move, err := d.Reset(ctx, &admin.Reset{To: "snapshot", Parked: "keep"})
		if err != nil {
			return err
		}
		return p.done(ctx, &move.Plan, nil, nil)
	})
}

// wholeBegun looks at a document that may have begun, or given up, a read of the whole table.
func (w *world) wholeBegun(was, now *state.Document) {
	if b := was.Backfill; b != nil && b.Whole && (now.Backfill == nil || now.Backfill.ID != b.ID) && w.human.busy {
		for _, r := range w.table.rows { // a person gave up the rest
			if v := r.cur; v != nil && w.inWhole(b, v) && !w.arrived(v) {
				w.skipped[v] = true
			}
		}
	}
	if b := now.Backfill; b == nil || !b.Whole || was.Backfill != nil && was.Backfill.ID == b.ID {
		if b != nil || now.Checkpoint.Cursor.Equal(was.Checkpoint.Cursor) || was.PollerName != "" || !w.pro.Snapshot {
			return
		}
	}
	at, err := placeOf(now.Checkpoint.Cursor)
	if err != nil {
		w.fail("the position of a snapshot cannot be read: %v", err)
		return
	}
	w.tally.Wholes++
	for _, r := range w.table.rows { // what was deleted before is not guessed
		if v := r.cur; v != nil && v.gone && (at.passed(v) || v.purged) && !w.arrived(v) && !w.kept(v) {
			w.skipped[v] = true
		}
	}
}

// inWhole reports whether a row is still to come with a read of the whole table.
func (w *world) inWhole(b *state.Backfill, v *version) bool {
	if b == nil || !b.Whole || v.gone {
		return false
	}
	at, err := placeOf(b.At)
	to, err2 := placeOf(b.To)
	return err == nil && err2 == nil && !at.passed(v) && to.passed(v)
}

// resynced checks that a process began to read the whole table because changes were missing, and reports whether it
// did.
func (w *world) resynced(p *process, was *state.Document) bool {
	b := w.doc.Backfill
	if !w.pro.Resync || b == nil || !b.Whole || was.Backfill != nil && was.Backfill.ID == b.ID {
		return false
	}
	front := was.Late.Frontier
	if front.IsStart() {
		front = was.Checkpoint.Cursor
	}
	switch at, err := placeOf(front); {
	case err != nil || !w.table.below(at):
		w.fail("the whole table is read again, and no change is missing after %s", brief(front))
	case w.doc.Checkpoint.Incarnation != was.Checkpoint.Incarnation:
		w.fail("the whole table of another database is read by itself")
	}
	w.free(p, was, "began to read the whole table, for which the lease must be free,")
	w.tally.Resyncs++
	return true
}
