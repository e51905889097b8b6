package late

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// busy reports whether a backlog is being delivered, or was just now, beside a memory with room. A sweep would read all
// of it once more, again and again.
func (l *Tracker) busy(now time.Time) bool {
	b := &l.backlog
	return 2*l.remembered.len() < l.Memory && (b.large() || now.Sub(b.over) < SweepEvery(l.Window))
}

// askLast asks for the last row of a backlog.
func (l *Tracker) askLast(ctx context.Context) {
	if l.backlog.more && l.backlog.last.at == nil {
		l.backlog.last.at = l.latest(ctx)
	}
}

// latest is the last row that there is; nil where it cannot be told. It gives mu up meanwhile.
func (l *Tracker) latest(ctx context.Context) change.Cursor {
	source, ok := l.Database.(interface {
		Latest(ctx context.Context) (change.Cursor, error)
	})
	if !ok {
		return nil
	}
	l.mu.Unlock()
	defer l.mu.Lock()
	at, err := source.Latest(ctx)
	if err != nil || at.IsStart() {
		return nil // the backlog is read twice, then
	}
	return at
}

// close takes a proof that nothing will become visible up to where live rows have come, by a mark that was made at
// since.
func (l *Tracker) close(since time.Time) {
	b := &l.backlog
	if seen := b.last.seen; !seen.IsZero() && !since.Before(seen.Add(resolution)) && l.low.Equal(l.reached) {
		b.closed, b.first = true, l.handed
		l.sweep.on = false // it reads what is proved
	}
}

// nextClosed is the next page of a closed backlog; false where it is none.
func (l *Tracker) nextClosed(ctx context.Context) (Step, bool) {
	b := &l.backlog
	if b.large() || l.remembered.len() >= l.Memory/askedAt {
		l.askLast(ctx)
	}
	if b.last.at != nil && b.last.seen.IsZero() && !l.blind {
		l.look(ctx)
	}
	if !b.closed || l.future.first != nil {
		return Step{}, false
	}
	return Step{Kind: change.Live, nextTold: l.nextTold, backlog: true, closed: true,
		Range: change.Range{After: l.reached, UpTo: b.last.at, Late: true, Told: l.told}}, true
}

// age notes how far the rows of a backlog are older than the window. Whoever commits one there began before that, or
// made it up: such a row is for the sweeps to find.
func (l *Tracker) age() {
	if l.dates == nil || !l.backlog.more {
		return
	}
	if last := l.drawnUntil(l.reached); !last.IsZero() &&
		last.Add(l.Window+l.dates.Slack).Before(l.reachedAt(time.Now())) {
		l.backlog.old = place{at: l.reached, page: l.recent.pages}
	}
}

// nextComplete reads what came of a backlog before all had ended who can still write there, once, but for what is older
// than the window. What comes of it after that need not be read again when it ends. It returns false where it is not
// the time to do so.
func (l *Tracker) nextComplete(ctx context.Context, now time.Time) (Step, bool) {
	b := &l.backlog
	if l.near.on && l.near.alone {
		return l.nextNear(ctx, nil)
	}
	if l.order.on || b.complete || !b.more || b.last.seen.IsZero() || now.Sub(l.looked) < hidden {
		return Step{}, false
	}
	h, ok := l.look(ctx)
	if !ok || l.endedBefore(&h).Before(b.last.seen) {
		return Step{}, false
	}
	l.near.on = false // what was begun before need not end
	step, ok := l.nextNear(ctx, &h)
	l.near.alone = ok
	return step, ok
}
