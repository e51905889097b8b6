package poller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestFailedPrefetchDoesNotStopTheBatchBefore: what was fetched well is delivered and committed before the tick fails.
func TestFailedPrefetchDoesNotStopTheBatchBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(30, 30)
		to := pollertest.NewSink(t, func(ctx context.Context, _ change.Delivery) error {
			feed.Lock()
			feed.FetchErr = &poller.Fault{Event: poller.NormalizeFailed, Err: errors.New("row 10 is bad")}
			feed.Unlock()
			return clock.Sleep(ctx, time.Second)
		})
		feed.FetchTakes = time.Millisecond // the second fetch begins when the first requests are out
		report := pollertest.Relay(t, feed, to, func(c *poller.Config) {
			c.Concurrency, c.RequestEvents = 1, 1
		}).Tick(t.Context())
		if report.Event != poller.NormalizeFailed || feed.Position != 10 || report.Rows != 10 {
			t.Errorf("%s: position %d, %d rows", report.Event, feed.Position, report.Rows)
		}
		if last := feed.Commits[len(feed.Commits)-1]; !last.Last {
			t.Error("the last commit does not carry the release")
		}
	})
}

// TestFetchThatTakesTheWholeBudgetFails: such ticks would otherwise succeed for ever without sending anything.
func TestFetchThatTakesTheWholeBudgetFails(t *testing.T) {
	for _, wait := range []time.Duration{52 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			to := pollertest.NewSink(t, nil)
			feed := pollertest.NewTable(3, 3)
			feed.FetchTakes = wait
			report := pollertest.Relay(t, feed, to).Tick(t.Context())
			if report.Event != poller.FetchFailed || !strings.Contains(report.Err.Error(), "tick_budget") || len(to.Calls) != 0 {
				t.Errorf("%s: %v", report.Event, report.Err)
			}
			if took := time.Since(begun); took > 55*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestSlowSourceIsHeard: where nothing is fetched after five seconds, as under `rowrelay run`, a source that takes
// longer to open and to answer is waited for, as long as its rows can be sent.
func TestSlowSourceIsHeard(t *testing.T) {
	for rows, want := range map[int]poller.Event{3: poller.TickComplete, 0: poller.FetchEmpty} {
		synctest.Test(t, func(t *testing.T) {
			feed, to := pollertest.NewTable(rows, 3), pollertest.NewSink(t, nil)
			feed.OpenTakes, feed.FetchTakes = 8*time.Second, 12*time.Second
			begun := time.Now()
			report := pollertest.Relay(t, feed, to, func(c *poller.Config) {
				c.Budget, c.Linger, c.PollInterval = 5*time.Second, 50*time.Second, 100*time.Millisecond
			}).Tick(t.Context())
			if report.Event != want || feed.Position != rows || len(feed.Fetches) != 1 {
				t.Errorf("%s: %v, position %d after %d fetches", report.Event, report.Err, feed.Position, len(feed.Fetches))
			}
			if took := time.Since(begun); took > 21*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestOutputThatNamesWrongEventsVouchesForNothing: none of its events is acknowledged.
func TestOutputThatNamesWrongEventsVouchesForNothing(t *testing.T) {
	for _, failed := range [][]poller.FailedEvent{
		{{Index: 2}, {Index: 99}}, {{Index: 2}, {Index: 1}}, {{Index: -1}}, nil,
	} {
		t.Run(fmt.Sprint(failed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := pollertest.NewTable(3, 3)
				to := pollertest.Func(func(context.Context, change.Delivery) error {
					return &poller.DeliveryError{Failed: failed, Err: errors.New("confused")}
				})
				report := pollertest.Relay(t, feed, to).Tick(t.Context())
				if report.Event != poller.HandlerFailed || feed.Position != 0 {
					t.Errorf("%s: position %d", report.Event, feed.Position)
				}
			})
		})
	}
}

// TestHangingTickIsPointedOut: the ticks that it keeps out say so, once it has outlived every bound.
func TestHangingTickIsPointedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		// The output ignores its context.
		to := pollertest.NewSink(t, func(context.Context, change.Delivery) error { <-release; return nil })
		p := poller.New(pollertest.Relay(t, pollertest.NewTable(1, 1), to))
		done := make(chan []poller.Report)
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
