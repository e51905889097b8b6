//go:build unix

package main

import (
	"fmt"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/wiring"
)

// BenchmarkLateCommits drains one table in each mode of source__late_commits, in turns, and reports the speed of each
// beside that of none: what a safe point costs. The rows of the table are old: nothing is held back.
//
//	make bench BENCH=LateCommits                ROWRELAY_BENCH_ROWS, ROWRELAY_BENCH_TURNS
func BenchmarkLateCommits(b *testing.B) {
	rows := benchSize(b, "ROWRELAY_BENCH_ROWS", 100_000)
	b.Run("postgres", func(b *testing.B) {
		url := testenv.Postgres(b)
		benchPostgres(b, url, rows)
		benchTable(b, "pgx", url, `ALTER TABLE orders ADD COLUMN tx xid8 NOT NULL DEFAULT pg_current_xact_id()`,
			`CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.tx := pg_current_xact_id(); RETURN NEW; END'`,
			`CREATE TRIGGER touch BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION touch()`,
			`CREATE INDEX orders_tx ON orders (tx, id)`, `VACUUM ANALYZE orders`)
		b.Run("own_key", func(b *testing.B) { // one that runs others reports nothing of its own
			benchModes(b, url, rows, "", map[string]string{"overlap": "updated_at", "exact": "tx"})
		})
		b.Run("shared_key", func(b *testing.B) {
			benchModes(b, url, rows, "customer_id", map[string]string{"overlap": "updated_at"})
		})
	})
	b.Run("mariadb", func(b *testing.B) {
		url := testenv.MySQL(b)
		benchMySQL(b, url, rows)
		benchModes(b, url, rows, "", map[string]string{"overlap": "updated_at"})
	})
	b.Run("sqlite", func(b *testing.B) {
		url := testenv.SQLite(b)
		benchSQLite(b, url, rows)
		benchModes(b, url, rows, "", map[string]string{"overlap": "updated_at"})
	})
}

// benchModes measures modes, each with its cursor, beside none; orderKey is "" for the row's own key.
func benchModes(b *testing.B, url string, rows int, orderKey string, cursors map[string]string) {
	to := newBenchReceiver(b)
	open := func(mode, cursor string) *wiring.App {
		return benchWire(b, benchPoller(url, to.URL).with(benchSettings{
			"state__kind": "file", "state__path": b.TempDir(), "pollers__orders__source__late_commits": mode,
			"pollers__orders__source__cursor":    cursor,
			"pollers__orders__source__columns":   "id,customer_id,amount,status,note,updated_at",
			"pollers__orders__source__order_key": orderKey,
		}))
	}
	none, modes := open("none", "updated_at"), map[string]*wiring.App{}
	for mode, cursor := range cursors {
		modes[mode] = open(mode, cursor)
	}
	drain := func(a *wiring.App) float64 {
		benchForget(b, a)
		return benchTime(b, "relay", func() { benchTick(b, a, rows) }).wall.Seconds()
	}
	drain(none)
	for _, a := range modes {
		drain(a)
	}
	turns := benchSize(b, "ROWRELAY_BENCH_TURNS", 5)
	ratios := map[string][]float64{}
	for b.Loop() {
		for turn := range turns {
			for mode, a := range modes {
				var with, without float64
				if turn%2 == 0 {
					with, without = drain(a), drain(none)
				} else {
					without, with = drain(none), drain(a)
				}
				ratios[mode] = append(ratios[mode], without/with)
			}
		}
	}
	b.ReportMetric(0, "ns/op") // says nothing here
	for mode, r := range ratios {
		b.ReportMetric(median(r), fmt.Sprintf("%s/none", mode))
	}
}
