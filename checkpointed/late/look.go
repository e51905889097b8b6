package late

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// look reads the database's clock and its open transactions. It gives mu up meanwhile. A clock that jumped makes the
// mark worthless: the window begins again.
func (l *Tracker) look(ctx context.Context) (change.Horizon, bool) {
	reading := databaseClock{begun: time.Now()}
	h, err := l.horizon(ctx)
	reading.ended, reading.now = time.Now(), h.Now
	l.looked = reading.ended
	switch {
	case err != nil && ctx.Err() != nil:
		return change.Horizon{}, false
	case err != nil:
		if !l.toldBlind {
			meanwhile := "rows that commit late are still found, but the checkpoint does not move meanwhile"
			if l.mode != Overlap {
				meanwhile = "rows that carry a time are held against its last reading; before the first one they wait"
			}
			l.warn(fmt.Sprintf("the database's clock and open transactions could not be read: %s: %v", meanwhile, err))
		}
		l.blind, l.toldBlind = true, true
		return change.Horizon{}, false
	}
	l.blind, l.toldBlind = false, false
	jump, ahead := l.clock.jumped(&reading), l.foretold.jumped(&reading)
	if jump != 0 {
		l.beginRecent()
	}
	if last := &l.backlog.last; last.at != nil && last.seen.IsZero() {
		last.seen = h.Now
		if drawn := l.drawnUntil(last.at); drawn.After(last.seen) {
			last.seen = drawn
		}
	}
	l.notice(&reading)
	l.clock, l.replayed = reading, h.Replayed
	if !l.since.IsZero() && (jump != 0 || l.clock.latest(reading.ended).Add(resolution+clockTolerance).Before(l.since)) ||
		jump < 0 && l.dates != nil {
		by := cmp.Or(jump, l.clock.latest(reading.ended).Sub(l.since)) // what the last process read may be in since only
		l.warn(fmt.Sprintf("the database's clock jumped by %s, or is another server's: late_window (%s) begins again",
			by.Round(time.Millisecond), l.Window))
		l.unmark()
	}
	if ahead > 0 && !l.since.IsZero() {
		l.postpone(ahead + reading.ended.Sub(reading.begun))
	}
	return h, true
}

// postpone lets the mark's window begin later: the clock was set forward since the reading that the document keeps, and
// the process that made it may have died before. It begins no window again, because the estimate goes by the store's
// clock too, which may be a little off with each process.
func (l *Tracker) postpone(by time.Duration) {
	l.warn(fmt.Sprintf("the database's clock is %s ahead of what the last process read, or is another server's: late_window (%s) "+
		"ends that much later", by.Round(time.Millisecond), l.Window))
	l.since = l.opens().Add(by).Truncate(time.Microsecond).UTC() // as the document keeps it
	l.changes++
}

// needsLook reports whether the clock should be read: it is needed for a mark, and was not asked just now.
func (l *Tracker) needsLook(now time.Time) bool {
	return (l.dates != nil || !l.low.Equal(l.reached)) && !l.clock.fresh(now) &&
		(l.looked.IsZero() || now.Sub(l.looked) >= SweepEvery(l.Window))
}

// horizon asks the source with mu given up, and takes it again whatever happens: a panic too.
func (l *Tracker) horizon(ctx context.Context) (change.Horizon, error) {
	l.mu.Unlock()
	defer l.mu.Lock()
	return l.Database.Horizon(ctx)
}

// opens is when the mark's window begins: a row up to the mark can be written as long as the clock has not passed the
// mark's value for the last time. A wall clock that is put back passes it twice, and a clock that was set back, or a
// row that is dated ahead, leaves the mark ahead of the clock.
func (l *Tracker) opens() time.Time {
	if l.drawn.After(l.since) {
		return l.drawn
	}
	return l.since
}
