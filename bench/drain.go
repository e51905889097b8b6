package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rowrelay/rowrelay/bench/lab"
)

// This file measures how fast Rowrelay drains a table, beside a bare loop that posts the same bytes under the same
// headers from eight goroutines. Database, receiver, Rowrelay and the bare loop are processes of their own, the two
// take turns, and what counts is the median of the ratios of their speeds. `make bench-drain` runs it.
//
// The bare loop reads pages by a keyset of its own and copies: it makes no ids and no hashes, and knows no lease, no
// checkpoint, no order and no retries. What it has to send it learns from Rowrelay's first request.

// drain is one row of the table.
type drain struct {
	name     string
	engine   string
	settings []string // beside the usual ones, with the poller's prefix left out
	batch    int
	format   string
}

var drains = []drain{
	{"PostgreSQL, 100 per POST, cloudevents", "postgres", nil, 100, "cloudevents"},
	{"PostgreSQL, 100 per POST, row", "postgres", nil, 100, "row"},
	{"PostgreSQL, 100 per POST, row, order_key of another column", "postgres", []string{"source__order_key=customer_id"}, 100, "row"},
	{"PostgreSQL, 10 per POST, cloudevents", "postgres", nil, 10, "cloudevents"},
	{"PostgreSQL, 10 per POST, row", "postgres", nil, 10, "row"},
	{"PostgreSQL, 1 per POST, cloudevents", "postgres", nil, 1, "cloudevents"},
	{"PostgreSQL, 1 per POST, row", "postgres", nil, 1, "row"},
	{"SQLite, 100 per POST, cloudevents", "sqlite", nil, 100, "cloudevents"},
	{"SQLite, 100 per POST, row", "sqlite", nil, 100, "row"},
	{"SQLite, 100 per POST, row, order_key of another column", "sqlite", []string{"source__order_key=customer_id"}, 100, "row"},
	{"PostgreSQL, 20 columns, 100 per POST, cloudevents", "wide", nil, 100, "cloudevents"},
	{"PostgreSQL, 20 columns, 100 per POST, row", "wide", nil, 100, "row"},
}

// tables makes the tables of the drains; %d is the number of rows.
var tables = map[string][]string{
	"postgres": {
		`CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int NOT NULL, amount numeric(12,2) NOT NULL,
			status varchar(20) NOT NULL, note text, updated_at timestamptz NOT NULL)`,
		`INSERT INTO orders SELECT n, n %% 5000, n / 7.0, 'shipped', CASE WHEN n %% 3 = 0 THEN 'a note of some length, with "quotes"' END,
			timestamptz '2026-04-07 00:00:00+00' + (n / 10) * interval '1 second' FROM generate_series(1, %d) n`,
		"CREATE INDEX orders_updated ON orders (updated_at, id)", "VACUUM ANALYZE orders",
	},
	"sqlite": {
		"PRAGMA journal_mode = wal",
		`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id int NOT NULL, amount numeric(12,2) NOT NULL,
			status varchar(20) NOT NULL, note text, updated_at datetime NOT NULL)`,
		`WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d)
			INSERT INTO orders SELECT n, n %% 5000, n / 7.0, 'shipped', CASE WHEN n %% 3 = 0 THEN 'a note of some length, with "quotes"' END,
			datetime('2026-04-07', '+' || (n / 10) || ' seconds') FROM s`,
		"CREATE INDEX orders_updated ON orders (updated_at, id)", "ANALYZE",
	},
	"wide": {
		`CREATE TABLE orders (id bigint PRIMARY KEY, customer_id int NOT NULL, amount numeric(12,2) NOT NULL, tax numeric(12,4) NOT NULL,
			status varchar(20) NOT NULL, note text, attributes jsonb, picture bytea, a int, b bigint, c text, d text, e boolean, f float8,
			g date, h uuid, i numeric(20,6), j text, k jsonb, updated_at timestamptz NOT NULL)`,
		`INSERT INTO orders SELECT n, n %% 5000, n / 7.0, n / 13.0, 'shipped', 'a note of some length, with "quotes"',
			jsonb_build_object('colour', 'red', 'size', n, 'tags', jsonb_build_array('a', 'b')), decode(md5(n::text), 'hex'), n, n * 10,
			'text ' || n, NULL, n %% 2 = 0, n / 3.0, date '2026-01-01' + n %% 300, md5(n::text)::uuid, n / 17.0, 'x', '[1, 2, 3]',
			timestamptz '2026-04-07 00:00:00+00' + (n / 10) * interval '1 second' FROM generate_series(1, %d) n`,
		"CREATE INDEX orders_updated ON orders (updated_at, id)", "VACUUM ANALYZE orders",
	},
}

