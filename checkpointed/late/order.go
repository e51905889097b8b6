package late

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

const (
	// waits is how long a writer may wait for the one right to write with a value that it has drawn: a usual
	// busy_timeout.
	waits = 5 * time.Second
	// maxCounters is how many counters are kept: a few connections that take turns.
	maxCounters = 16
)

// same is Range.Same.
func (l *Tracker) same(s change.State) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.order.shown[s.Counter]
	return ok && last.commits == s.Commits
}

// note takes the state of a page from the order edge on that was taken, and a look before it. It returns a moment
// before which nobody began whose rows the page does not show; zero where that is not known. A transaction moves the
// counter once before its end at most: when it has moved twice, whoever wrote before has ended.
func (o *ordered) note(s change.State, at time.Time) (oldest time.Time) {
	if s.Counter == 0 {
		return time.Time{}
	}
	last, ok := o.shown[s.Counter]
	if ok && last.commits != s.Commits {
		if !last.moved.IsZero() {
			oldest = last.moved.Add(-waits)
		}
		last.moved = last.at
	}
	last.commits, last.at = s.Commits, at
	if o.shown == nil || !ok && len(o.shown) >= maxCounters {
		o.shown = map[uint64]shown{}
	}
	o.shown[s.Counter] = last
	return oldest
}

// nextOrdered is the next page of live rows, with what became visible between the order edge and them.
func (l *Tracker) nextOrdered(ctx context.Context) Step {
	if l.order.held != nil {
		step := *l.order.held
		l.order.held = nil
		return step
	}
	step := l.nextLive()
	step.rose = l.rose
	if step.backlog && !l.sweep.ending() {
		return step
	}
	if !l.recent.edge.at.Equal(l.reached) {
		if h, ok := l.look(ctx); ok {
			l.recent.look(&h)
			step.oldest, step.looked = before(&h), h.Now
		}
	}
	l.askLast(ctx)
	step.Range, step.backlog = l.liveRange(), false
	again, since := l.recent.edge.at, l.sinceEdge()
	if l.sweep.ending() {
		again, since = l.sweep.at, l.known.below
	}
	if !again.Equal(l.reached) {
		step.Range.Again, step.Range.Known, step.Range.Since = again, l.knows, since
		if !l.sweep.ending() { // which has to meet what is remembered
			step.Range.Same = l.same
		}
	}
	return step
}

// nextLive is the next page of live rows. It ends with a backlog of which nothing will become visible but after it.
func (l *Tracker) nextLive() Step {
	step := Step{Kind: change.Live, Range: l.liveRange(), nextTold: l.nextTold}
	if l.backlog.complete && step.Range.UpTo == nil {
		step.Range.UpTo, step.backlog = l.backlog.last.at, true
	}
	return step
}

// Unpassed is the range that shows the first events of order keys that rows share: what became visible below the
// position comes before what is after it. It returns false where the first event after the position is the first.
func (l *Tracker) Unpassed() (change.Range, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.order.on || l.recent.edge.at.Equal(l.reached) {
		return change.Range{}, false
	}
	return change.Range{After: l.reached, Late: true, Told: l.told, Again: l.recent.edge.at, Known: l.knows,
		Since: l.known.below}, true
}

// knows is Range.Known.
func (l *Tracker) knows(e *change.Event, numbers string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if numbers == l.known.of && l.known.covers(e) {
		return true
	}
	h := memoryHash(e.Known())
	if l.remembered.see(h, l.sweep.new) {
		return true
	}
	return l.inFlight.has(h)
}

// again takes the late rows of a live page. It returns true with a batch that comes before the live rows.
func (l *Tracker) again(step *Step, page *change.Page) (change.Batch, bool) {
	batch := change.Batch{Kind: change.Sweep, From: step.Range.After, More: true}
	if !l.meet(page, false) { // rows may be left out by numbers that mean other transactions here: it is read again
		l.beginRecent()
		return batch, true
	}
	if step.rose != l.rose { // it began below the low edge, where nothing is remembered any more
		return batch, true
	}
	events := l.unknown(page.Again, l.sweep.new)
	page.Again, batch.Events = nil, events
	l.handOut(&batch, false)
	if page.AgainMore {
		l.recent.oldest = time.Time{}
		return batch, true
	}
	if shown := l.order.note(page.State, step.looked); step.oldest.IsZero() {
		step.oldest = shown
	}
	l.recent.oldest, l.recent.met = step.oldest, l.said
	if seen := l.backlog.last.seen; !seen.IsZero() && !step.oldest.Before(seen) {
		l.backlog.complete = true
	}
	if l.sweep.ending() {
		l.endLeg()
		l.advance()
	}
	if l.full() { // only the end of the sweep was wanted
		return batch, true
	}
	if len(events) > 0 {
		l.order.held = &Step{Kind: change.Live, Range: step.Range, Page: page, nextTold: step.nextTold}
		return batch, true
	}
	return change.Batch{}, false
}
