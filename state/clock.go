package state

import "time"

// storeClock is one sight of the store's clock: it showed now at some moment between sent and received, which are
// local. A machine that was suspended in between estimates too early; whoever holds a lease then finds out by its
// deadline.
type storeClock struct {
	now            time.Time
	sent, received time.Time
}

// atLeast is the earliest that the store's clock can show at the local time t: takers judge expiry by it.
func (c storeClock) atLeast(t time.Time) time.Time { return c.now.Add(t.Sub(c.received)) }

// atMost is the latest that the store's clock can show at the local time t: a holder writes its expiry by it.
func (c storeClock) atMost(t time.Time) time.Time { return c.now.Add(t.Sub(c.sent)) }

// deadlineAfter is the deadline that an answer of the store proves. The write was sent at wrote (local) and put
// expires into the document; the answer that proves that it landed is seen. The deadline is a ttl after the write was
// sent, and not later than the store's own clock can reach expires: this holds even if expires was computed from a
// wrong estimate, because the answer shows the store's clock afresh.
func deadlineAfter(wrote time.Time, ttl time.Duration, expires time.Time, seen storeClock,
	margin time.Duration) time.Time {
	end := wrote.Add(ttl)
	if byStore := seen.sent.Add(expires.Sub(seen.now)); byStore.Before(end) {
		end = byStore
	}
	return end.Add(-margin)
}
