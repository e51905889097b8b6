//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql" // database/sql driver "mysql"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/tracking"
	"github.com/rowrelay/rowrelay/wiring"
)

// BenchmarkTracked drains the changes of a table, and the same rows in cursor mode, in turns, and reports the speed of
// the first beside the second: with late commits not looked for (none), and as the engine finds them by default.
//
//	make bench BENCH=Tracked                    ROWRELAY_BENCH_ROWS, ROWRELAY_BENCH_TURNS
func BenchmarkTracked(b *testing.B) {
	rows := benchSize(b, "ROWRELAY_BENCH_ROWS", 100_000)
	none := benchSettings{"pollers__orders__source__late_commits": "none"}
	b.Run("postgres", func(b *testing.B) {
		url := testenv.Postgres(b)
		benchPostgres(b, url, rows)
		benchTable(b, "pgx", url, `ALTER TABLE orders ADD COLUMN tx xid8 NOT NULL DEFAULT pg_current_xact_id()`)
		benchTracked(b, url, "pgx", url, rows, map[string]benchSettings{"none": none,
			"overlap": {"pollers__orders__source__late_commits": "overlap"},
			"exact":   {"pollers__orders__source__late_commits": "exact", "pollers__orders__source__cursor": "tx"}},
			"UPDATE orders SET tx = pg_current_xact_id() WHERE id > %d AND id <= %d",
			`CREATE INDEX orders_tx ON orders (tx, id)`, `VACUUM FULL ANALYZE orders`, `VACUUM ANALYZE`)
	})
	b.Run("mysql", func(b *testing.B) {
		url := testenv.MySQL(b)
		benchMySQL(b, url, rows)
		benchTracked(b, url, "mysql", testenv.MySQLDSN(b, url), rows, map[string]benchSettings{"none": none,
			"overlap": {"pollers__orders__source__late_commits": "overlap"}},
			"UPDATE orders SET status = 'sent' WHERE id > %d AND id <= %d",
			// As old as the table's rows: what is younger than source__late_window is read a second time, for late commits.
			"UPDATE rowrelay_changes_orders SET rowrelay_version = rowrelay_version - INTERVAL 1 DAY",
			"UPDATE rowrelay_changes_orders_state SET rowrelay_floor = rowrelay_floor - INTERVAL 2 DAY",
			"ANALYZE TABLE orders, rowrelay_changes_orders")
	})
	b.Run("sqlite", func(b *testing.B) {
		url := testenv.SQLite(b)
		benchSQLite(b, url, rows)
		benchTracked(b, url, "sqlite", strings.TrimPrefix(url, "sqlite:"), rows, map[string]benchSettings{"none": none},
			"UPDATE orders SET status = 'sent' WHERE id > %d AND id <= %d", "ANALYZE")
	})
}

// ofChanges are the settings of a poller that reads the changes.
var ofChanges = benchSettings{"pollers__orders__source__mode": "changetracking", "pollers__orders__source__cursor": ""}

// benchChanges makes a change table, and in it a change of each row, by an update of ranges.
func benchChanges(b *testing.B, url, driver, dsn string, rows int, update string, after ...string) {
	b.Helper()
	conn, err := engines.Parse(url)
	if err != nil {
		b.Fatal(err)
	}
	work, err := tracking.Install(b.Context(), conn, "orders", "", "orders", tracking.Writes{})
	if err != nil {
		b.Fatal(err)
	}
	statements := work.Statements
	for n := 0; n < rows; n += 100 {
		statements = append(statements, fmt.Sprintf(update, n, n+100))
	}
	benchTable(b, driver, dsn, append(statements, after...)...)
}

// BenchmarkMemoryOfChanges is the peak memory of a process that drains the changes of a table, and of one with ten
// times as many.
//
//	make bench BENCH=MemoryOfChanges            ROWRELAY_BENCH_ROWS, ROWRELAY_BENCH_TURNS
func BenchmarkMemoryOfChanges(b *testing.B) {
	rows, turns := benchSize(b, "ROWRELAY_BENCH_ROWS", 100_000), benchSize(b, "ROWRELAY_BENCH_TURNS", 3)
	program := benchBinary(b)
	const update = "UPDATE orders SET status = 'sent' WHERE id > %d AND id <= %d"
	for name, made := range map[string]func(b *testing.B, rows int) string{
		"postgres": func(b *testing.B, rows int) string {
			url := testenv.Postgres(b)
			benchPostgres(b, url, rows)
			benchChanges(b, url, "pgx", url, rows, update, "VACUUM ANALYZE")
			return url
		},
		"sqlite": func(b *testing.B, rows int) string {
			url := testenv.SQLite(b)
			benchSQLite(b, url, rows)
			benchChanges(b, url, "sqlite", strings.TrimPrefix(url, "sqlite:"), rows, update, "ANALYZE")
			return url
		},
	} {
		b.Run(name, func(b *testing.B) {
			benchPeaks(b, program, made(b, rows), made(b, 10*rows), turns, ofChanges)
		})
	}
}

// benchTracked measures the changes that an update of ranges makes, beside modes of a cursor.
func benchTracked(b *testing.B, url, driver, dsn string, rows int, modes map[string]benchSettings, update string,
	after ...string) {
	benchChanges(b, url, driver, dsn, rows, update, after...)
	to := newBenchReceiver(b)
	open := func(mode benchSettings) *wiring.App {
		return benchWire(b, benchPoller(url, to.URL).with(benchSettings{
			"state__kind": "file", "state__path": b.TempDir(),
			"pollers__orders__source__columns": "id,customer_id,amount,status,note,updated_at",
		}).with(mode))
	}
	drain := func(a *wiring.App) float64 {
		benchForget(b, a)
		return benchTime(b, "relay", func() { benchTick(b, a, rows) }).wall.Seconds()
	}
	changes := open(ofChanges)
	drain(changes)
	cursors := map[string]*wiring.App{}
	for mode, settings := range modes {
		cursors[mode] = open(settings)
		drain(cursors[mode])
	}
	turns := benchSize(b, "ROWRELAY_BENCH_TURNS", 5)
	ratios := map[string][]float64{}
	var speeds []float64
	for b.Loop() {
		for turn := range turns {
			for mode, a := range cursors {
				var with, without float64
				if turn%2 == 0 {
					with, without = drain(changes), drain(a)
				} else {
					without, with = drain(a), drain(changes)
				}
				ratios[mode] = append(ratios[mode], without/with)
				speeds = append(speeds, float64(rows)/with)
			}
		}
	}
	b.ReportMetric(0, "ns/op") // says nothing here
	for mode, r := range ratios {
		b.ReportMetric(median(r), "changes/"+mode)
		b.ReportMetric(r[0], "lowest/"+mode)
	}
	b.ReportMetric(median(speeds), "rows/s")
}
