package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errPassed, errTaken = errors.New("passed"), errors.New("taken")

// begin returns a Deadline in so much time, to be called in a bubble.
func begin(t *testing.T, lasts time.Duration) *Deadline {
	d := NewDeadline(t.Context(), time.Now().Add(lasts), errPassed)
	t.Cleanup(func() { d.End(context.Canceled) })
	return d
}

// suspend makes the wall clock jump while the monotonic clock stands still, as a machine finds them when it wakes: the
// end is so much nearer by the wall clock only.
func (d *Deadline) suspend(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end.wall = d.end.wall.Add(-by)
}

func TestDeadlineEndsOnceWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := begin(t, time.Minute)
		time.Sleep(59 * time.Second)
		d.Extend(time.Now().Add(time.Minute))
		time.Sleep(59 * time.Second)
		if d.Check() != nil || d.Context().Err() != nil || d.Left() != time.Second {
			t.Fatalf("it was extended: %v, %v, %s left", d.Check(), d.Context().Err(), d.Left())
		}
		<-d.Context().Done()
		if !errors.Is(d.Check(), errPassed) || !errors.Is(context.Cause(d.Context()), errPassed) || d.Left() != 0 {
			t.Errorf("%v, %v, %s left", d.Check(), context.Cause(d.Context()), d.Left())
		}
		d.Extend(time.Now().Add(time.Minute))
		d.End(errTaken)
		if !errors.Is(d.Check(), errPassed) {
			t.Errorf("it ended again, with %v", d.Check())
		}
	})
}

func TestDeadlineIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := begin(t, time.Minute)
		d.End(errTaken)
		if !errors.Is(d.Check(), errTaken) || !errors.Is(context.Cause(d.Context()), errTaken) {
			t.Errorf("%v, %v", d.Check(), context.Cause(d.Context()))
		}
	})
}

// TestDeadlineOutlivesItsContext, whose values it keeps.
func TestDeadlineOutlivesItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		d := NewDeadline(ctx, time.Now().Add(time.Minute), errPassed)
		cancel()
		if d.Check() != nil || d.Context().Err() != nil || d.Context().Value(key{}) != "kept" {
			t.Errorf("%v, %v, %v", d.Check(), d.Context().Err(), d.Context().Value(key{}))
		}
		d.End(errTaken)
	})
}

// TestSuspension: a request that is under way while the machine sleeps beyond the end is ended within a second of its
// waking, though no timer that was set before has come to its end. Whoever asks before that learns it at once.
func TestSuspension(t *testing.T) {
	for name, wait := range map[string]func(*Deadline){
		"under way":      func(d *Deadline) { <-d.Context().Done() },
		"asked":          func(d *Deadline) { _ = d.Check() },
		"renewed before": func(d *Deadline) { d.Extend(time.Now().Add(time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := begin(t, time.Minute)
				time.Sleep(300 * time.Millisecond)
				d.suspend(10 * time.Minute)
				woke := time.Now()
				wait(d)
				if took := time.Since(woke); took > time.Second || !errors.Is(context.Cause(d.Context()), errPassed) {
					t.Errorf("after %s: %v", took, context.Cause(d.Context()))
				}
			})
		})
	}
}

// TestShortSuspension leaves the right as it is, and it may be extended.
func TestShortSuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := begin(t, time.Minute)
		d.suspend(30 * time.Second)
		time.Sleep(20 * time.Second)
		d.Extend(time.Now().Add(time.Minute))
		time.Sleep(59 * time.Second)
		if d.Check() != nil || d.Context().Err() != nil {
			t.Errorf("%v, %v", d.Check(), d.Context().Err())
		}
	})
}

func TestReachedByEitherClock(t *testing.T) {
	start := momentOf(time.Now())
	end := momentOf(start.mono.Add(time.Minute))
	for name, c := range map[string]struct {
		mono, wall time.Duration
		reached    bool
	}{
		"just begun":                    {0, 0, false},
		"just before the end":           {time.Minute - 1, time.Minute - 1, false},
		"at the end":                    {time.Minute, time.Minute, true},
		"suspended for an hour":         {time.Second, time.Hour, true},
		"wall clock set back an hour":   {time.Minute, -time.Hour, true},
		"wall clock set back meanwhile": {time.Second, -time.Hour, false},
	} {
		if got := end.reached(moment{start.mono.Add(c.mono), start.wall.Add(c.wall)}); got != c.reached {
			t.Errorf("%s: reached is %t", name, got)
		}
	}
	if Passed(time.Now().Add(time.Hour)) || !Passed(time.Now()) {
		t.Error("Passed is wrong about now")
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := Sleep(t.Context(), time.Minute); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errTaken) })
		begun = time.Now()
		if err := Sleep(ctx, time.Minute); !errors.Is(err, errTaken) || time.Since(begun) != time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		for _, d := range []time.Duration{-1, 0, time.Minute} {
			if err := Sleep(ctx, d); !errors.Is(err, errTaken) {
				t.Errorf("%s after the end: %v", d, err)
			}
		}
		if err := Sleep(t.Context(), -1); err != nil {
			t.Errorf("no wait: %v", err)
		}
	})
}

func TestMargin(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		time.Second / 2: 100 * time.Millisecond, time.Second: 100 * time.Millisecond, 10 * time.Second: time.Second,
		time.Minute: 2 * time.Second,
	} {
		if got := Margin(ttl); got != want {
			t.Errorf("of %s it is %s, want %s", ttl, got, want)
		}
	}
}
