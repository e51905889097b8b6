package poller

import (
	"fmt"
	"time"
)

// notice holds the position against a new reading of the database's clock. A clock that was set back by less than
// late_window is bridged by the window: the low edge is as far behind, and the mark waits until the clock has come to it
// again. Where it was set back further, or a row that is dated ahead has moved the position (older binaries let it), rows
// that are written now are below the position. jump is by how much the reading is off what the one before foretold.
func (l *late) notice(now time.Time, jump time.Duration) {
	if l.dates == nil || l.mode == LateExact {
		return
	}
	bridged := l.window
	if l.mode == LateNone {
		bridged = 0
	}
	if jump+bridged < clockTolerance && jump < 0 {
		now = now.Add(-clockFor) // it may have been set back right after the reading before
	}
	if l.aheadOf(now) || l.farAheadOf(now) {
		l.future.fellTo = now
	}
}

// aheadOf reports whether the position below which nothing is read any more is ahead of the clock.
func (l *late) aheadOf(now time.Time) bool {
	at := l.low
	if l.mode != LateOverlap {
		at = l.reached
	}
	first, _ := l.span(at)
	return first.After(now.Add(l.dates.Slack + clockTolerance))
}

// farAheadOf reports whether live rows are read from beyond where rows count as dated ahead.
func (l *late) farAheadOf(now time.Time) bool {
	first, _ := l.span(l.reached)
	return first.After(now.Add(l.dates.Slack + l.margin() + clockTolerance))
}

// rewind moves a position that is ahead of the clock back to it, once nothing is in flight. Rows that were delivered from
// there on, and are not remembered, are delivered again.
func (l *late) rewind() {
	to := l.future.fellTo
	if to.IsZero() || l.handed != l.done {
		return
	}
	l.future.fellTo = time.Time{}
	const text = "the position is ahead of the database's clock, which was set back, or a row was dated ahead"
	if l.dates.Before == nil {
		l.tell("fell", text+": rows that are written until the clock has come to it may not be seen. Deliver them by `rowrelay backfill`, "+
			"or set the position back by `rowrelay state reset`")
		return
	}
	at := l.dates.Before(to)
	l.warn(fmt.Sprintf("%s: it goes back to %s; rows that were delivered since are delivered again, as far as they are not remembered", text, at))
	low, far := l.aheadOf(to), l.farAheadOf(to)
	l.unmark()
	l.sweep.on, l.tail, l.drained, l.rest = false, nil, false, false
	if low {
		l.low = at
	}
	if far || l.mode != LateOverlap {
		l.front, l.reached, l.future.first = at, at, nil
	}
	if l.remembered.len() >= l.most {
		// What is remembered lies above the position now, where no sweep meets it: a full memory would hold back live rows
		// for ever. They come again.
		l.remembered = newHashSet()
		l.warn("late_memory is full, and is given up with the position: all rows that were delivered since come again")
	}
	if l.mode != LateOverlap {
		l.ahead = time.Now().Add(-l.window) // worth a write by itself
	}
}
