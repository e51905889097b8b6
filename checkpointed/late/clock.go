package late

import (
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// clockFor is how long a reading of the database's clock is good for.
const clockFor = time.Minute

// clockTolerance is how far a reading may be off what the one before foretold: clocks that show whole seconds, and a
// minute's drift.
const clockTolerance = 2 * time.Second

// databaseClock estimates the database's clock between readings. The reading was made at some moment between begun and
// ended, and of our own two clocks the monotonic one stands still while the machine sleeps, and the wall clock is set
// now and then. So the estimate has two ends: a window has passed when it has by the earliest, and begins at the
// latest.
type databaseClock struct {
	now          time.Time     // zero: never read
	begun, ended time.Time     // local time of the request
	passed       change.Cursor // below it nothing was read any more at that time
}

// fresh reports whether the estimate is good at local time t.
func (c *databaseClock) fresh(t time.Time) bool {
	shortest, longest := between(c.ended, t)
	return !c.now.IsZero() && shortest >= 0 && longest < clockFor
}

// earliest is the database's clock at local time t, or a little before that.
func (c *databaseClock) earliest(t time.Time) time.Time {
	shortest, _ := between(c.ended, t)
	return c.now.Add(shortest)
}

// latest is the database's clock at local time t, or a little after that.
func (c *databaseClock) latest(t time.Time) time.Time {
	_, longest := between(c.begun, t)
	return c.now.Add(longest)
}

// jumped tells by how much a new reading is off what this one foretold, 0 where it is within tolerance.
func (c *databaseClock) jumped(next *databaseClock) time.Duration {
	if c.now.IsZero() {
		return 0
	}
	if early := c.earliest(next.begun); next.now.Before(early.Add(-clockTolerance)) {
		return next.now.Sub(early)
	}
	if late := c.latest(next.ended); next.now.After(late.Add(clockTolerance)) {
		return next.now.Sub(late)
	}
	return 0
}

// since is what the clock would have shown at an earlier reading, had it been set back by then as it is now: no row was
// written with a lower time since.
func (c *databaseClock) since(earlier *databaseClock) time.Time {
	_, longest := between(earlier.begun, c.ended)
	return c.now.Add(-longest - 2*clockTolerance)
}

// between is the time from a to b by the monotonic and by the wall clock, the shorter one first.
func between(a, b time.Time) (shortest, longest time.Duration) {
	monotonic, wall := b.Sub(a), b.Round(0).Sub(a.Round(0))
	return min(monotonic, wall), max(monotonic, wall)
}
