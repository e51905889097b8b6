// Package late finds the rows that became visible below the position after it had passed them: a [Tracker] decides what
// a session fetches next, drops what was delivered before, and says what a commit must store.
package late

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// New returns the component of a feed. Nothing of it works before adopt.
func New(cfg Config) *Tracker {
	return &Tracker{Config: cfg, remembered: newHashSet(), inFlight: newHashSet()}
}

// Next decides what to fetch. It may ask the database for its clock; where that fails it warns, and goes on without
// moving the low edge.
func (l *Tracker) Next(ctx context.Context) Step {
	switch l.mode {
	case Overlap:
		l.pause(ctx)
		return l.nextOverlap(ctx)
	case Exact:
		return l.nextExact(ctx)
	case Settle, None:
		return l.nextPlain(ctx)
	default:
		return Step{Kind: change.Live, Range: change.Range{After: l.reached}}
	}
}

// Position is where live rows are read from next.
func (l *Tracker) Position() change.Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reached
}

// Fetched turns a page into the batch to hand out: Kind, From, To, Events and More are set. Events that are remembered
// or in flight are left out; a batch without events that says More is only to be followed by another next. What a
// state.Commit carries as From is said by commit, and is not the batch's. A page of live rows loses those that are
// dated beyond the database's clock.
//
// The error says that the page has rows that source__future_rows=fail does not allow; the batch is good nevertheless.
func (l *Tracker) Fetched(step Step, page *change.Page) (change.Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if step.Kind == change.Live {
		if l.awaits(page) {
			return change.Batch{Kind: change.Live, From: step.Range.After, More: true}, nil
		}
		if l.order.on && step.Page == nil && !step.backlog {
			if batch, before := l.again(&step, page); before {
				return batch, nil
			}
		}
		if step.backlog && !page.More {
			page.More = true // it was the end of the range, not of the rows
			l.backlog.took(0, false)
		}
		l.cutAhead(&step, page)
	}
	batch := change.Batch{Kind: step.Kind, From: step.Range.After, To: page.To, Events: page.Events, More: page.More}
	if step.Kind == change.Live {
		l.live(&step, &batch, page)
		if l.future.clear {
			l.future.clear = false
			l.forgetAhead(func(uint8) bool { return false })
		}
	} else if step.peek {
		l.peeked(&step, &batch, page)
	} else if step.ahead {
		l.foreseen(&batch, page)
	} else {
		batch.To, batch.Events = nil, nil
		stamp, took := l.sweep.seeing(), l.swept
		if step.near {
			stamp, took = l.sweep.new, l.neared
		}
		if l.meet(page, false) && (!step.near || l.near.on) {
			batch.Events = l.unknown(l.unpassed(page.Events), stamp)
			l.handOut(&batch, false)
			took(page)
		}
		l.sweeps = false
		l.advance()
		batch.More = l.near.on || l.sweep.on || !l.drained
	}
	l.rest = !batch.More
	err := l.future.refused
	l.future.refused = nil
	return batch, err
}

// live takes a page of live rows.
func (l *Tracker) live(step *Step, batch *change.Batch, page *change.Page) {
	l.meet(page, l.low.Equal(l.reached))
	if n := len(page.Events); page.To != nil {
		l.reached = page.To
	} else if n > 0 {
		if l.low.Equal(l.reached) {
			l.sweep.ended, l.sweep.took = time.Now(), 0 // the window opens: the first sweep is due a pace later
		}
		l.reached = page.Events[n-1].Position()
	}
	l.backlog.closed = l.backlog.closed && step.closed
	l.backlog.took(len(page.Events), page.More && (!step.backlog || l.backlog.complete || l.backlog.closed))
	l.recent.took(l.reached, step.backlog)
	l.age()
	l.drained, l.liveAt, l.sweeps = !page.More, time.Now(), true
	if l.drained && l.mode == Overlap {
		l.told = step.nextTold
	}
	if l.drained && l.mode == Overlap && l.low.Equal(l.reached) && l.handed == l.done && step.Range.UpTo.IsStart() &&
		len(page.Events) == 0 && page.To == nil {
		// No row is beyond the low edge, so none has moved there from below it unread, and all below it is told.
		l.told, l.nextTold = l.low, l.low
	}
	l.safe, l.counts = page.Safe, l.counts || page.Counts
	if len(page.Events) > 0 {
		l.overtaken(l.liveAt)
	}
	if l.mayKnow(page.Events) {
		// A page whose last events are left out still moves the position past them.
		before := len(page.Events)
		if batch.Events = l.unknown(page.Events, l.sweep.new); len(batch.Events) < before {
			batch.To = l.reached
		}
	}
	if step.leave(batch) {
		batch.To = l.reached
	}
	l.handOut(batch, false)
	if len(batch.Events) == 0 && batch.To != nil {
		l.tail, l.tailOf = batch.To, l.handed
		l.advance()
	}
	switch l.mode {
	case Overlap:
		batch.More = page.More || l.sweep.on || l.sweepDue(l.liveAt) || l.needsLook(l.liveAt) || l.nearDue(l.liveAt)
	case Exact:
		batch.More = page.More || l.peekDue(l.liveAt)
	}
	batch.More = batch.More || l.foreseeDue(l.liveAt)
}

// Settled takes the first n events of a batch as settled: accepted, absorbed, or rejected with what becomes of them in
// the commit that follows. It is called for every batch that fetched returned with events, in their order, before
// commit.
func (l *Tracker) Settled(batch *change.Batch, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n == 0 {
		return
	}
	if l.remembers(batch, l.done+1) {
		for i := range batch.Events[:n] {
			h := memoryHash(batch.Events[i].Known())
			stamp := l.sweep.new
			if l.inFlight.drop(h) > 0 {
				stamp, l.future.early = l.future.stamp, true
			} else if l.known.covers(&batch.Events[i]) {
				l.unkept++
				continue
			}
			l.remember(h, stamp)
		}
		l.added = true
		l.changes++
	}
	if batch.Kind == change.Sweep {
		l.found += n
	}
	whole := n == len(batch.Events)
	if batch.Kind == change.Live {
		l.front = batch.Events[n-1].Position()
		if whole && batch.To != nil {
			l.front = batch.To
		}
		if l.backlog.has(l.done + 1) {
			l.low = l.front
		}
	}
	if whole {
		l.done++
	}
	l.mark()
	l.advance()
}

// adoptRecent begins a session. same says that it goes on where the last one of this process ended, with all settled
// that was handed out.
func (l *Tracker) adoptRecent(ordered, same bool) {
	same = same && l.order.on == ordered && l.reached.Equal(l.recent.last)
	l.order.on, l.order.held = ordered, nil
	l.near.on = false
	if !same {
		l.recent.marked = l.recent.pages
		l.beginRecent()
	}
}

// beginRecent begins anew: the positions were put back, or the clock that is compared with. Where order is to be kept
// everything after the low edge is recent, and otherwise nothing: sweeps find what is open now.
func (l *Tracker) beginRecent() {
	at := place{at: l.reached, page: l.recent.pages}
	if l.order.on {
		at = place{at: l.low, page: -1}
	}
	l.recent = recent{edge: at, last: l.reached, pages: l.recent.pages, marked: l.recent.marked}
	l.order, l.backlog, l.near.on = ordered{on: l.order.on}, backlog{first: l.backlog.first, final: l.backlog.final}, false
}
