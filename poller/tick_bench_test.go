package poller_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

func accept(context.Context, change.Delivery) error { return nil }

// BenchmarkTick is what a tick itself costs for each event, where nothing fails: no source, no destination.
func BenchmarkTick(b *testing.B) {
	page := make([]change.Event, 500)
	for i := range page {
		key := fmt.Appendf(nil, `{"id":%d}`, i)
		page[i] = change.Event{ID: fmt.Sprint(i), Key: key, OrderKey: key, Row: key, Cursor: pollertest.Position(i + 1)}
	}
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			feed := &pollertest.Pages{}
			for left := b.N; left > 0; left -= len(page) {
				feed.Batches = append(feed.Batches, page[:min(left, len(page))])
			}
			relay := pollertest.Relay(b, feed, pollertest.Func(accept), func(c *poller.Config) {
				c.Fetch, c.RequestEvents = poller.Limit{Rows: len(page), Bytes: 8 << 20}, size
				c.Timeout, c.Budget = time.Minute, time.Hour
			})
			b.ReportAllocs()
			b.ResetTimer()
			if report := relay.Tick(b.Context()); report.Rows != b.N {
				b.Fatalf("%+v", report)
			}
		})
	}
}
