package publisher

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed"
)

// counting is a receiver that takes 5 ms for each event, and says when all have come.
type counting struct {
	left atomic.Int64
	all  chan struct{}
}

func (c *counting) Deliver(ctx context.Context, d change.Delivery) error {
	if err := clock.Sleep(ctx, 5*time.Millisecond); err != nil {
		return err
	}
	if c.left.Add(-int64(len(d.Events))) == 0 {
		c.all <- struct{}{}
	}
	return nil
}

// BenchmarkInstances is how fast one and two instances publish 40,000 events of 4,000 aggregates to a receiver that
// takes 5 ms for each, eight at a time for each instance. -benchtime 1x is enough.
func BenchmarkInstances(bm *testing.B) {
	const events = 40_000
	for _, e := range realEngines {
		if e.name == "sqlserver" {
			continue // there is none here
		}
		for _, instances := range []int{1, 2} {
			bm.Run(fmt.Sprintf("%s/%d", e.name, instances), func(bm *testing.B) {
				b := newBench(bm, e.url, func(c *Config) {
					c.Partitions, c.ClaimTTL, c.Strategy = 64, 30*time.Second, claims.Partitioned
					c.Policy = poller.Policy{MaxAttempts: 5, Delays: []time.Duration{time.Second}, Block: true}
				})
				bm.ReportMetric(float64(events*bm.N)/b.publishBy(bm, instances, events).Seconds(), "events/s")
			})
		}
	}
}

// publishBy publishes events by so many instances, and returns how long that took. Before that they share out the
// partitions, with as many events that do not count.
func (b *bench) publishBy(bm *testing.B, instances, events int) (took time.Duration) {
	to := &counting{all: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	for i := range instances {
		cfg := b.cfg.Config
		cfg.Instance = fmt.Sprint("instance", i)
		f := feed.New(cfg, b.view().session)
		f.Stay()
		relay, err := poller.NewRelay(poller.Config{
			App: "shop", Poller: "orders", Feed: f, To: to, Ordering: cfg.Ordering, Concurrency: 8,
			Fetch: poller.Limit{Rows: 500, Bytes: 8 << 20}, RequestEvents: 1, RequestBytes: 1 << 20, Size: (*change.Event).Size,
			Retries: 3, Timeout: 30 * time.Second, Budget: 5 * time.Second, // as `rowrelay run`
			PollInterval: 100 * time.Millisecond, PollIntervalMax: time.Second,
		})
		b.must(err)
		ended.Go(func() {
			for ctx.Err() == nil {
				if r := relay.Tick(ctx); r.Failed() && r.Event != poller.LeaseAcquireSkipped && ctx.Err() == nil {
					bm.Error(r.Event, r.Err)
					return
				}
			}
			b.must(f.Close())
		})
	}
	for i := range 1 + bm.N {
		to.left.Store(int64(events))
		b.exec("DELETE FROM outbox")
		begun := time.Now()
		b.fillOf(events, events/10, event.Pending)
		<-to.all
		if i > 0 {
			took += time.Since(begun)
		}
	}
	cancel()
	ended.Wait()
	return took
}
