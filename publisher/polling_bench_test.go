package publisher

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// BenchmarkPolling is what a poll that finds nothing costs beside millions of published events, relative to an empty
// table: both in turns, as the ratio of the medians. ROWRELAY_BENCH_PUBLISHED says how many (5,000,000).
func BenchmarkPolling(bm *testing.B) {
	published := 5_000_000
	if text := os.Getenv("ROWRELAY_BENCH_PUBLISHED"); text != "" {
		var err error
		if published, err = strconv.Atoi(text); err != nil {
			bm.Fatalf("ROWRELAY_BENCH_PUBLISHED: %v", err)
		}
	}
	for _, e := range realEngines {
		if e.name == "sqlserver" {
			continue // there is none here
		}
		bm.Run(e.name, func(bm *testing.B) {
			full, empty := newBench(bm, e.url), newBench(bm, e.url)
			full.fillAs(published, event.Published)
			switch e.name {
			case "postgres":
				full.exec("VACUUM ANALYZE outbox")
			case "mysql":
				full.exec("ANALYZE TABLE outbox")
			}
			for name, poll := range map[string]func(*bench) error{
				"fetch by seq": func(b *bench) error {
					_, _, err := b.rows.Fetch(bm.Context(), []claims.Range{{From: 0, To: claims.Buckets}},
						true, poller.Limit{Rows: 500, Bytes: 8 << 20})
					return err
				},
				"fetch one partition": func(b *bench) error {
					_, _, err := b.rows.Fetch(bm.Context(), []claims.Range{{From: 16, To: 32}},
						false, poller.Limit{Rows: 500, Bytes: 8 << 20})
					return err
				},
				"look": func(b *bench) error { _, err := b.rows.Look(bm.Context()); return err },
			} {
				bm.Run(name, func(bm *testing.B) {
					times := [2][]time.Duration{}
					for bm.Loop() {
						for i, b := range []*bench{empty, full} {
							begun := time.Now()
							if err := poll(b); err != nil {
								bm.Fatal(err)
							}
							times[i] = append(times[i], time.Since(begun))
						}
					}
					for i := range times {
						slices.Sort(times[i])
					}
					n := len(times[0]) / 2
					bm.ReportMetric(float64(times[1][n])/float64(times[0][n]), "full/empty")
					bm.ReportMetric(float64(times[0][n].Microseconds()), "empty-µs")
				})
			}
		})
	}
}
