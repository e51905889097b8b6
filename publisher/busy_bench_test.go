package publisher

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed"
)

// arrivals is a receiver that takes 50 ms, and notes when each event of another aggregate than O/0 came first.
type arrivals struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (a *arrivals) Deliver(ctx context.Context, d change.Delivery) error {
	if err := clock.Sleep(ctx, 50*time.Millisecond); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range d.Events {
		if key := string(e.Outbox.Payload); e.Outbox.AggregateID != "0" && a.at[key].IsZero() {
			a.at[key] = time.Now()
		}
	}
	return nil
}

// BenchmarkBusyAggregate is how long ten events a second of other aggregates take from their commit to the receiver's
// answer: with nothing else in the outbox, and beside a backlog of one aggregate, in whose bucket neighbours are. ROWRELAY_BENCH_BACKLOG says of how
// many events (100,000), -benchtime 200x how many others come.
func BenchmarkBusyAggregate(bm *testing.B) {
	backlog := 100_000
	if text := os.Getenv("ROWRELAY_BENCH_BACKLOG"); text != "" {
		var err error
		if backlog, err = strconv.Atoi(text); err != nil {
			bm.Fatalf("ROWRELAY_BENCH_BACKLOG: %v", err)
		}
	}
	for _, e := range realEngines {
		if e.name == "sqlserver" {
			continue // there is none here
		}
		for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked, "mapped", "neighbours"} {
			for _, n := range []int{0, backlog} {
				bm.Run(fmt.Sprintf("%s/%s/%d", e.name, strategy, n), func(bm *testing.B) {
					b := newBench(bm, e.url, func(c *Config) {
						c.Partitions, c.ClaimTTL, c.Instance = 64, 30*time.Second, "one"
						if c.Strategy = strategy; strategy == "mapped" || strategy == "neighbours" {
							c.Strategy = claims.Leader
						}
						c.Policy = poller.Policy{MaxAttempts: 5, Delays: []time.Duration{time.Second}, Block: true}
					})
					if strategy == "mapped" { // as if the table were somebody else's
						b.cfg.Map = map[string]string{"id": b.texts.rows.Seq(), "state": "state", "pending": "PENDING",
							"done": "PUBLISHED", "published": "none"}
						statements, err := MappedDDL(b.conn.Engine, b.cfg.Table, b.cfg.ClaimsTable)
						b.must(err)
						for _, s := range statements {
							b.exec(s)
						}
					}
					others := make([]string, 50)
					for i := range others {
						others[i] = fmt.Sprint(1 + i)
					}
					if strategy == "neighbours" {
						others = b.neighbours()
					}
					if n > 0 && bm.N > 1 {
						b.fillOf(n, 1, event.Pending)
						b.exec("ANALYZE " + map[string]string{"mysql": "TABLE "}[b.conn.Engine] + "outbox") // as it would be soon
					}
					b.latencies(bm, others)
				})
			}
		}
	}
}

// neighbours are the ids of aggregates in the bucket of O/0.
func (b *bench) neighbours() (ids []string) {
	b.tb.Helper()
	b.fillOf(60_000, 60_000, event.Published)
	rows, err := b.raw.QueryContext(b.tb.Context(), "SELECT o.aggregate_id FROM outbox o JOIN outbox z ON z.bucket = o.bucket "+
		"WHERE z.aggregate_id = '0' AND o.aggregate_id <> '0'")
	b.must(err)
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		var id string
		b.must(rows.Scan(&id))
		ids = append(ids, id)
	}
	b.must(rows.Err())
	b.exec("DELETE FROM outbox")
	return ids
}

// latencies publishes while others write, and reports how long that took.
func (b *bench) latencies(bm *testing.B, others []string) {
	to := &arrivals{at: map[string]time.Time{}}
	f := feed.New(b.cfg.Config, b.view().session)
	f.Stay()
	relay, err := poller.NewRelay(poller.Config{
		App: "shop", Poller: "orders", Feed: f, To: to, Ordering: b.cfg.Ordering, Concurrency: 8,
		Fetch: poller.Limit{Rows: 500, Bytes: 8 << 20}, RequestEvents: 1, RequestBytes: 1 << 20, Size: (*change.Event).Size,
		Retries: 3, Timeout: 30 * time.Second, Budget: 5 * time.Second, // as `rowrelay run`
		PollInterval: 100 * time.Millisecond, PollIntervalMax: time.Second,
	})
	b.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if r := relay.Tick(ctx); r.Failed() && ctx.Err() == nil {
				bm.Error(r.Event, r.Err)
				return
			}
		}
	}()
	written := map[string]time.Time{}
	for i := range bm.N {
		b.must(clock.Sleep(ctx, 100*time.Millisecond))
		key := fmt.Sprintf(`{"other":%d}`, i)
		b.insert(b.raw, event.Aggregate{Type: "O", ID: others[i%len(others)]}, key)
		written[key] = time.Now()
	}
	b.must(clock.Sleep(ctx, 3*time.Second))
	cancel()
	<-ended
	b.must(f.Close())
	took, lost := make([]float64, 0, len(written)), 0.0
	for key, at := range written {
		if to.at[key].IsZero() {
			lost++
			continue
		}
		took = append(took, float64(to.at[key].Sub(at).Milliseconds()))
	}
	slices.Sort(took)
	if len(took) > 0 {
		bm.ReportMetric(took[len(took)/2], "p50-ms")
		bm.ReportMetric(took[len(took)*99/100], "p99-ms")
	}
	bm.ReportMetric(lost, "late")
}
