package poller_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestRequestsAreFilled: where an order key has many rows of a page, requests are filled with those of the next page,
// and, by setting, with several of one key.
func TestRequestsAreFilled(t *testing.T) {
	for _, c := range []struct {
		name     string
		keys     int
		several  bool
		page     int
		requests int // at most; without what the case is about they were 140, 100 and 700
	}{
		{"seven keys, one event each", 7, false, 10, 120},
		{"seven keys, several events", 7, true, 100, 36},
		{"one key, several events", 1, true, 100, 36},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := pollertest.NewTable(700, c.keys)
				to := pollertest.NewSink(t, nil)
				to.Several = c.several
				report := pollertest.Relay(t, feed, to, func(cfg *poller.Config) {
					cfg.Several, cfg.Fetch.Rows, cfg.RequestEvents, cfg.Concurrency = c.several, c.page, 20, 1
				}).Tick(t.Context())
				if report.Event != poller.TickComplete || report.Rows != 700 || len(to.Calls) > c.requests {
					t.Errorf("%s, %d rows, %d requests, want %d at most", report.Event, report.Rows, len(to.Calls), c.requests)
				}
				pollertest.CheckOrder(t, feed.Rows, to.Order)
			})
		})
	}
}

// TestSeveralAfterAFailure: of a key whose second event is named as failed, the first is done, and what follows the
// second comes again, after it. Other keys of the request are not touched.
func TestSeveralAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(0, 1)
		feed.Rows = []string{"a", "a", "a", "a", "b", "b"}
		named := false
		to := pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
			if i := slices.IndexFunc(d.Events, func(e change.Event) bool { return e.ID == "1" }); !named && i >= 0 {
				named = true
				return pollertest.Named(i)
			}
			return nil
		})
		to.Several = true
		report := pollertest.Relay(t, feed, to, func(cfg *poller.Config) {
			cfg.Several, cfg.RequestEvents, cfg.Retries = true, 20, 3
		}).Tick(t.Context())
		if report.Event != poller.TickComplete || report.Rows != 6 || !slices.Equal(to.Order, []string{"0", "4", "5", "1", "2", "3"}) {
			t.Errorf("%s, %d rows, accepted %v", report.Event, report.Rows, to.Order)
		}
		for id, n := range to.Accepted {
			if n != 1 {
				t.Errorf("event %s was accepted %d times", id, n)
			}
		}
	})
}
