package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
)

// TestSourceOrderHoldsWhenAnEventFails: under ordering=source a failing event holds up everything behind it.
func TestSourceOrderHoldsWhenAnEventFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := false
		to := newSink(t, func(_ context.Context, d change.Delivery) error {
			if !failed {
				failed = true
				return &DeliveryError{Failed: []FailedEvent{{Index: 0, Cause: Refused}}, Err: errors.New("not now")}
			}
			return nil
		})
		report := relayOf(t, &table{rows: keys(5, 5)}, to, func(c *Config) { c.Ordering = OrderSource }).Tick(t.Context())
		if report.Event != TickComplete || !slices.Equal(to.order, []string{"0", "1", "2", "3", "4"}) {
			t.Errorf("%s: arrived %v", report.Event, to.order)
		}
	})
}

// TestFailedPrefetchDoesNotStopTheBatchBefore: what was fetched well is delivered and committed before the tick fails.
func TestFailedPrefetchDoesNotStopTheBatchBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &table{rows: keys(30, 30)}
		to := newSink(t, func(ctx context.Context, _ change.Delivery) error {
			feed.mu.Lock()
			feed.fetchErr = &Fault{NormalizeFailed, errors.New("row 10 is bad")}
			feed.mu.Unlock()
			return clock.Sleep(ctx, time.Second)
		})
		feed.wait = time.Millisecond // the second fetch begins when the first requests are out
		report := relayOf(t, feed, to, func(c *Config) { c.Concurrency, c.RequestEvents = 1, 1 }).Tick(t.Context())
		if report.Event != NormalizeFailed || feed.position != 10 || report.Rows != 10 {
			t.Errorf("%s: position %d, %d rows", report.Event, feed.position, report.Rows)
		}
		if last := feed.settles[len(feed.settles)-1]; !last.last {
			t.Error("the last commit does not carry the release")
		}
	})
}

// TestFetchThatTakesTheWholeBudgetFails: such ticks would otherwise succeed for ever without sending anything.
func TestFetchThatTakesTheWholeBudgetFails(t *testing.T) {
	for _, wait := range []time.Duration{52 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			to := newSink(t, nil)
			report := relayOf(t, &table{rows: keys(3, 3), wait: wait}, to, nil).Tick(t.Context())
			if report.Event != FetchFailed || !strings.Contains(report.Err.Error(), "tick_budget") || len(to.calls) != 0 {
				t.Errorf("%s: %v", report.Event, report.Err)
			}
			if took := time.Since(begun); took > 55*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestOutputThatNamesWrongEventsVouchesForNothing: none of its events is acknowledged.
func TestOutputThatNamesWrongEventsVouchesForNothing(t *testing.T) {
	for _, failed := range [][]FailedEvent{{{Index: 2}, {Index: 99}}, {{Index: 2}, {Index: 1}}, {{Index: -1}}, nil} {
		t.Run(fmt.Sprint(failed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := &table{rows: keys(3, 3)}
				to := outputFunc(func(context.Context, change.Delivery) error {
					return &DeliveryError{Failed: failed, Err: errors.New("confused")}
				})
				report := relayOf(t, feed, to, nil).Tick(t.Context())
				if report.Event != HandlerFailed || feed.position != 0 {
					t.Errorf("%s: position %d", report.Event, feed.position)
				}
			})
		})
	}
}

// TestHangingTickIsPointedOut: the ticks that it keeps out say so, once it has outlived every bound.
func TestHangingTickIsPointedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		to := newSink(t, func(context.Context, change.Delivery) error { <-release; return nil }) // ignores its context
		p := New("orders", relayOf(t, &table{rows: keys(1, 1)}, to, nil))
		done := make(chan []Report)
		go func() { done <- p.Run(t.Context()) }()
		time.Sleep(time.Minute)
		if r := p.Run(t.Context())[0]; len(r.Warnings) != 0 {
			t.Errorf("within its bounds: %q", r.Warnings)
		}
		time.Sleep(time.Minute)
		if r := p.Run(t.Context())[0]; len(r.Warnings) != 1 || r.Failed() {
			t.Errorf("beyond them: %+v", r)
		}
		close(release)
		<-done
	})
}
