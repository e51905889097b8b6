package state

import (
	"testing"
	"time"
)

func TestDeadlineAfter(t *testing.T) {
	t.Parallel()
	const ttl, margin = time.Minute, 2 * time.Second
	local := time.Now()
	store := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC) // the store's clock is years off: it must not matter
	seen := func(sent, took, clock time.Duration) storeClock {
		return storeClock{now: store.Add(clock), sent: local.Add(sent), received: local.Add(sent + took)}
	}
	for name, c := range map[string]struct {
		expires time.Duration // by the store's clock
		seen    storeClock
		want    time.Duration // by the local clock, since the write was sent
	}{
		"at once":                            {ttl, seen(0, 0, 0), ttl - margin},
		"a slow answer does not lengthen it": {ttl, seen(0, 5*time.Second, 0), ttl - margin},
		"the store's clock was ahead of the estimate": {ttl, seen(0, 0, 3*time.Second), ttl - margin - 3*time.Second},
		"the store's clock was behind the estimate":   {ttl, seen(0, 0, -3*time.Second), ttl - margin},
		"suspended before it was sent: long over":     {ttl, seen(0, 0, time.Hour), ttl - margin - time.Hour},
		"found by a read-back ten seconds later":      {ttl, seen(10*time.Second, 0, 10*time.Second), ttl - margin},
		"read back, and the store's clock ran quicker": {ttl, seen(10*time.Second, 0, 12*time.Second),
			ttl - margin - 2*time.Second},
	} {
		got := deadlineAfter(local, ttl, store.Add(c.expires), c.seen, margin).Sub(local)
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestStoreClockBounds: between what takers assume at least and holders at most lies the time that the answer took.
func TestStoreClockBounds(t *testing.T) {
	t.Parallel()
	local, store := time.Now(), time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	c := storeClock{now: store, sent: local, received: local.Add(4 * time.Second)}
	at := local.Add(10 * time.Second)
	if got := c.atLeast(at).Sub(store); got != 6*time.Second {
		t.Errorf("at least %s later, want 6s", got)
	}
	if got := c.atMost(at).Sub(store); got != 10*time.Second {
		t.Errorf("at most %s later, want 10s", got)
	}
}

func TestGrace(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]time.Duration{
		120 * time.Second: 5 * time.Second, 10 * time.Second: 5 * time.Second, 4 * time.Second: 2 * time.Second,
		0: 5 * time.Second,
	} {
		if got := grace(ttl); got != want {
			t.Errorf("grace(%s) = %s, want %s", ttl, got, want)
		}
	}
}
