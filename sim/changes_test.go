package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
)

// This file is change tracking: the net change of each key, deletes included. A row's last version (row.cur) stays when
// the row is gone: it is then the delete, an event like any other. There are three kinds, as there are engines.
// Versions are counted in the order of commits and read in windows up to a head (SQLite; SQL Server, where a
// transaction's rows share one); they are transactions read by snapshots (PostgreSQL); or times with overlap (MySQL and
// MariaDB). What the source itself does in a statement is no part of this: that is tested on the engines.

// tracking draws a poller of change tracking.
func (p *profile) tracking(r *rand.Rand) {
	p.Tracked = true
	// The order key is a part of the primary key; late commits are the engine's business; no person dates a version.
	p.Moves, p.Jumps, p.Modes, p.Future, p.FutureRows = 0, 0, 0, 0, ""
	p.Writers, p.Ordered, p.InOrder = false, false, false
	p.Late, p.LateCommit, p.Windows, p.Clock, p.Wait = late.Exact, false, false, false, false
	switch r.IntN(4) {
	case 0:
		p.Windows, p.LateCommit = true, true
	case 1:
		p.Late, p.Clock, p.LateCommit = late.Overlap, true, true
		p.LateMemory = 1000
	default:
		p.Shared = r.IntN(2) == 0
	}
	p.Deletes = 0.1 + 0.4*r.Float64()
	p.Keys = 3 + r.IntN(40)
	if r.IntN(2) == 0 {
		p.Snapshot, p.Before = true, r.IntN(30)
	}
	if r.IntN(2) == 0 {
		p.Purges = 0.02 + 0.1*r.Float64()
	}
	p.Resync = r.IntN(2) == 0
}

// there reports whether the row is in the table, as far as it is committed.
func (r *row) there() bool { return r.cur != nil && !r.cur.gone }

// rekey changes a row's key: a delete and an insert of one transaction.
func (t *table) rekey(x *tx, r *row) {
	t.erase(x, r)
	for _, other := range t.rows {
		if other != r && !other.there() && other.writer == nil && other.group == r.group {
			t.draw(x, other)
			return
		}
	}
}

// erase is a delete that is recorded.
func (t *table) erase(x *tx, r *row) {
	t.w.tally.Deletes++
	t.drawAs(x, r, true)
}

// versionOf is what is recorded of a write: of one key always a later version.
func (t *table) versionOf(x *tx, r *row) int64 {
	switch p := &t.w.pro; {
	case p.Clock:
		value := x.value
		if r.cur != nil {
			value = max(value, r.cur.value+1)
		}
		return value
	case p.Shared:
		t.sequence = max(t.sequence, x.value+1)
		return x.value
	default:
		t.sequence++
		return t.sequence - 1
	}
}

// elsewhere is a commit to another table: the counter is one for all of them.
func (t *table) elsewhere() {
	t.sequence++
	t.commits++
}

// head is the last version that has been given.
func (t *table) head() int64 { return t.sequence - 1 }

// change is what is still recorded of a row: its last version; nil where there is none.
func (r *row) change() *version {
	if v := r.cur; v != nil && !v.purged && !v.unrecorded {
		return v
	}
	return nil
}

// changePage is a page of counted versions: pages follow each other within a window, which ends with the last version
// that its first page saw. The position moves with a page that finds nothing, too.
func (t *table) changePage(after place, limit poller.Limit) change.Page {
	page := change.Page{Incarnation: t.incarnation, NullCursors: -1}
	head := after.head
	if head == 0 {
		head = t.head()
	}
	rows := t.shown(after.at, pos{head, last}, true)
	if page.More = len(rows) > limit.Rows; page.More {
		rows = rows[:limit.Rows]
	}
	page.Events = events(rows)
	for i, v := range rows {
		page.Events[i].At = place{begun: true, at: v.pos(), head: head}.cursor()
	}
	if page.More {
		return page
	}
	page.More = t.head() > head
	if end := (pos{head, last}); end.compare(after.at) > 0 {
		page.To = cursorOf(end)
	}
	return page
}

// latest is the position that changes are read after from now on: with overlap it is before all that may be open.
func (t *table) latest() place {
	w := t.w
	switch {
	case w.pro.Windows:
		return place{begun: true, window: true, seen: t.commits}
	case !w.pro.Clock:
		return place{begun: true, at: pos{t.head(), last}}
	}
	since := time.Now().Add(-w.pro.Window)
	for _, x := range t.open {
		if w.pro.Shown && x.began.Before(since) {
			since = x.began
		}
	}
	value := (since.Sub(w.began) + t.jumped + longAgo - time.Second).Milliseconds()
	return place{begun: true, at: pos{max(value, t.floor.value), last}}
}

