//go:build linux

package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// BenchmarkBacklog drains a backlog of old rows by `rowrelay run` with default settings, overlap and the row's own key.
// Before it begins, a transaction writes late rows among the first 400,000, and commits when these were passed.
//
// first and rest are the rows a second of the first million and of what comes after, without the time in which nothing
// comes (held); lost and twice must be 0. Then the same once more with a SIGKILL at 400,000 rows: killed-twice is how
// many rows come again.
//
//	make bench BENCH=Backlog                    ROWRELAY_BENCH_ROWS=10000000
func BenchmarkBacklog(b *testing.B) {
	rows := benchSize(b, "ROWRELAY_BENCH_ROWS", 2_000_000)
	program := benchBinary(b)
	b.Run("postgres", func(b *testing.B) {
		url := testenv.Postgres(b)
		benchPostgres(b, url, rows)
		benchBacklog(b, program, url, testenv.Open(b, "pgx", url), rows)
	})
	b.Run("mariadb", func(b *testing.B) {
		url := testenv.MySQL(b)
		benchMySQL(b, url, rows)
		benchBacklog(b, program, url, testenv.Open(b, "mysql", testenv.MySQLDSN(b, url)), rows)
	})
	b.Run("sqlite", func(b *testing.B) {
		url := testenv.SQLite(b)
		benchSQLite(b, url, rows)
		benchBacklog(b, program, url, testenv.Open(b, "sqlite", strings.TrimPrefix(url, "sqlite:")), rows)
	})
}

// lateRows are written among the backlog's by a transaction that commits when they were passed.
const lateRows = 20

func benchBacklog(b *testing.B, program, url string, db *sql.DB, rows int) {
	for b.Loop() {
		to := newTallyReceiver(b, rows+lateRows)
		s := benchPoller(url, to.URL).with(benchSettings{
			"state__kind": "file", "state__path": filepath.Join(b.TempDir(), "state"), "status__listen": "127.0.0.1:0",
			"pollers__orders__source__late_commits": "overlap", "pollers__orders__schedule": "* * * * * *",
			"pollers__orders__lease_ttl": "15s",
		})
		passed := min(rows, 1_000_000) * 2 / 5
		p := startBench(b, program, s)
		to.await(b, passed)
		p.kill()
		p = startBench(b, program, s)
		to.await(b, passed+passed/4)
		p.kill()
		b.ReportMetric(float64(to.twice()), "killed-twice")

		to.forget()
		commit := benchLate(b, db, rows, passed)
		p = startBench(b, program, s.with(benchSettings{"state__path": filepath.Join(b.TempDir(), "state")}))
		to.await(b, passed+passed/4)
		commit()
		to.await(b, min(rows, 1_000_000))
		early := highWater(p.cmd.Process.Pid)
		to.await(b, rows+lateRows)
		b.ReportMetric(highWater(p.cmd.Process.Pid)/early, "memory")
		p.kill()
		first, rest, held := to.rates(b)
		b.ReportMetric(first, "first")
		b.ReportMetric(rest, "rest")
		b.ReportMetric(held.Seconds(), "s-held")
		b.ReportMetric(float64(to.twice()), "twice")
	}
	b.ReportMetric(0, "ns/op")
}

// benchLate opens a transaction with rows among the first passed ones; their ids come after the backlog's.
func benchLate(b *testing.B, db *sql.DB, rows, passed int) (commit func()) {
	b.Helper()
	tx, err := db.BeginTx(b.Context(), nil)
	for i := 1; i <= lateRows && err == nil; i++ {
		_, err = tx.ExecContext(b.Context(), fmt.Sprintf(`INSERT INTO orders (id, customer_id, amount, status, updated_at)
			SELECT %d, customer_id, amount, 'late', updated_at FROM orders WHERE id = %d`, rows+i, i*passed/(lateRows+1)))
	}
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

// benchProcess is the program at work.
type benchProcess struct {
	cmd  *exec.Cmd
	kill func() // SIGKILL
}

func startBench(b *testing.B, program string, s benchSettings) benchProcess {
	b.Helper()
	dir := b.TempDir()
	ctx, cancel := context.WithCancel(b.Context())
	cmd := exec.CommandContext(ctx, program, "run")
	cmd.Dir, cmd.Env = dir, append(s.environ(), "HOME="+dir)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	kill := sync.OnceFunc(func() { cancel(); _ = cmd.Wait() }) // killed
	b.Cleanup(kill)
	return benchProcess{cmd, kill}
}

// tallyReceiver counts how often each row arrives, by its id.
type tallyReceiver struct {
	*httptest.Server
	mu       sync.Mutex
	times    []uint8
	distinct int
	begun    time.Time
	at       []time.Time // when each further step of distinct rows was reached
}

const tallyStep = 10_000

func newTallyReceiver(b *testing.B, rows int) *tallyReceiver {
	b.Helper()
	r := &tallyReceiver{times: make([]uint8, rows+1)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.take(body)
	}))
	b.Cleanup(r.Close)
	return r
}

func (r *tallyReceiver) take(body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mark := []byte(`"data":{"id":`)
	for {
		_, rest, found := bytes.Cut(body, mark)
		if !found {
			return
		}
		id, _ := strconv.Atoi(string(rest[:bytes.IndexByte(rest, ',')])) // 0 where it is none: await fails
		if body = rest; r.times[id] < 255 {
			r.times[id]++
		}
		if r.times[id] > 1 {
			continue
		}
		if r.distinct == 0 {
			r.begun = time.Now()
		}
		if r.distinct++; r.distinct%tallyStep == 0 {
			r.at = append(r.at, time.Now())
		}
	}
}

func (r *tallyReceiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.times)
	r.distinct, r.at = 0, nil
}

// await waits until so many different rows have arrived.
func (r *tallyReceiver) await(b *testing.B, n int) {
	b.Helper()
	for last, since := -1, time.Now(); ; {
		r.mu.Lock()
		distinct := r.distinct
		r.mu.Unlock()
		switch {
		case distinct >= n:
			return
		case distinct > last:
			last, since = distinct, time.Now()
		case time.Since(since) > 5*time.Minute:
			b.Fatalf("%d of %d rows arrived, and nothing for five minutes", distinct, n)
		}
		_ = clock.Sleep(b.Context(), time.Millisecond)
	}
}

// twice is how many rows came more than once.
func (r *tallyReceiver) twice() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, times := range r.times {
		if times > 1 {
			n++
		}
	}
	return n
}

// rates are the rows a second of the first million and of the rest (0: there is none), and how long nothing came.
func (r *tallyReceiver) rates(b *testing.B) (first, rest float64, held time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var took [2]time.Duration
	var steps [2]int
	last := r.begun
	for i, at := range r.at {
		part := min(1, i*tallyStep/1_000_000)
		if d := at.Sub(last); d > 10*time.Second {
			held += d
			b.Logf("nothing came for %v after %d rows", d.Round(time.Millisecond), i*tallyStep)
		} else {
			took[part] += d
			steps[part]++
		}
		last = at
	}
	rate := func(part int) float64 { return float64(steps[part]*tallyStep) / max(took[part].Seconds(), 1e-9) }
	return rate(0), rate(1), held
}
