//go:build unix

package main

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// BenchmarkDrain relays a table to an HTTP receiver, beside a bare loop that reads the same pages and posts bodies of
// the same format and size, under headers of the same names and sizes, in as many lanes. The two take turns, five
// times; relay/bare is the median of the five ratios of their speeds, lowest and highest their spread, and
// cpu-relay/bare the median ratio of the processor time of this process, which depends less on what else the machine
// does. The table is warm, the connections are open, the position is the beginning.
//
//	make bench BENCH=Drain                      ROWRELAY_BENCH_ROWS, ROWRELAY_BENCH_TURNS
//
// The state is kept in a file, and once in a blob of the emulator. The last one, plain, is the bare loop with nothing
// but the body: what the headers cost.
func BenchmarkDrain(b *testing.B) {
	rows := benchSize(b, "ROWRELAY_BENCH_ROWS", 100_000)
	file := benchSettings{"state__kind": "file"}
	b.Run("postgres", func(b *testing.B) {
		url := testenv.Postgres(b)
		benchPostgres(b, url, rows)
		for _, batch := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("file/batch=%d", batch), func(b *testing.B) {
				benchDrain(b, url, file, newBarePostgres(b, url), rows, batch, true)
			})
		}
		b.Run("blob/batch=100", func(b *testing.B) {
			benchDrain(b, url, benchSettings{
				"state__kind": "blob", "AzureWebJobsStorage": testenv.Azurite(b), "state__create": "true",
				"state__container": "bench-" + strings.ToLower(rand.Text()[:12]),
			}, newBarePostgres(b, url), rows, 100, true)
		})
		b.Run("plain/batch=1", func(b *testing.B) { benchDrain(b, url, file, newBarePostgres(b, url), rows, 1, false) })
	})
	b.Run("sqlite", func(b *testing.B) {
		url := testenv.SQLite(b)
		benchSQLite(b, url, rows)
		for _, batch := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("file/batch=%d", batch), func(b *testing.B) {
				benchDrain(b, url, file, newBareSQLite(b, url), rows, batch, true)
			})
		}
	})
}

// benchDrain measures one combination.
func benchDrain(b *testing.B, url string, where benchSettings, read bareReader, rows, batch int, headers bool) {
	to := newBenchReceiver(b)
	settings := benchPoller(url, to.URL).with(benchSettings{"state__path": b.TempDir()}).with(where)
	a := benchWire(b, settings.with(benchSettings{"pollers__orders__output__batch": fmt.Sprint(batch)}))
	cfg := a.Pollers[0].Config
	loop := newBareLoop(to.URL, batch, cfg.Concurrency, cfg.BatchSize, read)
	if headers {
		loop.likeTheRelay()
	}
	var relayed, posted int64
	relay := func() benchCost {
		benchForget(b, a)
		cost := benchTime(b, "relay", func() { benchTick(b, a, rows) })
		_, relayed = to.reset()
		return cost
	}
	plain := func() benchCost {
		cost := benchTime(b, "bare", func() { loop.drain(b, rows) })
		_, posted = to.reset()
		return cost
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
