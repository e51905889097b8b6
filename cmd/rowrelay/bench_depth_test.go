//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
)

// BenchmarkDepth fetches pages at the beginning of a large table and just before its end, in turns. end/start is the
// ratio of the medians: keyset paging makes it 1, an OFFSET would make it thousands.
//
//	make bench BENCH=Depth                      ROWRELAY_BENCH_SQLITE_ROWS, ROWRELAY_BENCH_POSTGRES_ROWS
func BenchmarkDepth(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		rows := benchSize(b, "ROWRELAY_BENCH_SQLITE_ROWS", 5_000_000)
		url := testenv.SQLite(b)
		benchSQLite(b, url, rows)
		benchDepth(b, url, rows, "2006-01-02 15:04:05")
	})
	b.Run("postgres", func(b *testing.B) {
		rows := benchSize(b, "ROWRELAY_BENCH_POSTGRES_ROWS", 1_000_000)
		url := testenv.Postgres(b)
		benchPostgres(b, url, rows)
		benchDepth(b, url, rows, "2006-01-02T15:04:05Z")
	})
}

func benchDepth(b *testing.B, url string, rows int, layout string) {
	const pages = 200
	w := benchWire(b, benchPoller(url, "http://127.0.0.1:1/").with(benchSettings{"state__kind": "memory"})).Pollers[0]
	limit := poller.Limit{Rows: w.Config.BatchSize, Bytes: w.Config.BatchBytes}
	if rows < 2*pages*limit.Rows {
		b.Fatalf("%d rows have no two ends: give at least %d", rows, 2*pages*limit.Rows)
	}
	fetch := func(after change.Cursor) (change.Cursor, time.Duration) {
		begun := time.Now()
		page, err := w.Source.Fetch(b.Context(), change.Range{After: after}, limit)
		took := time.Since(begun)
		if err != nil || len(page.Events) != limit.Rows {
			b.Fatalf("%d rows after %s: %v", len(page.Events), after, err)
		}
		return page.Events[limit.Rows-1].Cursor, took
	}
	first, _ := fetch(nil)
	var start, end []float64
	for b.Loop() {
		near, far := first, cursorAt(b, first, rows-(pages+2)*limit.Rows, layout)
		far, _ = fetch(far) // reads the upper pages of the index
		for range pages {
			var took time.Duration
			near, took = fetch(near)
			start = append(start, took.Seconds())
			far, took = fetch(far)
			end = append(end, took.Seconds())
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(end)/median(start), "end/start")
	b.ReportMetric(median(end)*1000, "ms/page")
}

// cursorAt is the position after the row with the id, in a table of benchSQLite or benchPostgres, after the model of
// another.
func cursorAt(b *testing.B, model change.Cursor, id int, layout string) change.Cursor {
	b.Helper()
	var c struct{ Kind string }
	if err := json.Unmarshal(model, &c); err != nil {
		b.Fatal(err)
	}
	at := time.Date(2026, 4, 7, 0, 0, id/10, 0, time.UTC).Format(layout)
	return change.Cursor(fmt.Sprintf(`{"kind":%q,"value":%q,"tiebreaker":{"id":%d}}`, c.Kind, at, id))
}
