package poller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestWhole: where a batch is settled as a whole, an event that failed is rejected at once, whatever the answer was: no
// part of the batch is sent again to find out whose fault it is, and there are no probes.
func TestWhole(t *testing.T) {
	for name, answer := range map[string]error{
		"refused": poller.FailAll(10, poller.Refused, 422, errors.New("bad")),
		"down":    poller.FailAll(10, poller.Unavailable, 503, errors.New("down")),
		"nothing": errors.New("connection refused"),
	} {
		synctest.Test(t, func(t *testing.T) {
			feed := pollertest.NewTable(10, 10)
			requests := 0
			to := pollertest.Func(func(context.Context, change.Delivery) error {
				requests++
				return answer
			})
			report := pollertest.Relay(t, feed, to, func(c *poller.Config) {
				c.Whole, c.Concurrency, c.RequestEvents, c.Retries = true, 1, 10, 1
			}).Tick(t.Context())
			if requests != 1 || report.Rejected != 10 {
				t.Errorf("%s: %d requests, %d rejected: %+v", name, requests, report.Rejected, report)
			}
		})
	}
}
