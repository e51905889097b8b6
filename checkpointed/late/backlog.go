package late

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// backlog is what is known of the end of a backlog: the row that was the last one at a moment.
type backlog struct {
	more     bool      // the last page of live rows was full
	rows     int       // of the full pages
	over     time.Time // when the last one ended
	last     place     // that row, before the moment seen; page is not said
	complete bool      // whatever may be open began after that moment: rows up to the last one are in order
	// closed says that the window of that moment has passed as well, and that all was read that was late before it:
	// nothing will become visible up to the last row. What live rows bring needs no memory, and the low edge goes with
	// them: with the batches of this session after the first up to the last.
	closed       bool
	first, final int
	// old is how far its rows are older than the window, by their times, where these are read
	old place
}

// backlogRows is how many rows make a backlog: of so many the last one is worth to be asked for. So it is when they
// fill this part of the memory.
const backlogRows, askedAt = 1000, 8

// large reports whether live rows are a backlog.
func (b *backlog) large() bool { return b.more && b.rows >= backlogRows }

// took notes a live page of some rows. more says that rows follow, of the backlog where the page is a part of one.
func (b *backlog) took(rows int, more bool) {
	if b.more, b.rows = more, b.rows+rows; more {
		return
	}
	over := b.over
	if b.rows >= backlogRows {
		over = time.Now()
	}
	*b = backlog{first: b.first, final: b.final, over: over}
}

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

// has reports whether a batch belongs to the closed part.
func (b *backlog) has(n int) bool { return n > b.first && n <= b.final }
