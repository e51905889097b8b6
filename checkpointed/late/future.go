package late

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// The values of source__future_rows.
const (
	// FutureDeliver delivers such rows once, and remembers them.
	FutureDeliver FutureRows = "deliver"
	// FutureHold leaves them until the clock has reached them.
	FutureHold FutureRows = "hold"
	// FutureFail holds them, and fails every tick that sees one.
	FutureFail FutureRows = "fail"
)

const (
	// foreseen is the lower one of the two stamps that looks take in turn.
	foreseen uint8 = 254
	// loaded is the stamp of a memory that was just read: these rows may be dated ahead. The stamps of sweeps are below.
	loaded uint8 = 253
)

// date says how positions are read as times.
func (l *Tracker) date(d *Dates) {
	if l.dates = d; d == nil {
		l.future.first = nil
	}
}

// span is the first and the last moment at which a clock shows a position's value; zero where that is not known.
func (l *Tracker) span(at change.Cursor) (first, last time.Time) {
	if l.dates != nil && !at.IsStart() {
		first, last, _ = l.dates.Span(at)
	}
	return first, last
}

// drawnUntil is when the value of a position cannot be drawn any more; zero where that is not known.
func (l *Tracker) drawnUntil(at change.Cursor) time.Time {
	_, last := l.span(at)
	if last.IsZero() {
		return last
	}
	return last.Add(resolution)
}

// present is the database's clock or a little after it. Where it was never read, this machine's has to do.
func (l *Tracker) present() time.Time {
	now := time.Now()
	if l.clock.now.IsZero() {
		return now
	}
	return l.clock.latest(now)
}

// reachedAt is a moment that the database's clock has reached at a local time. Where it was never read, this machine's
// has to do.
func (l *Tracker) reachedAt(t time.Time) time.Time {
	if l.clock.now.IsZero() {
		return t
	}
	return l.clock.earliest(t)
}

// margin is how far live rows may be ahead of the clock. In overlap mode the low edge waits until the clock has reached
// them, so clocks that differ a little cost a longer window and nothing else.
func (l *Tracker) margin() time.Duration {
	if l.mode == Overlap {
		return l.Window
	}
	return 0
}

// beyond reports whether an event is dated after a moment.
func (l *Tracker) beyond(e *change.Event, ceiling time.Time) bool {
	first, _ := l.span(e.Cursor)
	return first.After(ceiling)
}

// liveRange is what the next page of live rows reads. It ends with the first row that is known to be dated ahead: else
// all of them would be read with each page. A source that settles ends its pages by itself.
func (l *Tracker) liveRange() change.Range {
	if l.mode == Settle || l.future.first.Equal(l.reached) {
		l.future.first = nil
	}
	return change.Range{After: l.reached, UpTo: l.future.first, Late: l.mode == Overlap, Told: l.told}
}

