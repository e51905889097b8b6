package poller_test

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

func TestFailedAttempts(t *testing.T) {
	seed := poller.Policy{MaxAttempts: 5,
		Delays: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute}, MaxParked: 1}
	once := poller.Policy{MaxAttempts: 1, Delays: []time.Duration{time.Second}, MaxParked: 1}
	for name, c := range map[string]struct {
		policy   poller.Policy
		before   int
		cause    poller.Cause
		attempts int
		wait     time.Duration
		last     bool
	}{
		"the first":                          {seed, 0, poller.Refused, 1, time.Second, false},
		"the fourth":                         {seed, 3, poller.Refused, 4, 2 * time.Minute, false},
		"the last":                           {seed, 4, poller.Refused, 5, 2 * time.Minute, true},
		"impossible, too":                    {seed, 4, poller.Impossible, 5, 2 * time.Minute, true},
		"misplaced, again":                   {seed, 1, poller.Misplaced, 1, 2 * time.Minute, false},
		"no verdict":                         {seed, 0, poller.Unavailable, 1, time.Second, false},
		"no verdict, after refusals":         {seed, 3, poller.Unavailable, 3, 2 * time.Minute, false},
		"misplaced stays before the last":    {seed, 4, poller.Misplaced, 4, 2 * time.Minute, false},
		"one attempt only":                   {once, 0, poller.Refused, 1, time.Second, true},
		"misplaced, one attempt only":        {once, 0, poller.Misplaced, 1, time.Second, false},
		"misplaced, one attempt only, again": {once, 1, poller.Misplaced, 1, time.Second, false},
	} {
		attempts, wait, last := c.policy.Failed(c.before, poller.Rejection{Cause: c.cause})
		if attempts != c.attempts || wait != c.wait || last != c.last {
			t.Errorf("%s: %d attempts, next in %s, last %t; want %d, %s, %t", name, attempts, wait, last, c.attempts, c.wait,
				c.last)
		}
	}
}
