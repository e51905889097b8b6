package main

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/schedule"
	"github.com/rowrelay/rowrelay/wiring"
)

// ticking is a Runner whose ticks take their time and end as event.
type ticking struct {
	took  time.Duration
	event poller.Event
	began []time.Time
}

func (r *ticking) Run(context.Context) []poller.Report {
	started := time.Now()
	r.began = append(r.began, started)
	time.Sleep(r.took) // the bubble's clock
	return []poller.Report{{Poller: "orders", Event: r.event, Started: started, Ended: time.Now(), Parked: -1,
		NullCursors: -1}}
}

// Where ticks poll until their budget, one follows the other without a gap; where they fail, the schedule is waited
// for.
func TestTicksFollowWithoutAGap(t *testing.T) {
	every, err := schedule.Parse("*/10 * * * * *")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		runner ticking
		poll   time.Duration
		ticks  int
		gap    time.Duration // the longest between the end of one and the begin of the next
	}{
		"polling":     {ticking{took: 3 * time.Second, event: poller.FetchEmpty}, 100 * time.Millisecond, 20, 0},
		"not polling": {ticking{took: 3 * time.Second, event: poller.FetchEmpty}, 0, 6, 7 * time.Second},
		"failing": {ticking{took: 3 * time.Second, event: poller.HandlerFailed}, 100 * time.Millisecond, 6,
			7 * time.Second},
		"drained": {ticking{took: time.Second, event: poller.TickComplete}, 100 * time.Millisecond, 6, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := slog.New(slog.NewTextHandler(io.Discard, nil))
				h := handler.New(t.Context(), handler.Config{Pollers: []handler.Poller{{Name: "orders", Outputs: []string{""},
					Runner: &c.runner}}, Log: log})
				w := &wiring.Poller{Wired: inspect.Wired{Schedule: every,
					Config: &config.Poller{Name: "orders", TickBudget: 3 * time.Second, PollInterval: c.poll}}}
				// A minute from just before a firing on.
				next, _ := every.Next(time.Now())
				time.Sleep(time.Until(next) - time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				keepTicking(ctx, h, w, log)
				if n := len(c.runner.began); n != c.ticks {
					t.Errorf("%d ticks in a minute, want %d", n, c.ticks)
				}
				for i := 1; i < len(c.runner.began); i++ {
					if gap := c.runner.began[i].Sub(c.runner.began[i-1]) - c.runner.took; gap != c.gap {
						t.Errorf("a gap of %s between ticks %d and %d, want %s", gap, i, i+1, c.gap)
					}
				}
			})
		})
	}
}

// Clean-ups come by their own schedule, some time after it, and not at the start.
func TestCleanupsFollowTheirSchedule(t *testing.T) {
	hourly, err := schedule.Parse("0 0 * * * *")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		h := handler.New(t.Context(), handler.Config{Log: slog.New(slog.DiscardHandler),
			Pollers: []handler.Poller{{Name: "orders", Outputs: []string{""}, Outbox: &handler.Outbox{
				Cleanup: func(context.Context) (handler.Cleaned, error) {
					at = append(at, time.Now())
					return handler.Cleaned{}, nil
				},
			}}}})
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Hour+time.Minute)
		defer cancel()
		w := &wiring.Poller{Wired: inspect.Wired{Config: &config.Poller{Name: "orders"}}, Cleanup: hourly}
		keepCleaning(ctx, h, w)
		if len(at) < 5 || len(at) > 6 || at[0].Sub(start) < time.Second {
			t.Fatalf("clean-ups at %v, from %v on", at, start)
		}
		for _, when := range at {
			if after := when.Sub(when.Truncate(time.Hour)); after >= cleanupSpread {
				t.Errorf("a clean-up %s after its time", after)
			}
		}
	})
}

// TestAScheduleFollowsTheClock: a clock that is put forward or back, or a machine that was suspended, does not delay
// the next tick by as much.
func TestAScheduleFollowsTheClock(t *testing.T) {
	const daily, often = "0 0 1 * * *", "* * * * * *"
	for name, c := range map[string]struct {
		expr  string
		after time.Duration // that the wait began the clock is moved
		moved time.Duration
		most  time.Duration // from then until the tick
	}{
		"daily, put forward":        {daily, 30 * time.Minute, time.Hour, time.Minute},
		"daily, suspended":          {daily, 30 * time.Minute, 9 * time.Hour, time.Minute},
		"daily, put back":           {daily, 30 * time.Minute, -10 * time.Minute, 40 * time.Minute},
		"every second, put forward": {often, 300 * time.Millisecond, time.Hour, time.Second},
		"every second, put back":    {often, 300 * time.Millisecond, -time.Hour, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // it begins at midnight
				s, err := schedule.Parse(c.expr)
				if err != nil {
					t.Fatal(err)
				}
				var moved atomic.Int64
				at := time.Now().Add(c.after)
				time.AfterFunc(c.after, func() { moved.Store(int64(c.moved)) })
				came := awaitNext(t.Context(), s, func() time.Time { return time.Now().Add(time.Duration(moved.Load())) })
				if late := time.Since(at); !came || late < 0 || late > c.most {
					t.Errorf("%t, %s after the clock was moved, want %s at most", came, late, c.most)
				}
				ctx, stop := context.WithCancel(t.Context())
				stop()
				if awaitNext(ctx, s, time.Now) {
					t.Error("it goes on after its end")
				}
			})
		})
	}
}
