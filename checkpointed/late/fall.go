package late

import (
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// notice holds the position against a new reading of the database's clock. A clock that was set back by less than
// late_window is bridged by the window: the low edge is as much lower, and the mark waits until the clock has come to
// it again. Where it was set back further, at once or little by little, or a row that is dated ahead has moved the
// position (older binaries let it), rows that are written now are below the position. So are those that were written
// since the reading before, when the clock had not come to the position again.
func (l *Tracker) notice(reading *databaseClock) {
	if l.dates == nil || l.mode == Exact {
		l.foretold = databaseClock{}
		return
	}
	lowest := reading.now
	for _, earlier := range [...]*databaseClock{&l.clock, &l.foretold} {
		then := reading.since(earlier)
		if !l.unbridged(earlier, reading, then) {
			continue
		}
		if earlier == &l.foretold { // the time since then is the store's: its clock may have fallen, too, and as far
			then = then.Add(-max(l.Window, -earlier.jumped(reading)))
		}
		if then.Before(lowest) {
			lowest = then
		}
	}
	l.foretold = databaseClock{}
	reading.passed = l.readTo()
	if to := l.future.fellTo; !to.IsZero() && to.Before(lowest) {
		return // the position has not gone back yet, and has further to go
	}
	if l.aheadOf(l.readTo(), lowest) || l.farAheadOf(lowest) {
		l.future.fellTo = lowest
	}
}

// unbridged reports whether the clock was set back since an earlier reading by more than the window bridges; then is
// what it would have shown at that reading. A window that has bridged a fall already, and has not moved on since,
// bridges no second one.
func (l *Tracker) unbridged(earlier, reading *databaseClock, then time.Time) bool {
	bridged := l.Window
	if l.mode == None {
		bridged = 0
	}
	jump := earlier.jumped(reading)
	return jump < 0 && (jump+bridged < clockTolerance || l.aheadOf(earlier.passed, then))
}

// readTo is the position below which nothing is read any more.
func (l *Tracker) readTo() change.Cursor {
	if l.mode == Overlap {
		return l.low
	}
	return l.reached
}

// recall takes the reading that the document keeps: the process that made it may have died before the clock was set
// back, and this one is held against it. passed is the position, and storeNow the clock of the store at this moment.
func (l *Tracker) recall(doc *state.Late, passed change.Cursor, storeNow time.Time) {
	l.storeLead = time.Until(storeNow)
	if kept := (keptClock{doc.Clock, doc.ClockAt}); kept != l.kept {
		at := kept.at.Add(-l.storeLead)
		l.kept, l.foretold = kept, databaseClock{now: kept.now, begun: at, ended: at, passed: passed}
	}
	if l.mode == None {
		l.foretold = databaseClock{} // no window bridges what the clocks of store and database differ by
	}
}

// keep is the reading to be stored with the position. One that shows a fall is not, before the position has gone back:
// whoever goes on after a crash would not see the fall any more.
func (l *Tracker) keep() keptClock {
	if l.dates == nil && l.mode != Overlap || l.clock.now.IsZero() ||
		!l.foretold.now.IsZero() || !l.future.fellTo.IsZero() {
		return l.kept
	}
	stored := func(t time.Time) time.Time { return t.Truncate(time.Microsecond).UTC() }
	return keptClock{stored(l.clock.now), stored(l.clock.ended.Add(l.storeLead))}
}

// owe takes up a fall again after which the position went back, and that somebody's commit was in the way of: the other
// one may have read the clock only before and after it.
func (l *Tracker) owe() {
	if to := l.future.owed; !to.IsZero() && l.dates != nil && l.future.fellTo.IsZero() &&
		(l.aheadOf(l.readTo(), to) || l.farAheadOf(to)) {
		l.future.fellTo = to
	}
	l.future.owed = time.Time{}
}

// aheadOf reports whether a position is ahead of the clock.
func (l *Tracker) aheadOf(at change.Cursor, now time.Time) bool {
	first, _ := l.span(at)
	return first.After(now.Add(l.dates.Slack + clockTolerance))
}

// farAheadOf reports whether live rows are read from beyond where rows count as dated ahead.
func (l *Tracker) farAheadOf(now time.Time) bool {
	first, _ := l.span(l.reached)
	return first.After(now.Add(l.dates.Slack + l.margin() + clockTolerance))
}

// rewind moves a position that is ahead of the clock back to it, once nothing is in flight. Rows that were delivered
// from there on, and are not remembered, are delivered again.
func (l *Tracker) rewind() {
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
	l.future.owed = to
	at := l.dates.Before(to)
	l.warn(fmt.Sprintf("%s: it goes back to %s; rows that were delivered since are delivered again, as far as they are not remembered", text, at))
	low, far := l.aheadOf(l.low, to), l.farAheadOf(to)
	l.unmark()
	l.sweep.on, l.tail, l.drained, l.rest = false, nil, false, false
	defer func() { l.beginRecent() }()
	if low { // rows that were written since, and read by nobody, are above it now
		l.low, l.told, l.nextTold = at, at, at
		l.known, l.rises = bound{of: l.known.of}, bound{}
	}
	if far || l.mode != Overlap {
		l.front, l.reached, l.future.first = at, at, nil
		l.foreknown = true
	}
	if l.remembered.len() >= l.Memory {
		// What is remembered lies above the position now, where no sweep meets it: a full memory would hold back live rows
		// for ever. They come again.
		l.remembered, l.journal = newHashSet(), journal{forgot: -1}
		l.warn("late_memory is full, and is given up with the position: all rows that were delivered since come again")
	}
	if l.mode != Overlap {
		l.ahead = time.Now().Add(-l.Window) // worth a write by itself
	}
}
