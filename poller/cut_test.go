package poller

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/rowrelay/rowrelay/change"
)

// TestARequestThatWasCutIsNoEvidence: the destination accepts everything else, and yet the event of the request that
// we gave up is neither rejected nor repeated by this tick.
func TestARequestThatWasCutIsNoEvidence(t *testing.T) {
	for _, retries := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			feed := newParkingTable(keys(10, 10))
			cut := 0
			to := newSink(t, func(_ context.Context, d change.Delivery) error {
				if d.Events[0].ID != "3" {
					return nil
				}
				cut++
				return fmt.Errorf("%w: connection closed", ErrCut)
			})
			report := relayOf(t, feed, to, func(c *Config) {
				c.RequestEvents, c.Concurrency, c.Retries = 1, 1, retries
			}).Tick(t.Context())
			if report.Rejected != 0 || feed.position != 3 || cut != 1 || report.Failed() {
				t.Errorf("%d retries: cut %d times, position %d: %+v", retries, cut, feed.position, report)
			}
		})
	}
}
