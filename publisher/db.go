package publisher

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/clock"
)

// sqlDB runs pieces of work on a database. Each attempt is bounded in time, and is repeated after a transient fault (a deadlock, a
// lost connection). It is safe for use by several goroutines.
type sqlDB struct {
	syntax
	pool    *sql.DB
	timeout time.Duration // of one attempt; 0: none
	// low is how the engine gives way.
	low Low
	// transient says that the same work may succeed if it is repeated; explain wraps an error with what was tried, and with the
	// remedy where settings or schema are at fault.
	transient func(error) bool
	explain   func(what string, err error) error
}

func newDB(d syntax, low Low, pool *sql.DB, timeout time.Duration, transient func(error) bool, explain func(what string, err error) error) *sqlDB {
	return &sqlDB{syntax: d, low: low, pool: pool, timeout: timeout, transient: transient, explain: explain}
}

func (db *sqlDB) statement(parts ...string) *statement { return newStatement(db.syntax).add(parts...) }

// Tries bounds the attempts of one piece of work.
const Tries = 5

// What lies between the attempts: at the beginning, and at most.
const (
	firstWait = 20 * time.Millisecond
	lastWait  = time.Second
)

var errTimeout = errors.New("source__timeout")

// do runs work until it succeeds, fails for good or has been tried often enough. work must be repeatable: whether an attempt that
// failed has taken effect is not known.
func (db *sqlDB) do(ctx context.Context, what string, work func(context.Context, querier) error) error {
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

// once runs work once.
func (db *sqlDB) once(ctx context.Context, what string, work func(context.Context, querier) error) error {
	if err := db.attempt(ctx, work); err != nil {
		return db.explain(what, err)
	}
	return nil
}

func (db *sqlDB) attempt(ctx context.Context, work func(context.Context, querier) error) error {
	if db.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, db.timeout, errTimeout)
		defer cancel()
	}
	return work(ctx, db.pool)
}

// tx is do in one transaction, READ COMMITTED: every statement sees what was committed before it began. (MySQL's sessions
// are set up so; SQLite's transactions begin immediate and are alone.)
func (db *sqlDB) tx(ctx context.Context, what string, work func(context.Context, querier) error) error {
	return db.do(ctx, what, func(ctx context.Context, _ querier) (err error) {
		tx, err := db.pool.BeginTx(ctx, nil)
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

// Low is how an engine makes a transaction give way to others: First is sent first, Prefix stands before the first statement after
// that.
type Low struct{ First, Prefix string }

// txLow is tx for work that shall give way to others. prefix stands before its first statement.
func (db *sqlDB) txLow(ctx context.Context, what string, work func(ctx context.Context, q querier, prefix string) error) error {
	return db.tx(ctx, what, func(ctx context.Context, q querier) error {
		if db.low.First != "" {
			if _, err := q.ExecContext(ctx, db.low.First); err != nil {
				return err
			}
		}
		return work(ctx, q, db.low.Prefix)
	})
}

// close ends the connections.
func (db *sqlDB) close() error { return db.pool.Close() }
