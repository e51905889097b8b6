package statement

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/clock"
)

// DB runs pieces of work on a database. Each attempt is bounded in time, and is repeated after a transient fault (a
// deadlock, a lost connection). It is safe for use by several goroutines.
type DB struct {
	Syntax
	Pool    *sql.DB
	slots   chan struct{} // a token for each attempt under way; nil: they are not bounded
	timeout time.Duration // of one attempt; 0: none
	// low is how the engine gives way.
	low Low
	// transient says that the same work may succeed if it is repeated; explain wraps an error with what was tried,
	// and with the remedy where settings or schema are at fault.
	transient func(error) bool
	explain   func(what string, err error) error
}

// NewDB returns a DB over pool, which stays its owner's. timeout bounds each attempt, 0 for no bound; transient says
// that work which failed with an error may be repeated; explain wraps the last error with what was tried.
func NewDB(d Syntax, low Low, pool *sql.DB, timeout time.Duration, transient func(error) bool,
	explain func(what string, err error) error) *DB {
	return &DB{Syntax: d, low: low, Pool: pool, timeout: timeout, transient: transient, explain: explain}
}

// Share lets at most n attempts be under way at the same time, for a pool that others use, too.
func (db *DB) Share(n int) { db.slots = make(chan struct{}, n) }

// Statement begins a statement in the database's syntax with parts.
func (db *DB) Statement(parts ...string) *Statement { return New(db.Syntax).Add(parts...) }

// Tries bounds the attempts of one piece of work.
const Tries = 5

// What lies between the attempts: at the beginning, and at most.
const (
	firstWait = 20 * time.Millisecond
	lastWait  = time.Second
)

var errTimeout = errors.New("source__timeout")

// Do runs work until it succeeds, fails for good or has been tried often enough. work must be repeatable: whether an
// attempt that failed has taken effect is not known.
func (db *DB) Do(ctx context.Context, what string, work func(context.Context, Querier) error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = firstWait, lastWait
	for try := 1; ; try++ {
		err := db.attempt(ctx, work)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, try == Tries, !db.transient(err):
			return db.explain(what, err)
		}
		if clock.Sleep(ctx, wait.NextBackOff()) != nil {
			return db.explain(what, err)
		}
	}
}

// Once runs work once.
func (db *DB) Once(ctx context.Context, what string, work func(context.Context, Querier) error) error {
	if err := db.attempt(ctx, work); err != nil {
		return db.explain(what, err)
	}
	return nil
}

func (db *DB) attempt(ctx context.Context, work func(context.Context, Querier) error) error {
	if db.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, db.timeout, errTimeout)
		defer cancel()
	}
	if db.slots != nil {
		select {
		case db.slots <- struct{}{}:
			defer func() { <-db.slots }()
		case <-ctx.Done():
			return fmt.Errorf("wait for a connection: %w", ctx.Err())
		}
	}
	return work(ctx, db.Pool)
}

// Tx is do in one transaction, READ COMMITTED: every statement sees what was committed before it began. (MySQL's
// sessions are set up so; SQLite's transactions begin immediate and are alone.)
func (db *DB) Tx(ctx context.Context, what string, work func(context.Context, Querier) error) error {
	return db.Do(ctx, what, func(ctx context.Context, _ Querier) (err error) {
		tx, err := db.Pool.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_ = tx.Rollback() // what failed is told; the connection is dropped where even this fails
			}
		}()
		if err := work(ctx, tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// Low is how an engine makes a transaction give way to others: First is sent first, Prefix stands before the first
// statement after that. Brief is a condition, with its AND, by which a single statement does; "" where the session says
// so, or nothing does.
type Low struct{ First, Prefix, Brief string }

// Brief stands at the end of a statement's conditions: it does not wait long for rows that others have locked.
func (db *DB) Brief() string { return db.low.Brief }

// TxLow is tx for work that shall give way to others. prefix stands before its first statement.
func (db *DB) TxLow(ctx context.Context, what string, work func(ctx context.Context, q Querier,
	prefix string) error) error {
	return db.Tx(ctx, what, func(ctx context.Context, q Querier) error {
		if db.low.First != "" {
			if _, err := q.ExecContext(ctx, db.low.First); err != nil {
				return err
			}
		}
		return work(ctx, q, db.low.Prefix)
	})
}
