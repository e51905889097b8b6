package poller

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Policy says what becomes of events that are rejected (settings max_attempts, retry_delays, max_parked,
// after_dead_letter).
type Policy struct {
	// MaxAttempts is how many attempts an event has before it is dead-lettered; the first delivery is attempt 1.
	MaxAttempts int
	// Delays are the waits before attempt 2, 3, …; past the end the last repeats.
	Delays []time.Duration
	// MaxParked bounds parked entries and their followers together. At the bound the poller stops advancing.
	MaxParked int
	// Block keeps the order key of a dead-lettered event parked until an operator acts (after_dead_letter=block).
	Block bool
}

// Check returns an error that names the member at fault.
func (p *Policy) Check() error {
	switch {
	case p.MaxAttempts < 1:
		return fmt.Errorf("Policy.MaxAttempts is %d: it must be at least 1", p.MaxAttempts)
	case len(p.Delays) == 0:
		return errors.New("Policy.Delays is empty: it needs the wait before attempt 2 at least")
	case slices.ContainsFunc(p.Delays, func(d time.Duration) bool { return d < 0 }):
		return fmt.Errorf("Policy.Delays is %v: no wait is negative", p.Delays)
	case p.MaxParked < 1:
		return fmt.Errorf("Policy.MaxParked is %d: it must be at least 1", p.MaxParked)
	}
	return nil
}

// Failed counts one more failure against an event that has n. It returns how many there are now, the wait before the
// next attempt, and whether this was the last. A failure that says nothing about the event (it was misplaced, or the
// destination was busy, or it is not known which of the two is at fault) counts only as the first: so it brings no
// event nearer to its last attempt. It waits for the first delay once, and for the last one after that.
func (p *Policy) Failed(n int, why Rejection) (attempts int, wait time.Duration, last bool) {
	delay := min(n, len(p.Delays)-1)
	if why.Cause == Misplaced || why.Cause == Unavailable {
		attempts = max(n, 1)
		if n > 0 {
			delay = len(p.Delays) - 1
		}
	} else {
		attempts = n + 1
		last = attempts >= p.MaxAttempts
	}
	wait = p.Delays[delay]
	if !why.Again.IsZero() {
		wait = max(wait, why.Again.Sub(why.At))
	}
	return attempts, wait, last
}
