package poller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// TestOutageInTheMiddle: what was accepted before it is settled, nothing is counted, and afterwards all arrives.
func TestOutageInTheMiddle(t *testing.T) {
	quick.Skip(t)
	for code, reason := range map[int]string{503: "unavailable", 422: "unavailable", 401: poller.Denied,
		404: poller.NotFound, 301: poller.Redirected} {
		synctest.Test(t, func(t *testing.T) {
			feed := pollertest.NewTable(1000, 300)
			down, n := false, 0
			to := pollertest.NewSink(t, nil)
			to.Answer = func(_ context.Context, d change.Delivery) error {
				to.Lock()
				defer to.Unlock()
				if n++; n > 20 {
					down = true
				}
				if down {
					return pollertest.Status(d, code)
				}
				return nil
			}
			relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.RequestEvents = 10 })
			for range 30 {
				report := relay.Tick(t.Context())
				if !report.Failed() || report.Reason != reason || report.Rejected != 0 || len(feed.Parked) != 0 {
					t.Fatalf("%+v", report)
				}
				time.Sleep(time.Minute)
			}
			down, n = false, -1_000_000
			if report := relay.Tick(t.Context()); report.Event != poller.TickComplete || feed.Position != 1000 ||
				len(feed.Parked) != 0 {
				t.Errorf("afterwards: %+v", report)
			}
			pollertest.CheckOrder(t, feed.Rows, to.Order)
		})
	}
}

// TestTheEndOfAnOutageCountsForNobody: a receiver that does not answer, and then does, has refused nothing, whichever
// request is under way as it comes back. Where it answered others in the same tick before, that is no evidence either.
func TestTheEndOfAnOutageCountsForNobody(t *testing.T) {
	for first := range 4 { // requests before the outage
		for silent := 1; silent < 24; silent++ {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				to := pollertest.NewSink(t, nil)
				to.Answer = func(_ context.Context, d change.Delivery) error {
					to.Lock()
					defer to.Unlock()
					if n++; n > first && n <= first+silent {
						return poller.FailAll(len(d.Events), poller.Unavailable, 0, errors.New("connection refused"))
					}
					return nil
				}
				feed := pollertest.NewTable(30, 30)
				relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) {
					c.RequestEvents, c.Concurrency = 10, 1
				})
				for range 12 {
					if report := relay.Tick(t.Context()); report.Rejected != 0 || len(feed.Parked) != 0 {
						t.Fatalf("down for %d requests after %d: %+v", silent, first, report)
					}
					time.Sleep(time.Minute)
				}
				if feed.Position != 30 {
					t.Errorf("down for %d requests after %d: it ends at %d", silent, first, feed.Position)
				}
			})
		}
	}
}

// TestARowThatTakesTheReceiverDown: a row at which the receiver falls over, for two seconds each time, is found while
// others come, although all fails after it, too. What was found stays known in an outage: that takes a
// fifth of the ticks.
func TestARowThatTakesTheReceiverDown(t *testing.T) {
	quick.Skip(t)
	ticks, cases := 0, 0
	for _, rows := range []int{2, 3, 10, 30} {
		for _, bad := range []int{0, rows / 2, rows - 1} {
			for _, concurrency := range []int{1, 4} {
				synctest.Test(t, func(t *testing.T) {
					var up time.Time
					to := pollertest.NewSink(t, nil)
					to.Answer = func(_ context.Context, d change.Delivery) error {
						to.Lock()
						defer to.Unlock()
						if slices.ContainsFunc(d.Events, func(e change.Event) bool { return e.ID == strconv.Itoa(bad) }) {
							up = time.Now().Add(2 * time.Second)
						}
						if time.Now().Before(up) {
							return poller.FailAll(len(d.Events), poller.Unavailable, 0, errors.New("connection reset"))
						}
						return nil
					}
					feed := pollertest.NewTable(rows, rows)
					feed.MaxAttempts = 1
					relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.Concurrency = concurrency })
					for cases++; !slices.Contains(feed.Dead, strconv.Itoa(bad)); ticks++ {
						relay.Tick(t.Context())
						feed.Lock()
						feed.Rows = append(feed.Rows, fmt.Sprintf("more%d", ticks))
						feed.Unlock()
						time.Sleep(10 * time.Second)
					}
				})
			}
		}
	}
	if ticks > 50*cases {
		t.Errorf("%d ticks for %d such rows", ticks, cases)
	}
}

