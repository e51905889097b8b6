package poller_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestARequestThatWasCutIsNoEvidence: the destination accepts everything else, and yet the event of the request that
// we gave up is neither rejected nor repeated by this tick.
func TestARequestThatWasCutIsNoEvidence(t *testing.T) {
	for _, retries := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			feed := pollertest.NewTable(10, 10)
			cut := 0
			to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
				if d.Events[0].ID != "3" {
					return nil
				}
				cut++
				return fmt.Errorf("%w: connection closed", poller.ErrCut)
			})
			report := pollertest.Relay(t, feed, to, func(c *poller.Config) {
				c.RequestEvents, c.Concurrency, c.Retries = 1, 1, retries
			}).Tick(t.Context())
			if report.Rejected != 0 || feed.Position != 3 || cut != 1 || report.Failed() {
				t.Errorf("%d retries: cut %d times, position %d: %+v", retries, cut, feed.Position, report)
			}
		})
	}
}
