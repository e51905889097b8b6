package late

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// RowsAgain is how many rows that were read before are read again at a time, at least: a second's of a busy table in
// one round trip.
const RowsAgain = 2000

const (
	// nearQuick is what such a read takes where no transaction stays open for long.
	nearQuick = 100 * time.Millisecond
	// nearHidden is how long transactions are taken to be open where the server does not show them.
	nearHidden = time.Second
)

// nearDue reports whether it is time to look for late rows: once after a page of live rows. It takes two thirds of the
// time at most; or a quarter, as sweeps do, where a transaction stays open for long.
func (l *Tracker) nearDue(now time.Time) bool {
	n := &l.near
	rest := n.took / 2
	if n.took >= nearQuick {
		rest *= 3
	}
	due := n.after != l.recent.pages && now.Sub(n.ended) >= rest
	return n.on || due && !l.order.on && l.done >= l.backlog.final && !l.recent.edge.at.Equal(l.reached)
}

// nextNear is the next page of it; false where there is nothing to look for. seen is what was just seen; nil: nothing.
func (l *Tracker) nextNear(ctx context.Context, seen *change.Horizon) (Step, bool) {
	n := &l.near
	if !n.on {
		n.began, n.after = time.Now(), l.recent.pages
		if seen == nil {
			h, ok := l.look(ctx)
			if !ok {
				n.ended, n.took = time.Now(), SweepEvery(l.Window)
				return Step{}, false
			}
			seen = &h
		}
		if l.recent.look(seen); l.recent.edge.at.Equal(l.reached) {
			return Step{}, false
		}
		n.oldest = l.endedBefore(seen)
		n.alone = false
		n.on, n.at, n.to, n.says = true, l.recent.edge.at, l.reached, l.said
		if old := &l.backlog.old; old.at != nil && old.page > l.recent.edge.page {
			n.at = old.at
		}
	}
	return Step{Kind: change.Sweep, near: true, Rows: RowsAgain,
		Range: change.Range{After: n.at, UpTo: n.to, Late: true, Told: l.told, Since: l.sinceEdge()}}, true
}

// endedBefore is a moment before which nobody began who is still open, where no order has to be kept.
func (l *Tracker) endedBefore(h *change.Horizon) time.Time {
	if !h.Shown {
		return h.Now.Add(-nearHidden)
	}
	return before(h)
}

// neared takes a page of it.
func (l *Tracker) neared(page *change.Page) {
	n := &l.near
	if end := page.End(); end != nil {
		n.at = end
	}
	if page.More {
		return
	}
	l.recent.oldest, l.recent.met = n.oldest, n.says
	n.on, n.ended = false, time.Now()
	n.took = n.ended.Sub(n.began)
	if n.alone {
		l.backlog.complete, n.alone = true, false
		l.recent.edge, l.recent.passed = place{at: n.to, page: n.after}, nil
	}
}
