package poller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// endless is a feed over one page of rows that it hands out again and again.
type endless struct {
	page  []change.Event
	left  int
	right context.Context
}

func (f *endless) Open(context.Context) (Session, error) { return f, nil }

func (f *endless) Next(context.Context, Limit) (Grant, error) {
	n := min(f.left, len(f.page))
	f.left -= n
	return Grant{Batch: change.Batch{ID: "batch", Events: f.page[:n], More: f.left > 0}, Right: f.right,
		Check: func() error { return nil }}, nil
}

func (f *endless) Parked([]byte) bool { return false }

func (f *endless) Other(context.Context, [][]byte) (Grant, error) { return Grant{}, nil }

func (f *endless) Settle(_ context.Context, s Settlement) (n int, err error) {
	for _, b := range s.Batches {
		n += len(b.Outcomes)
	}
	return n, nil
}

func (f *endless) Close(context.Context, *Report) error { return nil }

// BenchmarkTick is what a tick itself costs for each event, where nothing fails: no source, no destination.
func BenchmarkTick(b *testing.B) {
	page := make([]change.Event, 500)
	for i := range page {
		key := fmt.Appendf(nil, `{"id":%d}`, i)
		page[i] = change.Event{ID: fmt.Sprint(i), Key: key, OrderKey: key, Row: key, Cursor: position(i + 1)}
	}
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			feed := &endless{page: page, left: b.N, right: b.Context()}
			relay, err := NewRelay(Config{
				Feed: feed, To: outputFunc(func(context.Context, change.Delivery) error { return nil }), Ordering: OrderKey,
				Concurrency: 4,
				Fetch:       Limit{Rows: 500, Bytes: 8 << 20}, RequestEvents: size, RequestBytes: 1 << 20, Size: sizeOf, Retries: 3,
				Timeout: time.Minute, Budget: time.Hour,
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if report := relay.Tick(b.Context()); report.Rows != b.N {
				b.Fatalf("%+v", report)
			}
		})
	}
}
