//go:build unix

package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// BenchmarkDrain relays a table to an HTTP receiver, beside a bare loop that reads the same pages and posts bodies of the
// same format and size in as many lanes. The two take turns, five times; relay/bare is the median of the five ratios of
// their speeds, lowest and highest its spread. The table is warm, the connections are open, the position is the beginning.
//
//	make bench BENCH=Drain                      ROWRELAY_BENCH_ROWS, ROWRELAY_BENCH_TURNS
func BenchmarkDrain(b *testing.B) {
	rows := benchSize(b, "ROWRELAY_BENCH_ROWS", 100_000)
	for _, engine := range []string{"postgres", "sqlite"} {
		b.Run(engine, func(b *testing.B) {
			var url string
			var bare func(b *testing.B, url string) bareReader
			if engine == "postgres" {
				url, bare = testenv.Postgres(b), newBarePostgres
				benchPostgres(b, url, rows)
			} else {
				url, bare = testenv.SQLite(b), newBareSQLite
				benchSQLite(b, url, rows)
			}
			for _, batch := range []int{1, 10, 100} {
				b.Run(fmt.Sprintf("file/batch=%d", batch), func(b *testing.B) {
					dir := b.TempDir()
					state := benchSettings{"state__kind": "file", "state__path": dir}
					forget := func() {
						if err := os.RemoveAll(dir); err != nil {
							b.Fatal(err)
						}
					}
					benchDrain(b, url, state, forget, bare(b, url), rows, batch)
				})
			}
		})
	}
}

// benchDrain measures one combination. forget removes the state document.
func benchDrain(b *testing.B, url string, state benchSettings, forget func(), read bareReader, rows, batch int) {
	to := newBenchReceiver(b)
	settings := benchPoller(url, to.URL).with(state).with(benchSettings{"pollers__orders__output__batch": fmt.Sprint(batch)})
	w := benchWire(b, settings)
	loop := newBareLoop(to.URL, batch, w.cfg.Concurrency, w.cfg.BatchSize, read)
	loop.likeTheRelay()
	var relayed, posted int64
	relay := func() benchCost {
		forget()
		took := benchTime(b, "relay", func() { benchTick(b, w, rows) })
		_, relayed = to.reset()
		return took
	}
	plain := func() benchCost {
		took := benchTime(b, "bare", func() { loop.drain(b, rows) })
		_, posted = to.reset()
		return took
	}
	relay() // reads the catalog, prepares statements, warms both caches
	plain()
	if d := float64(relayed) / float64(posted); d < 0.97 || d > 1.03 {
		b.Fatalf("the relay sent %d bytes, the bare loop %d: they must be alike", relayed, posted)
	}
	turns := benchSize(b, "ROWRELAY_BENCH_TURNS", 5)
	var ratios, cpu, speeds []float64
	for b.Loop() {
		for turn := range turns {
			var r, p benchCost
			if turn%2 == 0 {
				r, p = relay(), plain()
			} else {
				p, r = plain(), relay()
			}
			ratios = append(ratios, p.wall.Seconds()/r.wall.Seconds())
			cpu = append(cpu, p.cpu.Seconds()/r.cpu.Seconds())
			speeds = append(speeds, float64(rows)/r.wall.Seconds())
		}
	}
	b.ReportMetric(0, "ns/op") // says nothing here
	b.ReportMetric(median(ratios), "relay/bare")
	b.ReportMetric(ratios[0], "lowest")
	b.ReportMetric(ratios[len(ratios)-1], "highest")
	b.ReportMetric(median(cpu), "cpu-relay/bare")
	b.ReportMetric(median(speeds), "rows/s")
}
