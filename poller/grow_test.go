package poller_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestBatchesGrow: while a destination takes batches at once, they grow up to the limit; where it is slow, or batches
// are counted, they are as large as was asked for.
func TestBatchesGrow(t *testing.T) {
	quick.Skip(t)
	for _, c := range []struct {
		name              string
		takes             time.Duration
		most, max, counts int // FetchMost, the largest fetch, MaxBatches
	}{
		{"at once", 0, 80, 80, 0},
		{"not a power of two", 0, 50, 50, 0},
		{"slow", time.Second, 80, 10, 0},
		{"not asked for", 0, 0, 10, 0},
		{"counted", 0, 80, 10, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := pollertest.NewTable(1000, 1000)
				report := pollertest.Relay(t, feed, pollertest.Slow(c.takes), func(cfg *poller.Config) {
					cfg.FetchMost, cfg.MaxBatches, cfg.Budget = c.most, c.counts, time.Hour
				}).Tick(t.Context())
				largest := 0
				for _, b := range report.Batches {
					largest = max(largest, b.Rows)
				}
				if report.Event != poller.TickComplete || report.Rows != 1000 || largest != c.max {
					t.Errorf("%s, %d rows, the largest batch has %d, want %d: %v", report.Event, report.Rows, largest, c.max,
						slices.Compact(report.Batches))
				}
			})
		})
	}
}

// TestBatchesShrink: a destination that becomes slow gets smaller batches again.
func TestBatchesShrink(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		feed := pollertest.NewTable(2000, 2000)
		n := 0
		to := pollertest.Func(func(ctx context.Context, d change.Delivery) error {
			if n++; n > 200 {
				return clock.Sleep(ctx, time.Second)
			}
			return nil
		})
		report := pollertest.Relay(t, feed, to, func(cfg *poller.Config) {
			cfg.FetchMost, cfg.Budget, cfg.Concurrency = 80, time.Hour, 1
		}).Tick(t.Context())
		if last := report.Batches[len(report.Batches)-2]; report.Rows != 2000 || last.Rows != 10 {
			t.Errorf("%d rows, the last whole batch has %d", report.Rows, last.Rows)
		}
	})
}
