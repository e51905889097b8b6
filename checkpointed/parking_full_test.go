package checkpointed

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestFollowersComeBeforeLiveRows: at max_parked, behind one row that was refused and is taken at last, what waits
// comes with the next tick, and with it what comes after.
func TestFollowersComeBeforeLiveRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rows = 300
		shop := newShop()
		shop.describe.Coarse = true
		shop.add(slices.Repeat([]string{"busy"}, rows)...)
		refuses, came := true, map[int]bool{}
		sink := refusesFirst(t, &refuses, came)
		p := newProcess(t, nil, shop, func(c *Config) { c.Policy.MaxParked = 100 })
		relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) {
			c.Concurrency, c.Fetch.Rows, c.RequestEvents, c.RejectStatus = 1, 40, 1, []int{422}
		})
		for range 3 {
			if r := relay.Tick(t.Context()); r.Failed() {
				break // it is full
			}
		}
		if len(came) > 0 {
			t.Fatalf("%d rows passed the one that was refused", len(came))
		}
		refuses = false
		time.Sleep(time.Minute)
		for range 4 {
			relay.Tick(t.Context())
		}
		if len(came) != rows {
			t.Errorf("%d of %d rows came", len(came), rows)
		}
	})
}
