package late

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// liveEvery is how often live rows are looked at while a long sweep runs beside a drained source.
const liveEvery = 20 * time.Millisecond

// nextOverlap decides between a live page and a page of a sweep. Under a backlog they take turns.
func (l *Tracker) nextOverlap(ctx context.Context) Step {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rest || l.drained && time.Since(l.liveAt) >= liveEvery {
		l.rest, l.drained = false, false
	}
	var seen *change.Horizon
	if l.needsLook(time.Now()) {
		if h, ok := l.look(ctx); ok {
			seen = &h
		}
	}
	l.rewind()
	l.mark()
	if step, ok := l.nextClosed(ctx); ok {
		return step
	}
	if l.sweepDue(time.Now()) {
		l.beginSweep(ctx)
	}
	live := !l.full() && !l.drained
	if step, ok := l.nextComplete(ctx, time.Now()); ok {
		return step
	}
	if l.drained && l.nearDue(time.Now()) {
		if step, ok := l.nextNear(ctx, seen); ok {
			return step
		}
	}
	switch {
	case l.order.on && (l.sweep.ending() || live && (!l.sweeps || !l.sweep.on)):
		return l.nextOrdered(ctx)
	case live && (!l.sweeps || !l.sweep.on):
		return l.nextLive()
	case l.drained && l.foreseeDue(time.Now()):
		return l.foresee()
	case l.sweep.on:
		return Step{Kind: change.Sweep, Range: change.Range{After: l.sweep.at, UpTo: l.sweep.to, Late: true,
			Told: l.sweep.told, Since: l.known.below}}
	default:
		l.rest = true
		return Step{Idle: true}
	}
}

// full reports whether the memory has no room for live rows, keeps account of since when, and makes the most of the
// wait: the mark moves up to all that is delivered, unless it is half way through its window.
func (l *Tracker) full() bool {
	if l.remembered.len()+l.inFlight.len() >= l.Memory {
		l.forgetLoaded()
	}
	if l.remembered.len()+l.inFlight.len() < l.Memory {
		l.heldSince = time.Time{}
		return false
	}
	now := time.Now()
	if l.heldSince.IsZero() {
		l.heldSince = now
		l.warn(fmt.Sprintf("late_memory (%d rows) is full: new rows are held back until the oldest of those delivered are older than "+
			"late_window (%s), or, where rows tell who wrote them, until the write transactions that are open have ended. Raise source__late_memory (up to 24 bytes in memory for each row, 8 bytes stored), or lower "+
			"source__late_window", l.Memory, l.Window))
	}
	if l.handed == l.done && !l.proved && !l.sweep.proves && !l.markAt.Equal(l.front) && l.clock.fresh(now) &&
		l.clock.latest(now).Sub(l.opens()) < l.Window/2 {
		l.since = time.Time{}
		l.mark()
	}
	return true
}

// mark begins a window at what is settled, where there is none and the database's clock is known. A young mark moves
// along with what is settled, for an eighth of the window, so that one covers the whole of a burst.
func (l *Tracker) mark() {
	now := time.Now()
	if l.mode != Overlap || l.front.Equal(l.low) || l.front.Equal(l.markAt) || !l.clock.fresh(now) {
		return
	}
	if l.since.IsZero() {
		l.marked = now
	} else if l.proved || l.sweep.proves || l.marked.IsZero() || now.Sub(l.marked) > l.Window/8 {
		return
	}
	l.markAt, l.recent.marked = l.front, l.recent.pages
	l.since = l.clock.latest(now).Add(resolution).Truncate(time.Microsecond).UTC() // as the document keeps it
	l.drawn = l.drawnUntil(l.markAt)
	l.changes++
}

// passed reports whether the mark's window has passed, as far as the database's clock is known. On a replica it has
// when what was committed after it is replayed: while the replay stands still, the clock goes on and rows do not
// arrive.
func (l *Tracker) passed(now time.Time) bool { return !l.since.IsZero() && l.over(l.opens(), now) }

// over reports whether a window has passed that began at opens.
func (l *Tracker) over(opens, now time.Time) bool {
	if !l.replayed.IsZero() && l.replayed.Before(opens.Add(l.Window)) {
		return false
	}
	return !l.clock.earliest(now).Before(opens.Add(l.Window))
}