// TestLimitOfEverything: a destination that has no room for anything gets a bounded number of requests, and then none
// before the time that it named.
func TestLimitOfEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := true
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
			if !limited {
				return nil
			}
			err := poller.FailAll(len(d.Events), poller.Unavailable, 429, errors.New("429"))
			err.RetryAfter = 37 * time.Second
			return err
		})
		feed := pollertest.NewTable(100, 100)
		relay := pollertest.Relay(t, feed, to, pollertest.Hundred)
		report := relay.Tick(t.Context())
		if n := len(to.Calls); report.Event != poller.HandlerFailed || report.Reason != "unavailable" || n > 12 ||
			len(feed.Parked) != 0 ||
			!strings.Contains(report.Err.Error(), "429") {
			t.Fatalf("%d requests, parked %v: %+v", n, feed.Parked, report)
		}
		asked := len(to.Calls)
		for range 36 {
			time.Sleep(time.Second)
			report = relay.Tick(t.Context())
			if report.Event != poller.HandlerFailed || report.Reason != "unavailable" ||
				!strings.Contains(report.Err.Error(), "Retry-After") ||
				!strings.Contains(report.Err.Error(), "429") {
				t.Fatalf("%+v", report)
			}
		}
		if n := len(to.Calls) - asked; n != 0 {
			t.Errorf("%d requests before the time that the destination named", n)
		}
		limited = false
		time.Sleep(time.Second)
		if report = relay.Tick(t.Context()); report.Event != poller.TickComplete || feed.Position != 100 {
			t.Errorf("afterwards: %+v", report)
		}
	})
}

// TestBudgetEndsInTheMiddleOfASearch: nothing is counted, and the next tick goes on.
func TestBudgetEndsInTheMiddleOfASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(100, 100)
		slow := 9 * time.Second
		to := pollertest.NewSink(t, nil)
		to.Answer = func(ctx context.Context, d change.Delivery) error {
			if err := clock.Sleep(ctx, slow); err != nil {
				return err
			}
			return poisonRows(422, "k0")(ctx, d)
		}
		relay := pollertest.Relay(t, feed, to, pollertest.Hundred)
		report := relay.Tick(t.Context())
		if report.Event != poller.HandlerFailed || report.Reason != "unavailable" || report.Rejected != 0 ||
			feed.Position != 0 ||
			!strings.Contains(report.Err.Error(), "before it was known") {
			t.Errorf("%+v", report)
		}
		slow = time.Second
		if report := relay.Tick(t.Context()); report.Event != poller.TickComplete || report.Rejected != 1 ||
			feed.Position != 100 {
			t.Errorf("%+v", report)
		}
	})
}

// TestSearchGoesOnInTheNextTick: a receiver that hangs at one row leaves no time in any tick for the whole search.
func TestSearchGoesOnInTheNextTick(t *testing.T) {
	for _, size := range []int{1, 100} {
		for _, ordering := range []poller.Ordering{poller.OrderKey, poller.OrderNone} {
			synctest.Test(t, func(t *testing.T) {
				feed := pollertest.NewTable(100, 100)
				feed.Ordering, feed.MaxAttempts = ordering, 1
				to := pollertest.NewSink(t, func(ctx context.Context, d change.Delivery) error {
					for _, e := range d.Events {
						if e.ID == "37" {
							<-ctx.Done()
							return context.Cause(ctx)
						}
					}
					return nil
				})
				relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) {
					c.Ordering, c.RequestEvents = ordering, size
				})
				ticks := 0
				for ; feed.Position < 100 && ticks < 10; ticks++ {
					report := relay.Tick(t.Context())
					if report.Failed() && report.Reason != "unavailable" {
						t.Errorf("%+v", report)
					}
				}
				if feed.Position != 100 || !slices.Equal(feed.Dead, []string{"37"}) || len(to.Accepted) != 99 {
					t.Errorf("size %d, %s: position %d after %d ticks, dead %v", size, ordering, feed.Position, ticks, feed.Dead)
				}
			})
		}
	}
}

func TestRightIsLostInTheMiddleOfASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(100, 100)
		stolen := errors.New("stolen")
		time.AfterFunc(2500*time.Millisecond, func() { feed.End(stolen) })
		to := pollertest.NewSink(t, func(ctx context.Context, d change.Delivery) error {
			if err := clock.Sleep(ctx, time.Second); err != nil {
				return err
			}
			return poisonRows(422, "k70")(ctx, d)
		})
		begun := time.Now()
		report := pollertest.Relay(t, feed, to, pollertest.Hundred).Tick(t.Context())
		if report.Event != poller.LostLease || !errors.Is(report.Err, stolen) || feed.Position != 0 ||
			time.Since(begun) != 2500*time.Millisecond {
			t.Errorf("after %v: %+v", time.Since(begun), report)
		}
	})
}

// TestFlakyDestinationRejectsNothing: an event that is accepted when it is repeated alone is not held responsible.
func TestFlakyDestinationRejectsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(100, 100)
		n := 0
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
			if n++; n%3 != 0 || len(d.Events) > 1 && n < 20 {
				return pollertest.Status(d, 500)
			}
			return nil
		})
		report := pollertest.Relay(t, feed, to, pollertest.Hundred).Tick(t.Context())
		if report.Event != poller.TickComplete || report.Rejected != 0 || len(to.Accepted) != 100 {
			t.Errorf("%d accepted: %+v", len(to.Accepted), report)
		}
	})
}

// TestParkingFull: what came before is acknowledged, and the tick fails.
func TestParkingFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(50, 50)
		feed.MaxParked = 1
		to := pollertest.NewSink(t, poisonRows(422, "k10", "k20"))
		report := pollertest.Relay(t, feed, to, pollertest.Hundred).Tick(t.Context())
		if report.Event != poller.HandlerFailed || report.Reason != "refused" || report.Rows != 20 || report.Rejected != 1 ||
			!errors.Is(report.Err, pollertest.ErrFull) {
			t.Errorf("%+v", report)
		}
		if !report.After.Equal(pollertest.Position(20)) || feed.Position != 20 {
			t.Errorf("after %s", report.After)
		}
	})
}

// TestClosedWindowIsSettled: a batch with a position and no events is committed like any other.
func TestClosedWindowIsSettled(t *testing.T) {
	for _, rows := range []int{0, 20} {
		synctest.Test(t, func(t *testing.T) {
			feed := pollertest.NewTable(rows, 20)
			feed.Window = true
			report := pollertest.Relay(t, feed, pollertest.NewSink(t, nil)).Tick(t.Context())
			want := poller.TickComplete
			if rows == 0 {
				want = poller.FetchEmpty
			}
			if rows == 0 && (report.Event != want || len(feed.Commits) != 1 ||
				!report.After.Equal(pollertest.Position(1000))) {
				t.Errorf("%d settlements: %+v", len(feed.Commits), report)
			}
			if rows > 0 && (report.Event != want || report.Rows != rows) {
				t.Errorf("%+v", report)
			}
		})
	}
}

// TestPanicOfOneRow: a row that the output cannot cope with is found like any other.
func TestPanicOfOneRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(20, 20)
		to := pollertest.Func(func(_ context.Context, d change.Delivery) error {
			for _, e := range d.Events {
				if e.ID == "7" {
					panic("boom")
				}
			}
			return nil
		})
		report := pollertest.Relay(t, feed, to, pollertest.Hundred).Tick(t.Context())
		if report.Event != poller.TickComplete || report.Rejected != 1 ||
			!strings.Contains(feed.Reasons["7"].Reason, "boom") {
			t.Errorf("%+v", report)
		}
	})
}

// TestBrokenRowBehindASuspect: a row that can never be sent is no probe, and takes no probe's place.
func TestBrokenRowBehindASuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.TableOf("b", "a")
		feed.Broken = map[int]bool{0: true}
		out := pollertest.Func(func(_ context.Context, d change.Delivery) error {
			time.Sleep(100 * time.Millisecond)
			return poller.FailAll(len(d.Events), poller.Refused, 400, errors.New("answered 400"))
		})
		relay := pollertest.Relay(t, feed, out, pollertest.Hundred, func(c *poller.Config) { c.Concurrency = 1 })
		for range 100 {
			relay.Tick(t.Context())
			time.Sleep(2 * time.Second)
		}
		slices.Sort(feed.Dead)
		if !slices.Equal(feed.Dead, []string{"0", "1"}) {
			t.Errorf("dead %v, parked %v", feed.Dead, feed.Parked)
		}
	})
}
