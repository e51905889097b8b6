package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrelay/rowrelay/bench/lab"
)

// environment is what Rowrelay is configured by. Strategy and all else are the defaults.
func environment(d *lab.Database, to *sink, batch int) []string {
	env := append(os.Environ(),
		"state__kind=memory", "state__app_name=bench", "status__listen=127.0.0.1:0", "log__level=warn",
		"BENCH_DB="+d.URL, "pollers__orders__source__connection=BENCH_DB", "pollers__orders__source__mode=outbox",
		"pollers__orders__source__table=outbox", "pollers__orders__output__format=payload")
	if to.http == nil {
		return append(env, "BENCH_RABBIT="+os.Getenv("ROWRELAY_TEST_RABBITMQ"), "pollers__orders__output__kind=rabbitmq",
			"pollers__orders__output__connection=BENCH_RABBIT", "pollers__orders__output__destination="+to.queue)
	}
	return append(env, "pollers__orders__output__kind=http", "pollers__orders__output__url="+to.http.url,
		"pollers__orders__output__batch="+strconv.Itoa(batch))
}

func fillRowrelay(ctx context.Context, d *lab.Database, events int) error {
	if err := initialise(ctx, d); err != nil {
		return err
	}
	return d.Each(ctx, events, func(tx pgx.Tx, i int) error {
		_, err := tx.Exec(ctx, insertEvent, eventArgs(i)...)
		return err
	})
}

const insertEvent = `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES ($1, $2, $3, $4, $5)`

func eventArgs(i int) []any {
	return []any{"order", fmt.Sprintf("a-%d", i%aggregates), "OrderPlaced", payload(i), fmt.Sprintf("order-placed-%d", i)}
}

// binary is the flag -rowrelay.
var binary string

func initialise(ctx context.Context, d *lab.Database) error {
	cmd := exec.CommandContext(ctx, binary, "outbox", "init", "orders", "--apply")
	cmd.Env = append(environment(d, &sink{queue: "none"}, 100), "pollers__orders__output__destination=none")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("rowrelay outbox init: %w\n%s", err, out)
	}
	return nil
}

// relay runs `rowrelay run` until ctx ends.
func relay(ctx context.Context, d *lab.Database, to *sink, batch int, more ...string) error {
	cmd := exec.CommandContext(ctx, binary, "run")
	cmd.Env = append(environment(d, to, batch), more...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 20 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, errors.New(said.String()))
}

// working is `rowrelay run` at work on an outbox of its own.
type working struct {
	*lab.Database
	sink  *sink
	ended <-chan error // why, if it ends by itself
	end   func()
}

func work(ctx context.Context, kind string, more ...string) (*working, error) {
	d, err := lab.NewDatabase(ctx)
	if err != nil {
		return nil, err
	}
	if err := initialise(ctx, d); err != nil {
		d.Drop()
		return nil, err
	}
	to, err := newSink(kind)
	if err != nil {
		d.Drop()
		return nil, err
	}
	relaying, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	ended := make(chan error, 1)
	running.Go(func() { ended <- relay(relaying, d, to, 100, more...) })
	return &working{d, to, ended, func() {
		stop()
		running.Wait()
		to.close()
		d.Drop()
	}}, nil
}

// latency writes events at a steady rate while `rowrelay run` publishes them to RabbitMQ, and shows the time from each
// commit to the arrival at a consumer, which follows the confirmation.
func latency(ctx context.Context, o options) error {
	w, err := work(ctx, "rabbitmq")
	if err != nil {
		return err
	}
	defer w.end()
	d, to, ended := w.Database, w.sink, w.ended
	messages, err := to.ch.Consume(to.queue, "", true, true, false, false, nil)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	committed := make(map[int]time.Time)
	arrived := make(map[int]time.Time)
	total := int(o.latency.Seconds() * float64(o.rate))
	// starting is not latency: the rate begins when this one arrives
	if err := transaction(ctx, d, total, total+1); err != nil {
		return err
	}
	select {
	case <-messages:
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		return errors.New("the first event did not arrive within a minute")
	}
	go write(ctx, d, o.rate, total, func(first, last int, now time.Time) {
		mu.Lock()
		defer mu.Unlock()
		for n := first; n <= last; n++ {
			committed[n] = now
		}
	})
	deadline := time.After(o.latency + time.Minute)
	for len(arrived) < total {
		select {
		case m := <-messages:
			var event struct {
				ID int `json:"id,string"`
			}
			if err := json.Unmarshal(m.Body, &event); err != nil {
				return err
			}
			if _, again := arrived[event.ID]; !again {
				arrived[event.ID] = time.Now()
			}
		case err := <-ended:
			return err
		case <-deadline:
			return fmt.Errorf("%d of %d events arrived", len(arrived), total)
		}
	}
	var all []time.Duration
	for id, at := range arrived {
		all = append(all, at.Sub(committed[id]))
	}
	slices.Sort(all)
	fmt.Printf("\nLatency from commit to arrival at %d events/s, %d events, poll_interval 100ms: p50 %s, p99 %s, max %s\n",
		o.rate, total,
		all[len(all)/2].Round(time.Millisecond), all[len(all)*99/100].Round(time.Millisecond),
		all[len(all)-1].Round(time.Millisecond))
	return nil
}

// write writes events at a steady rate, ten to a transaction, and calls done after each commit.
func write(ctx context.Context, d *lab.Database, rate, total int, done func(first, last int, at time.Time)) {
	const each = 10
	begun := time.Now()
	for i := 0; i < total && ctx.Err() == nil; i += each {
		time.Sleep(time.Until(begun.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		if err := transaction(ctx, d, i, i+each); err != nil {
			fmt.Fprintln(os.Stderr, "write:", err)
			return
		}
		done(i, i+each-1, time.Now())
	}
}

// transaction writes the events from first up to, and without, end.
func transaction(ctx context.Context, d *lab.Database, first, end int) error {
	return pgx.BeginFunc(ctx, d, func(tx pgx.Tx) error {
		for n := first; n < end; n++ {
			if _, err := tx.Exec(ctx, insertEvent, eventArgs(n)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// growth shows how the table, its indexes and its dead rows grow under load, with a clean-up every minute that keeps
// one minute of published rows, and PostgreSQL's autovacuum as it is delivered.
func growth(ctx context.Context, o options) error {
	w, err := work(ctx, "http, 100 per request", "pollers__orders__source__retention=1m",
		"pollers__orders__source__cleanup_schedule=0 * * * * *")
	if err != nil {
		return err
	}
	defer w.end()
	d, ended := w.Database, w.ended
	go write(ctx, d, o.rate, int(o.growth.Seconds()*float64(o.rate)), func(int, int, time.Time) {})
	fmt.Printf("\nGrowth at %d events/s, retention 1m, clean-up each minute\n  after   rows      dead rows  table MiB  indexes MiB  pending\n", o.rate)
	for minute := 1; minute <= int(o.growth.Minutes()); minute++ {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
		}
		var live, dead, table, indexes, pending int64
		if err := d.QueryRow(ctx, `SELECT n_live_tup, n_dead_tup, pg_table_size(relid) >> 20, pg_indexes_size(relid) >> 20,
			(SELECT COUNT(*) FROM outbox WHERE state = 'PENDING') FROM pg_stat_user_tables WHERE relname = 'outbox'`).
			Scan(&live, &dead, &table, &indexes, &pending); err != nil {
			return err
		}
		fmt.Printf("  %2d min  %-8d  %-9d  %-9d  %-11d  %d\n", minute, live, dead, table, indexes, pending)
	}
	return nil
}
