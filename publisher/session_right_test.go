package publisher

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestRightEndsOnceWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRight(time.Now().Add(time.Minute))
		time.Sleep(59 * time.Second)
		r.extend(time.Now().Add(time.Minute))
		time.Sleep(59 * time.Second)
		if r.check() != nil || r.ctx.Err() != nil {
			t.Fatal("it was extended")
		}
		time.Sleep(2 * time.Second)
		if !errors.Is(r.check(), errExpired) || r.ctx.Err() == nil {
			t.Error("it lasts")
		}
		r.extend(time.Now().Add(time.Minute))
		r.end(errLost)
		if !errors.Is(r.check(), errExpired) {
			t.Errorf("it ended as %v", r.check())
		}
	})
}

// A machine that was suspended wakes with its monotonic clock where it was, and its timers still to come.
func TestRightEndsByTheWallClock(t *testing.T) {
	r := newRight(time.Now().Add(time.Hour))
	r.mu.Lock()
	r.wall = time.Now().Round(0).Add(-time.Second)
	r.mu.Unlock()
	if !errors.Is(r.check(), errExpired) {
		t.Error("the wall clock says that it is over")
	}
}

func TestMargin(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		time.Second / 2: 100 * time.Millisecond, time.Second: 100 * time.Millisecond, 10 * time.Second: time.Second, time.Minute: 2 * time.Second,
	} {
		if got := marginOf(ttl); got != want {
			t.Errorf("of %s it is %s, want %s", ttl, got, want)
		}
	}
}
