package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowrelay/rowrelay/bench/lab"
	"github.com/rowrelay/rowrelay/bench/peers"
)

const aggregates = 200

// held is how long one transaction of twenty stays open after its rows are written.
const held = 200 * time.Millisecond

// source is the application: it writes rows into orders, and what the contender needs beside them.
type source struct {
	db     *lab.Database
	insert func(ctx context.Context, tx pgx.Tx, m peers.Message) error

	mu     sync.Mutex
	events map[int]event // those that were committed, by their number
	next   int
}

func newSource(ctx context.Context, db *lab.Database) (*source, error) {
	for _, s := range []string{
		`CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int NOT NULL,
			aggregate text NOT NULL, payload jsonb NOT NULL, updated_at timestamptz NOT NULL DEFAULT clock_timestamp())`,
		`CREATE INDEX orders_updated ON orders (updated_at, id)`,
	} {
		if _, err := db.Exec(ctx, s); err != nil {
			return nil, err
		}
	}
	return &source{db: db, events: map[int]event{}}, nil
}

func (s *source) write(ctx context.Context, tx pgx.Tx, n, aggregate int) error {
	name := fmt.Sprintf("a-%d", aggregate)
	payload := fmt.Appendf(nil, `{"n":%d,"aggregate":"%s","customer":"c-%06d","total":"%d.%02d",`+
		`"items":[{"sku":"s-%d","quantity":%d},{"sku":"s-%d","quantity":1}],"currency":"EUR",`+
		`"note":"the quick brown fox jumps over the lazy dog, and does so again and again"}`,
		n, name, n*7, n%1000, n%100, n%50, n%9+1, n%77)
	if _, err := tx.Exec(ctx, `INSERT INTO orders (n, aggregate, payload) VALUES ($1, $2, $3)`,
		n, name, string(payload)); err != nil {
		return err
	}
	if s.insert == nil {
		return nil
	}
	return s.insert(ctx, tx, peers.Message{Aggregate: name, Payload: payload})
}

// backlog writes events that are there before the contender starts.
func (s *source) backlog(ctx context.Context, n int) error {
	s.next = n
	return s.db.Each(ctx, n, func(tx pgx.Tx, i int) error {
		s.events[i] = event{aggregate: i % aggregates, committed: time.Now()}
		return s.write(ctx, tx, i, i%aggregates)
	})
}

// live writes events at a rate, from so many connections, for so long. Each connection has aggregates of its own, and
// writes one transaction after the other, so that the events of an aggregate have an order. It returns the numbers.
func (s *source) live(ctx context.Context, o options) (first, end int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	first = s.next
	begun := time.Now()
	var writers sync.WaitGroup
	each := time.Duration(o.writers) * time.Second / time.Duration(o.rate)
	for w := range o.writers {
		writers.Go(func() {
			for i := 0; time.Since(begun) < o.live && ctx.Err() == nil; i++ {
				time.Sleep(time.Until(begun.Add(time.Duration(i)*each + time.Duration(w)*each/time.Duration(o.writers))))
				own := (aggregates - w + o.writers - 1) / o.writers
				if err := s.one(ctx, w+i%own*o.writers, (i+w)%20 == 0); err != nil {
					cancel(err)
				}
			}
		})
	}
	writers.Wait()
	return first, s.next, context.Cause(ctx)
}

func (s *source) one(ctx context.Context, aggregate int, hold bool) error {
	s.mu.Lock()
	n := s.next
	s.next++
	s.mu.Unlock()
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if err := s.write(ctx, tx, n, aggregate); err != nil {
			return err
		}
		if hold {
			time.Sleep(held)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.events[n] = event{aggregate: aggregate, committed: time.Now()}
	s.mu.Unlock()
	return nil
}
