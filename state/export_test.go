package state

import "time"

// Suspend makes the wall clock jump by d while the monotonic clock stood still, as waking up does: to the lease's right
// that is the same as if its end by the wall clock lay d earlier.
func (l *Lease) Suspend(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.right.wall = l.right.wall.Add(-d)
}
