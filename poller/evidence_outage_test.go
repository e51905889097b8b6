package poller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
)

// TestOutageInTheMiddle: what was accepted before it is settled, nothing is counted, and afterwards all arrives.
func TestOutageInTheMiddle(t *testing.T) {
	for _, code := range []int{503, 422, 401} {
		synctest.Test(t, func(t *testing.T) {
			feed := newParkingTable(keys(1000, 300))
			down, n := false, 0
			to := newSink(t, nil)
			to.answer = func(_ context.Context, d change.Delivery) error {
				to.mu.Lock()
				defer to.mu.Unlock()
				if n++; n > 20 {
					down = true
				}
				if down {
					return status(d, code)
				}
				return nil
			}
			relay := relayOf(t, feed, to, func(c *Config) { one(c); c.RequestEvents = 10 })
			for range 30 {
				report := relay.Tick(t.Context())
				if !report.Failed() || report.Reason != "unavailable" || report.Rejected != 0 || len(feed.parked) != 0 {
					t.Fatalf("%+v", report)
				}
				time.Sleep(time.Minute)
			}
			down, n = false, -1_000_000
			if report := relay.Tick(t.Context()); report.Event != TickComplete || feed.position != 1000 ||
				len(feed.parked) != 0 {
				t.Errorf("afterwards: %+v", report)
			}
			assertOrderPerKey(t, feed.rows, to.order)
		})
	}
}

// TestLimitOfEverything: a destination that has no room for anything gets a bounded number of requests, and then none
// before the time that it named.
func TestLimitOfEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := true
		to := newSink(t, func(_ context.Context, d change.Delivery) error {
			if !limited {
				return nil
			}
			err := FailAll(len(d.Events), Unavailable, 429, errors.New("429"))
			err.RetryAfter = 37 * time.Second
			return err
		})
		feed := newParkingTable(keys(100, 100))
		relay := relayOf(t, feed, to, one)
		report := relay.Tick(t.Context())
		if n := len(to.calls); report.Event != HandlerFailed || report.Reason != "unavailable" || n > 12 ||
			len(feed.parked) != 0 ||
			!strings.Contains(report.Err.Error(), "429") {
			t.Fatalf("%d requests, parked %v: %+v", n, feed.parked, report)
		}
		asked := len(to.calls)
		for range 36 {
			time.Sleep(time.Second)
			report = relay.Tick(t.Context())
			if report.Event != HandlerFailed || report.Reason != "unavailable" ||
				!strings.Contains(report.Err.Error(), "Retry-After") ||
				!strings.Contains(report.Err.Error(), "429") {
				t.Fatalf("%+v", report)
			}
		}
		if n := len(to.calls) - asked; n != 0 {
			t.Errorf("%d requests before the time that the destination named", n)
		}
		limited = false
		time.Sleep(time.Second)
		if report = relay.Tick(t.Context()); report.Event != TickComplete || feed.position != 100 {
			t.Errorf("afterwards: %+v", report)
		}
	})
}

// TestBudgetEndsInTheMiddleOfASearch: nothing is counted, and the next tick goes on.
func TestBudgetEndsInTheMiddleOfASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := newParkingTable(keys(100, 100))
		slow := 9 * time.Second
		to := newSink(t, nil)
		to.answer = func(ctx context.Context, d change.Delivery) error {
			if err := clock.Sleep(ctx, slow); err != nil {
				return err
			}
			return poisonRows(422, "k0")(ctx, d)
		}
		relay := relayOf(t, feed, to, one)
		report := relay.Tick(t.Context())
		if report.Event != HandlerFailed || report.Reason != "unavailable" || report.Rejected != 0 || feed.position != 0 ||
			!strings.Contains(report.Err.Error(), "before it was known") {
			t.Errorf("%+v", report)
		}
		slow = time.Second
		if report := relay.Tick(t.Context()); report.Event != TickComplete || report.Rejected != 1 || feed.position != 100 {
			t.Errorf("%+v", report)
		}
	})
}

// TestSearchGoesOnInTheNextTick: a receiver that hangs at one row leaves no time in any tick for the whole search.
func TestSearchGoesOnInTheNextTick(t *testing.T) {
	for _, size := range []int{1, 100} {
		for _, ordering := range []Ordering{OrderKey, OrderNone} {
			synctest.Test(t, func(t *testing.T) {
				feed := newParkingTable(keys(100, 100))
				feed.ordering, feed.maxAttempts = ordering, 1
				to := newSink(t, func(ctx context.Context, d change.Delivery) error {
					for _, e := range d.Events {
						if e.ID == "37" {
							<-ctx.Done()
							return context.Cause(ctx)
						}
					}
					return nil
				})
				relay := relayOf(t, feed, to, func(c *Config) { one(c); c.Ordering, c.RequestEvents = ordering, size })
				ticks := 0
				for ; feed.position < 100 && ticks < 10; ticks++ {
					report := relay.Tick(t.Context())
					if report.Failed() && report.Reason != "unavailable" {
						t.Errorf("%+v", report)
					}
				}
				if feed.position != 100 || !slices.Equal(feed.dead, []string{"37"}) || len(to.accepted) != 99 {
					t.Errorf("size %d, %s: position %d after %d ticks, dead %v", size, ordering, feed.position, ticks, feed.dead)
				}
			})
		}
	}
}

func TestRightIsLostInTheMiddleOfASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := newParkingTable(keys(100, 100))
		stolen := errors.New("stolen")
		time.AfterFunc(2500*time.Millisecond, func() { feed.end(stolen) })
		to := newSink(t, func(ctx context.Context, d change.Delivery) error {
			if err := clock.Sleep(ctx, time.Second); err != nil {
				return err
			}
			return poisonRows(422, "k70")(ctx, d)
		})
		begun := time.Now()
		report := relayOf(t, feed, to, one).Tick(t.Context())
		if report.Event != LostLease || !errors.Is(report.Err, stolen) || feed.position != 0 ||
			time.Since(begun) != 2500*time.Millisecond {
			t.Errorf("after %v: %+v", time.Since(begun), report)
		}
	})
}

// TestFlakyDestinationRejectsNothing: an event that is accepted when it is repeated alone is not held responsible.
func TestFlakyDestinationRejectsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := newParkingTable(keys(100, 100))
		n := 0
		to := newSink(t, func(_ context.Context, d change.Delivery) error {
			if n++; n%3 != 0 || len(d.Events) > 1 && n < 20 {
				return status(d, 500)
			}
			return nil
		})
		report := relayOf(t, feed, to, one).Tick(t.Context())
		if report.Event != TickComplete || report.Rejected != 0 || len(to.accepted) != 100 {
			t.Errorf("%d accepted: %+v", len(to.accepted), report)
		}
	})
}

// TestParkingFull: what came before is acknowledged, and the tick fails.
func TestParkingFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := newParkingTable(keys(50, 50))
		feed.maxParked = 1
		to := newSink(t, poisonRows(422, "k10", "k20"))
		report := relayOf(t, feed, to, one).Tick(t.Context())
		if report.Event != HandlerFailed || report.Reason != "refused" || report.Rows != 20 || report.Rejected != 1 ||
			!errors.Is(report.Err, errFull.Err) {
			t.Errorf("%+v", report)
		}
		if !report.After.Equal(position(20)) || feed.position != 20 {
			t.Errorf("after %s", report.After)
		}
	})
}

// TestClosedWindowIsSettled: a batch with a position and no events is committed like any other.
func TestClosedWindowIsSettled(t *testing.T) {
	for _, rows := range []int{0, 20} {
		synctest.Test(t, func(t *testing.T) {
			feed := newParkingTable(keys(rows, 20))
			feed.closing = true
			report := relayOf(t, feed, newSink(t, nil), nil).Tick(t.Context())
			want := TickComplete
			if rows == 0 {
				want = FetchEmpty
			}
			if rows == 0 && (report.Event != want || feed.settles != 1 || !report.After.Equal(position(1000))) {
				t.Errorf("%d settlements: %+v", feed.settles, report)
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
		feed := newParkingTable(keys(20, 20))
		to := outputFunc(func(_ context.Context, d change.Delivery) error {
			for _, e := range d.Events {
				if e.ID == "7" {
					panic("boom")
				}
			}
			return nil
		})
		report := relayOf(t, feed, to, one).Tick(t.Context())
		if report.Event != TickComplete || report.Rejected != 1 || !strings.Contains(feed.reasons["7"].Reason, "boom") {
			t.Errorf("%+v", report)
		}
	})
}

// TestBrokenRowBehindASuspect: a row that can never be sent is no probe, and takes no probe's place.
func TestBrokenRowBehindASuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := newParkingTable([]string{"b", "a"})
		feed.broken = map[int]bool{0: true}
		out := outputFunc(func(_ context.Context, d change.Delivery) error {
			time.Sleep(100 * time.Millisecond)
			return FailAll(len(d.Events), Refused, 400, errors.New("answered 400"))
		})
		relay := relayOf(t, feed, out, func(c *Config) { one(c); c.Concurrency = 1 })
		for range 100 {
			relay.Tick(t.Context())
			time.Sleep(2 * time.Second)
		}
		slices.Sort(feed.dead)
		if !slices.Equal(feed.dead, []string{"0", "1"}) {
			t.Errorf("dead %v, parked %v", feed.dead, feed.parked)
		}
	})
}
