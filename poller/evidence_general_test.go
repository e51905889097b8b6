package poller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestAnAlarmCountsForNobody: a broker whose memory alarm comes and goes takes nothing from anybody meanwhile. An event
// that waits for room in its queue, and is tried again and again, is no nearer to its last attempt for that.
func TestAnAlarmCountsForNobody(t *testing.T) {
	for period := 500 * time.Millisecond; period < 6*time.Second; period += 500 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			to := pollertest.NewSink(t, nil)
			to.Answer = func(ctx context.Context, d change.Delivery) error {
				time.Sleep(20 * time.Millisecond)
				said := &poller.DeliveryError{Err: errors.New("the broker has an alarm")}
				alarm := time.Since(begun)/period%2 == 1
				for i, e := range d.Events {
					switch {
					case alarm:
						said.Failed = append(said.Failed, poller.FailedEvent{Index: i, General: true})
					case string(e.OrderKey) == `"full"`:
						said.Failed = append(said.Failed, poller.FailedEvent{Index: i, Cause: poller.Misplaced, Named: true})
					}
				}
				if len(said.Failed) == 0 {
					return nil
				}
				return said
			}
			feed := pollertest.TableOf("full")
			feed.MaxAttempts = 3
			relay := pollertest.Relay(t, feed, to, pollertest.Hundred, func(c *poller.Config) { c.Budget = 5 * time.Second })
			for n := range 600 {
				to.Lock()
				feed.Rows = append(feed.Rows, fmt.Sprint(n))
				to.Unlock()
				relay.Tick(t.Context())
				time.Sleep(200 * time.Millisecond)
			}
			if e := feed.Parked[`"full"`]; e == nil || e.Attempts != 1 || len(feed.Dead) > 0 {
				t.Errorf("an alarm each %s: given up %v, parked %+v", 2*period, feed.Dead, e)
			}
			if feed.Position < 100 {
				t.Errorf("an alarm each %s: the position is %d", 2*period, feed.Position)
			}
		})
	}
}

// TestNoAnswerOnceAfterItWasSetAside: an event whose place was missing has not failed at anything yet. No answer to its
// retry, once, between two acceptances, is no more than to an event that comes for the first time.
func TestNoAnswerOnceAfterItWasSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		to := pollertest.NewSink(t, nil)
		to.Answer = func(_ context.Context, d change.Delivery) error {
			to.Lock()
			defer to.Unlock()
			said := &poller.DeliveryError{Err: errors.New("a cut connection, and then a full queue")}
			for i, e := range d.Events {
				if string(e.OrderKey) != `"full"` {
					continue
				}
				sent++
				f := poller.FailedEvent{Index: i, Cause: poller.Misplaced, Named: true}
				if sent == 2 {
					f = poller.FailedEvent{Index: i}
				}
				said.Failed = append(said.Failed, f)
			}
			if len(said.Failed) == 0 {
				return nil
			}
			return said
		}
		feed := pollertest.TableOf("full")
		relay := pollertest.Relay(t, feed, to, func(c *poller.Config) { c.Retries, c.RequestEvents = 1, 1 })
		for n := range 20 {
			feed.Rows = append(feed.Rows, fmt.Sprint(n), fmt.Sprint(n, "b"))
			relay.Tick(t.Context())
			time.Sleep(time.Second)
		}
		if e := feed.Parked[`"full"`]; sent < 5 || e == nil || e.Attempts != 1 {
			t.Errorf("it was sent %d times, and is parked with %+v", sent, e)
		}
	})
}