// ended reports whether no write transaction is open that is known to have begun before a moment.
func ended(h *change.Horizon, before time.Time) bool {
	return !h.Shown || h.Oldest.IsZero() || h.Oldest.After(before)
}

// sweepDue reports whether it is time for a sweep. One that takes long is followed by a longer rest, so that sweeps
// take a quarter of the time at most; unless the low edge waits for it.
func (l *Tracker) sweepDue(now time.Time) bool {
	if l.sweep.on || l.low.Equal(l.reached) || l.mode != Overlap || l.done < l.backlog.final {
		return false
	}
	wait := max(SweepEvery(l.Window), 3*l.sweep.took)
	switch {
	case l.passed(now) && !l.proved:
		wait = SweepEvery(l.Window)
	case l.busy(now):
		wait = max(wait, l.Window/2)
	}
	return now.Sub(l.sweep.ended) >= wait
}

// beginSweep begins a sweep up to what is fetched. What is handed out and not settled is in flight, and not found
// again.
func (l *Tracker) beginSweep(ctx context.Context) {
	proves := false
	if l.passed(time.Now()) && !l.proved {
		// The look at the open transactions comes first, then the read: a transaction that ends in between is read.
		if h, ok := l.look(ctx); ok && l.passed(time.Now()) {
			proves = ended(&h, l.opens())
			l.blockedBy = ""
			if !proves {
				l.blockedBy = h.By
			}
		}
	}
	s := &l.sweep
	s.on, s.proves, s.began = true, proves, time.Now()
	s.at, s.to, s.last, s.first = l.low, l.reached, l.reached, false
	s.from, s.told = l.low, l.told
	s.says = l.said
	if s.rest = false; l.order.on {
		// Beyond the order edge rows have to be read in one snapshot.
		s.to, s.rest = l.recent.edge.at, s.at.Equal(l.recent.edge.at)
	} else if !l.since.IsZero() {
		s.to, s.first = l.markAt, true
	}
	s.old, s.new = (s.new+1)%loaded, (s.new+2)%loaded
}

// swept takes a page of the sweep. The first leg ends at the mark.
func (l *Tracker) swept(page *change.Page) {
	s := &l.sweep
	if end := page.End(); end != nil {
		s.at = end
	}
	if page.More {
		return
	}
	if l.order.on {
		s.at, s.rest = s.to, true
		return
	}
	l.endLeg()
}

// endLeg ends a leg of the sweep, and with the last one the sweep.
func (l *Tracker) endLeg() {
	s := &l.sweep
	if s.proves {
		// All up to the mark was read. What of it is in flight, or comes with this page, has to be settled still.
		l.proved, l.proof, l.below, s.proves = true, l.handed, s.old, false
	}
	if s.first && !s.to.Equal(s.last) {
		s.at, s.to, s.first = s.to, s.last, false
		return
	}
	s.on, s.ended = false, time.Now()
	l.rises, l.risesAt = s.says, l.handed
	l.nextTold = s.from // all that was visible when it began, and was passed before, is told
	s.took = s.ended.Sub(s.began)
	l.future.swept = true
	if dropped := l.remembered.keep(func(stamp uint8) bool {
		return stamp == s.old || stamp == s.new || stamp >= loaded
	}); dropped > 0 {
		l.changes++
	}
}

// advance moves the low edge where that is proved.
func (l *Tracker) advance() {
	if l.tail != nil && l.done >= l.tailOf {
		if l.mode == Overlap {
			l.changes++
		}
		if l.ahead.IsZero() {
			l.ahead = l.written
		}
		l.front, l.tail = l.tail, nil
	}
	l.rise()
	if !l.proved || l.done < l.proof {
		return
	}
	l.low = l.markAt
	l.rose++
	l.near.on = false // it may be reading what is forgotten now
	l.backlog.old = place{}
	l.close(l.since)
	l.recent.rise(l.low)
	l.unmark()
	if below := l.below; below == l.sweep.old {
		// What the first leg met is below the low edge now, and no sweep will meet it again. Where another sweep has
		// begun since, its stamps are on it, and the end of that one forgets it.
		l.remembered.keep(func(stamp uint8) bool { return stamp != below })
	}
	if l.low.Equal(l.reached) && !l.sweep.on && l.inFlight.len() == 0 {
		l.future.swept = true
		l.remembered.keep(func(stamp uint8) bool { return stamp >= loaded })
	}
	l.mark()
}
