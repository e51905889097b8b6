//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // database/sql driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"
	_ "modernc.org/sqlite"             // database/sql driver "sqlite"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/wiring"
)

// The benchmarks of the whole way, on real engines; docs/benchmarks.md has the figures and what they mean. `make bench`
// runs them. Machines differ and are shared: what counts is a ratio of two things that were measured in turns.

// benchSize is a number of rows, repetitions or starts, which the environment may set.
func benchSize(b *testing.B, name string, otherwise int) int {
	b.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	if err != nil || n < 1 {
		b.Fatalf("%s=%s is not a positive number", name, text)
	}
	return n
}

// benchSettings are app settings by name.
type benchSettings map[string]string

// with returns a copy with more settings.
func (s benchSettings) with(more benchSettings) benchSettings {
	merged := maps.Clone(s)
	maps.Copy(merged, more)
	return merged
}

func (s benchSettings) environ() []string {
	environ := make([]string, 0, len(s))
	for k, v := range s {
		environ = append(environ, k+"="+v)
	}
	return environ
}

// benchPoller are the settings of one poller, orders, that reads table orders at url and posts to the receiver:
// defaults everywhere, except for the budget.
func benchPoller(url, receiver string) benchSettings {
	return benchSettings{
		"DB": url, "state__app_name": "bench", "log__level": "error",
		"pollers__orders__source__connection": "DB",
		"pollers__orders__source__table":      "orders",
		"pollers__orders__source__cursor":     "updated_at",
		"pollers__orders__output__kind":       "http",
		"pollers__orders__output__url":        receiver,
		"pollers__orders__tick_budget":        "1h",
	}
}

// benchWire wires the settings as the commands do. The poller is the app's only one.
func benchWire(b *testing.B, s benchSettings) *wiring.App {
	b.Helper()
	c := &console{environ: s.environ(), out: io.Discard, err: io.Discard}
	cfg, _ := config.Load(c.environ) // its error is the faults
	a := wiring.New(cfg, c.process())
	b.Cleanup(func() { _ = a.Close() })
	if err := wiring.Refuse(cfg, a.Pollers); err != nil {
		b.Fatal(err)
	}
	return a
}

// benchReceiver takes every POST and counts.
type benchReceiver struct {
	*httptest.Server
	requests, bytes atomic.Int64
}

func newBenchReceiver(b *testing.B) *benchReceiver {
	b.Helper()
	r := &benchReceiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n, err := io.Copy(io.Discard, req.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.requests.Add(1)
		r.bytes.Add(n)
		w.WriteHeader(http.StatusNoContent)
	}))
	b.Cleanup(r.Close)
	return r
}

// reset returns the counts so far and begins anew.
func (r *benchReceiver) reset() (requests, bytes int64) { return r.requests.Swap(0), r.bytes.Swap(0) }

// benchTable opens a database and runs statements.
func benchTable(b *testing.B, driver, dsn string, statements ...string) *sql.DB {
	b.Helper()
	db := testenv.Open(b, driver, dsn)
	for _, s := range statements {
		if _, err := db.ExecContext(b.Context(), s); err != nil {
			b.Fatalf("%s: %v", s, err)
		}
	}
	return db
}

// benchPostgres makes table orders with n rows of about 150 bytes of JSON, ten to a moment.
func benchPostgres(b *testing.B, url string, n int) {
	b.Helper()
	benchTable(b, "pgx", url,
		`CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int NOT NULL, amount numeric(12,2) NOT NULL,
			status varchar(20) NOT NULL, note text, updated_at timestamptz NOT NULL)`,
		fmt.Sprintf(`INSERT INTO orders SELECT n, n %% 1000, n / 7.0, 'shipped', CASE WHEN n %% 3 = 0 THEN 'a note of some length, with "quotes"' END,
			timestamptz '2026-04-07 00:00:00+00' + (n / 10) * interval '1 second' FROM generate_series(1, %d) n`, n),
		"CREATE INDEX orders_updated ON orders (updated_at, id)", "VACUUM ANALYZE orders")
}

// benchSQLite makes the same table in SQLite.
func benchSQLite(b *testing.B, url string, n int) {
	b.Helper()
	benchTable(b, "sqlite", strings.TrimPrefix(url, "sqlite:"), "PRAGMA journal_mode = wal", "PRAGMA synchronous = off",
		`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id int NOT NULL, amount numeric(12,2) NOT NULL,
			status varchar(20) NOT NULL, note text, updated_at datetime NOT NULL)`,
		fmt.Sprintf(`WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d)
			INSERT INTO orders SELECT n, n %% 1000, n / 7.0, 'shipped', CASE WHEN n %% 3 = 0 THEN 'a note of some length, with "quotes"' END,
			datetime('2026-04-07', '+' || (n / 10) || ' seconds') FROM s`, n),
		"CREATE INDEX orders_updated ON orders (updated_at, id)", "ANALYZE")
}

// benchMySQL makes the same table in MariaDB or MySQL.
func benchMySQL(b *testing.B, url string, n int) {
	b.Helper()
	benchTable(b, "mysql", testenv.MySQLDSN(b, url),
		`CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int NOT NULL, amount numeric(12,2) NOT NULL,
			status varchar(20) NOT NULL, note text, updated_at datetime NOT NULL, KEY orders_updated (updated_at, id))`,
		`INSERT INTO orders SELECT seq, seq % 1000, seq / 7.0, 'shipped',
			CASE WHEN seq % 3 = 0 THEN 'a note of some length, with "quotes"' END,
			timestamp '2026-04-07 00:00:00' + INTERVAL (seq DIV 10) SECOND FROM `+testenv.MySQLNumbers(n),
		"ANALYZE TABLE orders")
}

// benchTick runs one tick, which must deliver exactly n rows.
func benchTick(b *testing.B, a *wiring.App, n int) {
	b.Helper()
	for _, r := range a.Pollers[0].Runner.Run(b.Context()) {
		if r.Event != poller.TickComplete || r.Rows != n {
			b.Fatalf("%s after %d of %d rows: %v", r.Event, r.Rows, n, r.Err)
		}
	}
}

// benchForget puts the position back: the next tick begins at the beginning.
func benchForget(b *testing.B, a *wiring.App) {
	b.Helper()
	keeper := a.Pollers[0].Outputs[0].Keeper
	snap, err := keeper.Load(b.Context())
	if err == nil {
		_, err = keeper.Edit(b.Context(), snap, func(doc *state.Document) {
			doc.Checkpoint.Cursor, doc.Late = nil, state.Late{}
		})
	}
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		b.Fatal(err)
	}
}

// benchCost is what some work took: time, and this process's processor time (the receiver's included).
type benchCost struct{ wall, cpu time.Duration }

// benchTime measures work. The collector's debt of what was before is paid first, and a CPU profile tells the two sides
// apart by the label: go tool pprof -tagfocus=side=relay.
func benchTime(b *testing.B, side string, work func()) benchCost {
	b.Helper()
	runtime.GC()
	begun, cpu := time.Now(), processorTime(b)
	pprof.Do(b.Context(), pprof.Labels("side", side), func(context.Context) { work() })
	return benchCost{time.Since(begun), processorTime(b) - cpu}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// median of values, which it sorts.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