// nextPlain decides between live rows and a look at those that are dated ahead.
func (l *Tracker) nextPlain(ctx context.Context) Step {
	if l.dates == nil {
		return Step{Kind: change.Live, Range: change.Range{After: l.reached}}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.future.unsure || l.needsLook(time.Now()) {
		l.look(ctx)
	}
	l.rewind()
	if l.drained && l.foreseeDue(time.Now()) {
		return l.foresee()
	}
	return Step{Kind: change.Live, Range: l.liveRange(), asked: time.Now()}
}

// cutAhead takes the rows that are dated ahead from the end of a page of live rows. What is left of the page is its
// end.
//
// Without a window the position passes a row only if the database's clock had surely reached it before the page was
// read: rows that were written since may have lower cursors. So a row that is younger than the clock is known exactly
// (the time that its reading took) is left out, although it may not be dated ahead. Then the clock is read anew, and
// the page after that: it shows all rows that this one showed, for one reading and one page. What was written in
// between waits for the next tick, like the row that is written a moment later. Older rows cost nothing.
func (l *Tracker) cutAhead(step *Step, page *change.Page) {
	if l.dates == nil {
		return
	}
	again := !l.future.unsure
	l.future.refused, l.future.unsure = nil, false
	if l.mode == None && l.clock.now.IsZero() {
		// Nothing is known to have been reached: this machine's clock says nothing of the database's. The page is read
		// again after another try to read that.
		page.Events, page.To, page.More, l.future.unsure = nil, nil, again, again
		return
	}
	n, ahead := len(page.Events), l.present().Add(l.margin()+l.dates.Slack)
	sure := ahead
	if l.mode != Overlap {
		sure = l.reachedAt(step.asked).Add(l.dates.Slack)
	}
	if n > 0 && l.beyond(&page.Events[n-1], sure) {
		firstBeyond := func(ceiling time.Time) int {
			return sort.Search(n, func(i int) bool { return l.beyond(&page.Events[i], ceiling) })
		}
		i, j := firstBeyond(sure), firstBeyond(ahead)
		if j < n {
			l.sawAhead(page.Events[j:])
		}
		l.future.unsure = again && i < j
		// The position after the page is that of its last event again.
		page.Events, page.More, page.To = page.Events[:i], l.future.unsure, nil
		return
	}
	if first, _ := l.span(page.To); first.After(sure) { // rows that the source leaves out: they are not passed either
		page.To, page.More = nil, false
		return
	}
	if n > 0 {
		l.tellLead(&page.Events[n-1])
	}
	if page.More {
		return
	}
	l.future.first = nil
	if !step.Range.UpTo.IsStart() {
		page.More = true // it was the end of the range, not of the rows
		return
	}
	l.future.clear = true
}

// sawAhead takes note of rows that are dated ahead.
func (l *Tracker) sawAhead(events []change.Event) {
	f := &l.future
	f.first = events[0].Position()
	at, _ := l.span(events[0].Cursor)
	text := fmt.Sprintf("the row at %s is dated %s after the database's clock", f.first,
		at.Sub(l.present()).Round(time.Second))
	const rule = "correct it, or exclude it by source__where; if the column is kept in local time, set source__time_zone"
	switch {
	case l.mode == Settle || l.Future == FutureHold:
		l.tell("hold", text+": it is held until the clock has come to it (source__future_rows=hold); "+rule)
	case l.Future == FutureFail:
		f.refused = fmt.Errorf("%w: %s, and source__future_rows=fail: %s", poller.ErrNormalize, text, rule)
	default:
		l.tell("deliver", text+": it is delivered and remembered, and the position waits before it (source__future_rows=deliver); "+rule)
		for i := range events {
			h := memoryHash(events[i].Known())
			if !l.inFlight.has(h) && !l.remembered.has(h) {
				f.due = true
				return
			}
		}
	}
}

// foreseeDue reports whether a look is under way, or due: at once where a row was seen that was not delivered, and at a
// slow pace for those after it. A look that takes long is followed by a longer rest.
func (l *Tracker) foreseeDue(now time.Time) bool {
	f := &l.future
	if f.on {
		return true
	}
	if l.dates == nil || f.first == nil || l.mode == Settle || l.Future == FutureHold || l.Future == FutureFail {
		return false
	}
	return f.due && !f.full || now.Sub(f.ended) >= max(SweepEvery(l.Window), 9*f.took)
}

// foresee is the next step of a look. It begins where live rows end.
func (l *Tracker) foresee() Step {
	f := &l.future
	if !f.on {
		f.on, f.due, f.full, f.rows = true, false, false, 0
		f.at, f.next, f.began = l.reached, nil, time.Now()
		f.stamp ^= 1
		f.stamp |= foreseen
	}
	return Step{Kind: change.Sweep, Range: change.Range{After: f.at, Late: l.mode == Overlap, Told: l.told}, ahead: true}
}

// foreseen takes a page of a look. What is not dated ahead is left to the live rows. Half of the memory is the most
// that it takes: live rows need the rest.
func (l *Tracker) foreseen(batch *change.Batch, page *change.Page) {
	f := &l.future
	ceiling := l.present().Add(l.margin() + l.dates.Slack)
	kept := page.Events[:0]
	for i := range page.Events {
		e := page.Events[i]
		f.at = e.Position()
		if !l.beyond(&e, ceiling) {
			continue
		}
		if f.next == nil {
			f.next = f.at
		}
		h := memoryHash(e.Known())
		switch {
		case l.inFlight.has(h), l.remembered.see(h, f.stamp):
			f.rows, f.early = f.rows+1, true
		case f.rows < l.Memory/2:
			kept = append(kept, e)
			f.rows++
		default:
			f.full = true
		}
	}
	batch.To, batch.Events = nil, kept
	l.handOut(batch, true)
	if !page.More {
		f.on, f.ended = false, time.Now()
		f.took = f.ended.Sub(f.began)
		f.first = f.next
		if f.full {
			l.tell("full", fmt.Sprintf("more than %d rows are dated after the database's clock: the others are held until it has come to them "+
				"(half of source__late_memory)", l.Memory/2))
		}
		stamp := f.stamp
		l.forgetAhead(func(s uint8) bool { return s == stamp })
	}
	batch.More = f.on || l.sweep.on || !l.drained
}

// forgetAhead forgets what was remembered as dated ahead, but for what is kept by its stamp: it is gone, or live rows
// have met it. In overlap mode what they met is remembered as theirs. In the other modes it is forgotten with the rest
// once the position after it is stored: a session that begins before it meets it again.
func (l *Tracker) forgetAhead(keep func(stamp uint8) bool) {
	f := &l.future
	if !f.early || l.mode == Overlap && !f.swept {
		return
	}
	plain := l.mode != Overlap
	if plain && (!l.front.Equal(l.edge) || !l.front.Equal(l.reached)) {
		return
	}
	left := false
	dropped := l.remembered.keep(func(s uint8) bool {
		ahead := s >= loaded
		stays := ahead && keep(s) || !ahead && !plain
		left = left || ahead && stays
		return stays
	})
	if f.early = left || plain && l.remembered.len() > 0; dropped > 0 {
		l.changes++
	}
}

// loadedAhead takes a memory that was just read: which of its rows are dated ahead is not known before a sweep and a
// look have met the others.
func (l *Tracker) loadedAhead() {
	if l.dates == nil || l.mode == Exact {
		return
	}
	l.remembered.restamp(loaded)
	l.future.early, l.future.swept = l.remembered.len() > 0, l.low.Equal(l.front)
	l.future.read = l.future.early
}

// forgetLoaded makes room in a full memory, in which there is none for the live rows and for the look after them. What
// a sweep and a look have not met since the memory was read is gone from the window, or is dated ahead and comes once
// more.
func (l *Tracker) forgetLoaded() {
	if !l.future.read || !l.future.swept {
		return
	}
	l.future.read = false
	if l.remembered.keep(func(s uint8) bool { return s != loaded }) > 0 {
		l.changes++
	}
}

// tellLead tells of live rows that are ahead of the clock by more than clocks differ: their zone may be another.
func (l *Tracker) tellLead(last *change.Event) {
	if at, _ := l.span(last.Cursor); !at.IsZero() && l.dates.Slack > 0 && !l.clock.now.IsZero() {
		if lead := at.Sub(l.present()); lead > l.Window {
			l.tell("lead", fmt.Sprintf("the newest rows are dated %s after the database's clock, and the column has no zone: set "+
				"source__time_zone to the zone that it is written in; until then the rows of that time are read again and remembered "+
				"with those of late_window", lead.Round(time.Second)))
		}
	}
}

// tell warns of what lasts, now and then.
func (l *Tracker) tell(what, text string) {
	if l.future.told == nil {
		l.future.told = map[string]time.Time{}
	}
	if at, said := l.future.told[what]; said && time.Since(at) < tellEvery {
		return
	}
	l.future.told[what] = time.Now()
	l.warn(text)
}