// floor is up to where changes may be missing: a version, or where positions are windows a commit.
type floor struct {
	value  int64
	commit int
}

// below reports whether changes may be missing after a position.
func (t *table) below(p place) bool {
	switch {
	case !t.w.pro.Tracked || !p.begun || p.table:
		return false
	case p.window:
		return p.seen < t.floor.commit
	default:
		return p.at.compare(pos{t.floor.value, last}) < 0
	}
}

// purge removes the changes of keys that are gone: what every output has passed; or what is old, whoever has still to
// deliver it, but for what is parked.
func (t *table) purge() {
	w := t.w
	aged := w.chance(0.3)
	n := 0
	for _, r := range t.rows {
		v := r.change()
		if v == nil || !v.gone {
			continue
		}
		may := true
		w.each(func() {
			at, err := placeOf(w.doc.Checkpoint.Cursor)
			told := err == nil && at.passed(v) && !slices.ContainsFunc(w.parked, func(e parking.Entry) bool {
				parked, err := placeOf(e.Cursor)
				return err != nil || !parked.begun || parked.at.value <= v.value
			})
			old := time.Since(v.committed) > w.pro.Window+w.pro.LateLimit+v.open &&
				!slices.ContainsFunc(w.parked, func(e parking.Entry) bool { return e.Cursor.Equal(v.event.Cursor) })
			may = may && w.doc.PollerName != "" && (told || aged && old)
		})
		if may {
			v.purged = true
			w.each(func() { // from the beginning what is retained is told
				if at, err := placeOf(w.doc.Checkpoint.Cursor); err == nil && !at.begun {
					w.skipped[v] = true
				}
			})
			t.floor.value, t.floor.commit = max(t.floor.value, v.value), max(t.floor.commit, v.commit)
			n++
		}
	}
	if n > 0 {
		w.tally.Purged += n
		w.say("db", "%d deletes are purged (by age: %v), the floor is %d, commit %d", n, aged, t.floor.value, t.floor.commit)
	}
}

// gapBelow is the gap of a page.
func (t *table) gapBelow(p place) error {
	if t.below(p) {
		return fmt.Errorf("%w: changes are missing after %s", poller.ErrGap, p)
	}
	return nil
}

// missed reports whether changes are missing after the position of the document.
func (o *operator) missed() bool {
	front := o.w.doc.Late.Frontier
	if front.IsStart() {
		front = o.w.doc.Checkpoint.Cursor
	}
	at, err := placeOf(front)
	return err == nil && o.w.table.below(at)
}

// mendMissed goes on where changes are missing: with the whole table, with what is left, or after all there is.
func (o *operator) mendMissed() {
	switch {
	case o.w.chance(0.6) || o.w.pro.Clock:
		o.wholeTable()
	case o.w.chance(0.5):
		o.moveTo(place{}, "start over at")
	default:
		o.command("accept the gap", func(ctx context.Context, p *process, d *admin.Document) error {
			plan, err := d.AcceptGap(ctx)
			return p.done(ctx, plan, err, nil)
		})
	}
}

// checkLastStates looks whether the receiver ends with the table's rows: the last that it took of each key is the key's
// last change. What an operator let go, what is a dead letter, and what a restored database takes back is not.
func (w *world) checkLastStates() {
	if !w.pro.Tracked || w.loose || w.table.lives > 1 {
		return
	}
	for _, r := range w.table.rows {
		v := r.cur
		if v == nil || w.sink.ruled.first[v.event.ID].IsZero() {
			continue
		}
		if id := w.sink.ruled.state[string(v.event.Key)]; id != v.event.ID {
			w.fail("inverted: the receiver ends with %s of row %d, and not with %s", w.id(id), r.key, w.id(v.event.ID))
		}
	}
}

// giveUpUnknown marks what nobody can be told of any more once a person has moved the position: deletes that were
// purged, and rows that a restore brought back as they were before changes were recorded, unless the whole table is
// read.
func (t *table) giveUpUnknown() {
	w := t.w
	for _, r := range t.rows {
		if v := r.cur; v != nil && (v.purged || v.unrecorded) && !w.arrived(v) && !w.waits(v) &&
			!w.inWhole(w.doc.Backfill, v) {
			w.skipped[v] = true
		}
	}
}
