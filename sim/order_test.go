package sim

import (
	"context"
	"math/rand/v2"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
)

// The order of the writes: where an order key is that of several rows, one that commits late must come before those
// that were written after it. The other rules of order go by what pages show; this one by the table. It is judged in
// runs where nothing else explains another order: nobody acts, nothing is restored, clocks do not jump.

// order draws the order of the writes.
func (p *profile) order(r *rand.Rand) {
	if p.Ordered = p.Late == late.Overlap && !p.Tracked; !p.Ordered || r.IntN(2) == 0 {
		return
	}
	p.Groups, p.LateCommit, p.Ordering = 1+r.IntN(3), true, poller.OrderKey
	p.Restore, p.Human, p.Replays, p.Settings, p.Modes, p.Moves = 0, 0, 0, 0, 0, 0
	p.Jumps, p.Future, p.FutureRows, p.Deletes = 0, 0, "", 0
	p.InOrder = true
}

// crowd draws an order key with most of the rows. Where the rows of a key come in their order, whoever reads a key
// apart has to keep it.
func (p *profile) crowd(r *rand.Rand) {
	if p.Tracked || p.Late == late.Overlap {
		return
	}
	p.Groups, p.Busy, p.Rows, p.Parallel = 1+r.IntN(4), 0.4+0.6*r.Float64(), 2+r.IntN(5), 2+r.IntN(3)
	if p.Clock || p.Ordering != poller.OrderKey || r.IntN(2) == 0 {
		return
	}
	p.Restore, p.Human, p.Replays, p.Settings, p.Modes, p.Moves = 0, 0, 0, 0, 0, 0
	p.Jumps, p.Future, p.FutureRows, p.Deletes, p.Wait, p.InOrder = 0, 0, "", 0, true, true
}

// again reads the rows of Range.Known.
func (o sourceOf) again(page *change.Page, r change.Range, from, to pos, rows int) {
	t := o.p.w.table
	if from.compare(to) > 0 {
		o.p.w.fail("rows are read again after %s, which is after %s", brief(r.Again), brief(r.After))
	}
	var all []*version
	for _, v := range t.shown(from, to, true) {
		if e := v.event; !r.Known(&e, page.Numbers) {
			all = append(all, v)
		}
	}
	if page.AgainMore = len(all) > rows; page.AgainMore {
		all = all[:rows]
	}
	page.Again = events(all)
	o.p.keyed(page.Again)
	o.foreign(page.Again)
}

// Latest is where a backlog ends. It is no method that every source has.
func (o sourceOf) Latest(ctx context.Context) (at change.Cursor, err error) {
	err = o.read(ctx, "latest", "", func() (string, error) {
		if rows := o.p.w.table.shown(pos{}, pos{}, false); len(rows) > 0 {
			at = rows[len(rows)-1].event.Cursor
		}
		return brief(at), nil
	})
	return at, err
}

// overtook returns a row that was committed before an event's transaction began, is of its order key, and has not been
// accepted yet; nil where there is none. A parked row is sent as it is now, at the place that it had when
// it was parked.
func (w *world) overtook(e *change.Event, from *show) *version {
	v := w.versions[e.ID]
	if !w.pro.InOrder || from.kind == change.Retry || v == nil || v.group < 0 || v.row.cur != v {
		return nil
	}
	for _, r := range w.table.rows {
		if b := r.cur; b != nil && b.group == v.group && b.committed.Before(v.began) && !w.arrived(b) {
			return b
		}
	}
	return nil
}
