package late

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// backlog is what is known of the end of a backlog: the row that was the last one at a moment.
type backlog struct {
	more     bool  // the last page of live rows was full
	last     place // that row, before the moment seen; page is not said
	complete bool  // whatever may be open began after that moment: rows up to the last one are in order
	// closed says that the window of that moment has passed as well, and that all was read that was late before it:
	// nothing will become visible up to the last row. What live rows bring needs no memory, and the low edge goes with
	// them: with the batches of this session after the first up to the last.
	closed       bool
	first, final int
}

// askedAt is the part of the memory that a backlog fills before its last row is asked for, where no order asks for it.
const askedAt = 8

// took notes a live page. more says that rows follow, of the backlog where the page is a part of one.
func (b *backlog) took(more bool) {
	if b.more = more; !more {
		*b = backlog{first: b.first, final: b.final}
	}
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

// close takes a proof that nothing will become visible up to where live rows have come, by a mark that was made at since.
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
	if l.remembered.len() >= l.Memory/askedAt {
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

// has reports whether a batch belongs to the closed part.
func (b *backlog) has(n int) bool { return n > b.first && n <= b.final }
