package late

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// ordered keeps rows that share an order key in the order of their writes: see "Overlap: order" in the Tracker's
// comment.
type ordered struct {
	on     bool
	edge   place     // the order edge
	passed []place   // beyond it, in their order
	oldest time.Time // nobody writes whom the last page did not show and who began before; zero where that is not known

	pages   int           // live pages that were taken
	marked  int           // as many, when the mark was begun
	reached change.Cursor // by the last of them
	held    *Step         // a page of which the late rows were handed out, and the live ones are to come

	// A backlog needs no second reading up to a row that was the last one before all that may be open began.
	last     place // that row; page is not said
	complete bool  // nothing will become visible up to it
	more     bool  // the last page of live rows was full
}

// place is a position that live rows had reached.
type place struct {
	at   change.Cursor
	page int       // by the page of this number; -1 for the low edge
	seen time.Time // before this moment, by the database's clock
}

const (
	// hidden is how long before the server shows it a transaction may have drawn its first value: it takes its clock
	// first, and MariaDB shows a list that is up to 0.1 s old.
	hidden = 250 * time.Millisecond
	// placesApart is how far apart places are kept, maxPlaces how many.
	placesApart = 50 * time.Millisecond
	maxPlaces   = 4096
)

// adopt begins a session. same says that it goes on where the last one of this process ended, with all settled that was
// handed out.
func (o *ordered) adopt(on, same bool, low, reached change.Cursor) {
	if o.held = nil; o.on == on && same && reached.Equal(o.reached) {
		return
	}
	o.on, o.marked = on, o.pages
	o.begin(low, reached)
}

// begin puts the edge where nothing is known beyond: the positions were put back, or the clock that is compared with.
func (o *ordered) begin(low, reached change.Cursor) {
	o.edge, o.passed, o.oldest, o.held = place{at: low, page: -1}, nil, time.Time{}, nil
	o.reached, o.more = reached, false
	o.last, o.complete = place{}, false
}

// took notes a live page. backlog says that it was one of those up to the last row.
func (o *ordered) took(reached change.Cursor, more, backlog bool) {
	o.pages++
	if o.more = more && (!backlog || o.complete); !o.more {
		o.last, o.complete = place{}, false
	}
	if backlog && !reached.Equal(o.reached) {
		o.edge, o.passed = place{at: reached, page: o.pages}, nil
	}
	o.reached = reached
}

// rise moves the edge with the low edge: what becomes visible below that is outside of the assumption.
func (o *ordered) rise(low change.Cursor) {
	for len(o.passed) > 0 && o.passed[0].page < o.marked {
		o.passed = o.passed[1:]
	}
	if o.edge.page < o.marked {
		o.edge = place{at: low, page: -1}
	}
}

// look takes a look at the clock and the open transactions, before a page: what live rows have reached by now lies
// before whatever a transaction writes that begins from now on.
func (o *ordered) look(h *change.Horizon) {
	n := len(o.passed)
	if n == 0 || !o.passed[n-1].at.Equal(o.reached) && h.Now.Sub(o.passed[n-1].seen) >= placesApart {
		o.passed = append(o.passed, place{o.reached, o.pages, h.Now})
	}
	if n >= maxPlaces { // every second one says nearly as much
		for i := range n / 2 {
			o.passed[i] = o.passed[2*i]
		}
		o.passed = o.passed[:n/2]
	}
	for len(o.passed) > 0 && !o.oldest.IsZero() && !o.passed[0].seen.After(o.oldest) {
		o.edge, o.passed = o.passed[0], o.passed[1:]
	}
}

// nextOrdered is the next page of live rows, with what became visible between the order edge and them.
func (l *Tracker) nextOrdered(ctx context.Context) Step {
	if l.order.held != nil {
		step := *l.order.held
		l.order.held = nil
		return step
	}
	step := Step{Kind: change.Live, nextTold: l.nextTold}
	if l.order.complete && !l.sweep.ending() {
		if step.Range = l.liveRange(); step.Range.UpTo == nil {
			step.Range.UpTo, step.backlog = l.order.last.at, true
			return step
		}
	}
	if !l.order.edge.at.Equal(l.reached) {
		if h, ok := l.look(ctx); ok {
			l.order.look(&h)
			if l.order.last.at != nil && l.order.last.seen.IsZero() {
				l.order.last.seen = h.Now
			}
			switch {
			case !h.Shown:
			case h.Oldest.IsZero():
				step.oldest = h.Now.Add(-hidden)
			default:
				step.oldest = h.Oldest.Add(-hidden)
			}
		}
	}
	if l.order.more && l.order.last.at == nil {
		l.order.last.at = l.latest(ctx)
	}
	step.Range = l.liveRange()
	again := l.order.edge.at
	if l.sweep.ending() {
		again = l.sweep.at
	}
	if !again.Equal(l.reached) {
		step.Range.Again, step.Range.Known, step.Range.Since = again, l.knows, l.known.below
	}
	return step
}

// Unpassed is the range that shows the first events of order keys that rows share: what became visible below the
// position comes before what is after it. It returns false where the first event after the position is the first.
func (l *Tracker) Unpassed() (change.Range, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.order.on || l.order.edge.at.Equal(l.reached) {
		return change.Range{}, false
	}
	return change.Range{After: l.reached, Late: true, Told: l.told, Again: l.order.edge.at, Known: l.knows,
		Since: l.known.below}, true
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

// knows is Range.Known.
func (l *Tracker) knows(e *change.Event, numbers string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if numbers == l.known.of && l.known.covers(e) {
		return true
	}
	h := memoryHash(e.ID)
	if l.remembered.see(h, l.sweep.new) {
		return true
	}
	_, ok := l.inFlight[h]
	return ok
}

// again takes the late rows of a live page. It returns true with a batch that comes before the live rows.
func (l *Tracker) again(step *Step, page *change.Page) (change.Batch, bool) {
	batch := change.Batch{Kind: change.Sweep, From: step.Range.After, More: true}
	if !l.meet(page, false) { // rows may be left out by numbers that mean other transactions here: it is read again
		l.order.begin(l.low, l.reached)
		return batch, true
	}
	events := l.unknown(page.Again, l.sweep.new)
	page.Again, batch.Events = nil, events
	l.handOut(&batch, false)
	if page.AgainMore {
		l.order.oldest = time.Time{}
		return batch, true
	}
	l.order.oldest = step.oldest
	if last := &l.order.last; !last.seen.IsZero() && !step.oldest.Before(last.seen) {
		l.order.complete = true
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
