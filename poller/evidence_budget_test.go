package poller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// In these tests a tick has time for one bad answer, or for a few: what it learned has to last for the next one.

// slowly answers a code to requests that hold an event, after 25s (0: never), and accepts others after a while.
func slowly(code int, others time.Duration, ids ...string) func(context.Context, change.Delivery) error {
	return func(ctx context.Context, d change.Delivery) error {
		switch bad := slices.ContainsFunc(d.Events, func(e change.Event) bool { return slices.Contains(ids, e.ID) }); {
		case !bad:
			return clock.Sleep(ctx, others)
		case code == 0:
			<-ctx.Done()
			return context.Cause(ctx)
		}
		if err := clock.Sleep(ctx, 25*time.Second); err != nil {
			return err
		}
		return pollertest.Status(d, code)
	}
}

// TestBudgetWithoutTimeForAVerdict: an event that is always answered badly is given up, also where its answer, or the
// wait for it, takes longer than a tick has time.
func TestBudgetWithoutTimeForAVerdict(t *testing.T) {
	quick.Skip(t)
	for _, budget := range []time.Duration{time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
		45 * time.Second, 65 * time.Second} {
		for _, code := range []int{0, 422, 500} {
			for _, ordering := range []poller.Ordering{poller.OrderKey, poller.OrderNone, poller.OrderSource} {
				for _, size := range []int{1, 100} {
					for _, others := range []time.Duration{0, 12 * time.Second} {
						if ordering == poller.OrderSource && (code == 0 || others > 0) || size == 1 && others > 0 {
							continue // without an answer nothing is given up; or it takes long
						}
						t.Run(fmt.Sprint(budget, code, ordering, size, others), func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) {
								feed := pollertest.NewTable(50, 50)
								feed.Ordering, feed.MaxAttempts = ordering, 1
								to := pollertest.NewSink(t, slowly(code, others, "3", "36", "37"))
								relay := pollertest.Relay(t, feed, to, func(c *poller.Config) {
									pollertest.Hundred(c)
									c.Ordering, c.RequestEvents, c.Budget, c.Concurrency = ordering, size, budget, 1
								})
								ticks := 0
								for ; feed.Position < 50 && ticks < 80; ticks++ {
									if r := relay.Tick(t.Context()); r.Failed() && ordering != poller.OrderSource && r.Reason != "unavailable" {
										t.Fatalf("%+v", r)
									}
									time.Sleep(10 * time.Second)
								}
								slices.Sort(feed.Dead)
								if feed.Position != 50 || !slices.Equal(feed.Dead, []string{"3", "36", "37"}) || len(to.Accepted) != 47 {
									t.Errorf("position %d after %d ticks, dead %v, %d arrived", feed.Position, ticks, feed.Dead, len(to.Accepted))
								}
							})
						})
					}
				}
			}
		}
	}
}

// TestOutageOfTicksWithoutTime: an outage that is longer than many ticks counts against no event, wherever it begins.
func TestOutageOfTicksWithoutTime(t *testing.T) {
	quick.Skip(t)
	for _, budget := range []time.Duration{10 * time.Second, 20 * time.Second, 45 * time.Second} {
		for _, code := range []int{0, 401, 500} {
			for _, size := range []int{1, 100} {
				for works := range 5 {
					t.Run(fmt.Sprint(budget, code, size, works), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							feed := pollertest.NewTable(100, 100)
							feed.MaxAttempts = 1
							n, down := 0, true
							to := pollertest.NewSink(t, nil)
							to.Answer = func(ctx context.Context, d change.Delivery) error {
								if n++; !down || n <= works {
									return nil
								}
								return slowly(code, 0, d.Events[0].ID)(ctx, d)
							}
							relay := pollertest.Relay(t, feed, to, func(c *poller.Config) {
								pollertest.Hundred(c)
								c.RequestEvents, c.Budget, c.Concurrency = size, budget, 1
							})
							for range 20 {
								relay.Tick(t.Context())
								time.Sleep(time.Minute)
							}
							down = false
							for range 3 {
								relay.Tick(t.Context())
							}
							if feed.Position != 100 || len(feed.Dead) != 0 || len(feed.Reasons) != 0 {
								t.Errorf("position %d, dead %v, set aside %v", feed.Position, feed.Dead, feed.Reasons)
							}
						})
					})
				}
			}
		}
	}
}

// TestNoTimeForAProbe: a destination that hangs leaves no time to look for an event of another key. The source is not
// at fault then, and is not told to be.
func TestNoTimeForAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(1, 1)
		feed.OtherErr = fmt.Errorf("fetch_failed: %w", context.DeadlineExceeded)
		to := pollertest.NewSink(t, func(ctx context.Context, _ change.Delivery) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		report := pollertest.Relay(t, feed, to, func(c *poller.Config) { c.Linger = c.Budget }).Tick(t.Context())
		if report.Event != poller.HandlerFailed || report.Reason != poller.Unavailable.String() {
			t.Fatalf("%+v", report)
		}
		if text := report.Err.Error(); !strings.Contains(text, "there was no time left to look for one") ||
			strings.Contains(text, "fetch_failed") {
			t.Error(text)
		}
	})
}