// settings are further ones of the poller, for comparing them: -set batch_size_max=1000.
var settings []string

// drainTable is a table that is filled once.
type drainTable struct {
	url   string
	db    *sql.DB
	drop  func()
	pages int
}

func newDrainTable(ctx context.Context, kind string, rows int) (*drainTable, error) {
	t := &drainTable{}
	if kind == "sqlite" {
		dir, err := os.MkdirTemp("", "rowrelay-bench")
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, "shop.db")
		if t.db, err = sql.Open("sqlite", file); err != nil {
			return nil, err
		}
		t.db.SetMaxOpenConns(1)
		t.url, t.drop = "sqlite:"+file, func() { _ = t.db.Close(); _ = os.RemoveAll(dir) }
	} else {
		d, err := lab.NewDatabase(ctx)
		if err != nil {
			return nil, err
		}
		t.url, t.db, t.drop = d.URL, stdlib.OpenDBFromPool(d.Pool), d.Drop
	}
	for _, s := range tables[kind] {
		if strings.Contains(s, "%d") {
			s = fmt.Sprintf(s, rows)
		}
		if _, err := t.db.ExecContext(ctx, s); err != nil {
			t.drop()
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	return t, nil
}

// runDrains measures every drain that the pattern matches.
func runDrains(ctx context.Context, o options) error {
	made := map[string]*drainTable{}
	defer func() {
		for _, t := range made {
			t.drop()
		}
	}()
	fmt.Printf("%d rows, %d rounds in turns; each column is the median (lowest–highest)\n\n", o.events, o.rounds)
	fmt.Printf("| work | Rowrelay / bare loop | Rowrelay, rows/s | its processor time / the bare loop's | requests | peak memory |\n" +
		"|---|---|---|---|---|---|\n")
	for _, d := range drains {
		if o.only != "" && !strings.Contains(d.name, o.only) {
			continue
		}
		rows := o.events
		if d.batch == 1 {
			rows = min(rows, 40_000)
		}
		key := fmt.Sprint(d.engine, rows)
		if made[key] == nil {
			t, err := newDrainTable(ctx, d.engine, rows)
			if err != nil {
				return err
			}
			made[key] = t
		}
		if err := d.run(ctx, o, made[key], rows); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

// drained is what one run was.
type drained struct {
	rate     float64
	cpu      time.Duration
	requests int
	peak     int64 // bytes
}

func (d *drain) run(ctx context.Context, o options, t *drainTable, rows int) error {
	to, err := startReceiver("-count")
	if err != nil {
		return err
	}
	defer to.stop()
	if _, err := d.relay(ctx, t, to, rows); err != nil { // warms the caches, and shows the bare loop what to send
		return err
	}
	var relays, bares []drained
	for round := range o.rounds {
		for turn := range 2 {
			var did drained
			var err error
			if (turn+round)%2 == 0 {
				if did, err = d.relay(ctx, t, to, rows); err == nil {
					relays = append(relays, did)
				}
			} else if did, err = d.bare(ctx, t, to, rows); err == nil {
				bares = append(bares, did)
			}
			if err != nil {
				return err
			}
		}
	}
	var ratios, cpu, rates []float64
	requests, peak := 0, int64(0)
	for i, r := range relays {
		ratios = append(ratios, r.rate/bares[i].rate)
		cpu = append(cpu, r.cpu.Seconds()/bares[i].cpu.Seconds())
		rates = append(rates, r.rate)
		requests, peak = r.requests, max(peak, r.peak)
	}
	fmt.Printf("| %s | %s | %.0f | %s | %d | %d MB |\n", d.name, spread(ratios), middle(rates), spread(cpu), requests, peak/1e6)
	return nil
}

func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func spread(values []float64) string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", middle(values), slices.Min(values), slices.Max(values))
}

// relay drains the table once by `rowrelay run --once`.
func (d *drain) relay(ctx context.Context, t *drainTable, to *started, rows int) (drained, error) {
	dir, err := os.MkdirTemp("", "rowrelay-bench")
	if err != nil {
		return drained{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.CommandContext(ctx, binary, "run", "--once")
	const prefix = "pollers__orders__"
	cmd.Env = append(os.Environ(), "state__kind=file", "state__path="+dir, "state__app_name=bench", "log__level=warn", "BENCH_DB="+t.url,
		prefix+"source__connection=BENCH_DB", prefix+"source__table=orders", prefix+"source__cursor=updated_at",
		prefix+"output__kind=http", prefix+"output__url="+to.url, prefix+"output__batch="+strconv.Itoa(d.batch),
		prefix+"output__format="+d.format, prefix+"tick_budget=1h")
	for _, s := range append(d.settings, settings...) {
		cmd.Env = append(cmd.Env, prefix+s)
	}
	return measured(ctx, cmd, to, rows)
}

// bare drains the table once by the bare loop, in a process of its own.
func (d *drain) bare(ctx context.Context, t *drainTable, to *started, rows int) (drained, error) {
	self, err := os.Executable()
	if err != nil {
		return drained{}, err
	}
	cmd := exec.CommandContext(ctx, self, "-bare", to.url, "-events", strconv.Itoa(d.batch))
	cmd.Env = append(os.Environ(), "BENCH_DB="+t.url)
	return measured(ctx, cmd, to, rows)
}

// measured runs a command that sends every row to the receiver, which tells how long that took.
func measured(ctx context.Context, cmd *exec.Cmd, to *started, rows int) (drained, error) {
	if _, err := to.arrivals(ctx); err != nil { // begins anew
		return drained{}, err
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return drained{}, fmt.Errorf("%w\n%s", err, said.String())
	}
	a, err := to.arrivals(ctx)
	if err != nil {
		return drained{}, err
	}
	if a.Events != rows {
		return drained{}, fmt.Errorf("%d of %d rows arrived\n%s", a.Events, rows, said.String())
	}
	return drained{float64(rows) / a.Took.Seconds(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), a.Requests,
		peakOf(cmd.ProcessState)}, nil
}

// counter is a receiver that costs next to nothing: it counts the rows of each request by their first member. The first
// request that it gets is what the bare loop sends.
type counter struct {
	mu          sync.Mutex
	pattern     *sample
	first, last time.Time
	events      atomic.Int64
	requests    atomic.Int64
}

// sample is a request as Rowrelay sends it.
type sample struct {
	Header http.Header
	Body   []byte
}

var firstMember = []byte(`{"id":`)

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.URL.Path == "/sample" {
			_ = json.NewEncoder(w).Encode(c.pattern)
			return
		}
		_ = json.NewEncoder(w).Encode(arrivals{Events: int(c.events.Swap(0)), Requests: int(c.requests.Swap(0)), Took: c.last.Sub(c.first)})
		c.first = time.Time{}
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	now := time.Now()
	c.mu.Lock()
	if c.first.IsZero() {
		c.first = now
	}
	c.last = now
	if c.pattern == nil {
		c.pattern = &sample{r.Header.Clone(), body}
	}
	c.mu.Unlock()
	c.events.Add(int64(bytes.Count(body, firstMember)))
	c.requests.Add(1)
	w.WriteHeader(http.StatusNoContent)
}

// startReceiver starts this command as a receiver, in a process of its own.
func startReceiver(flags ...string) (*started, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(exec.Command(self, append([]string{"-receive"}, flags...)...))
}

// listen serves a handler until stdin ends, and prints its URL first.
func listen(handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = listener.Close()
	}()
	if err = http.Serve(listener, handler); errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
