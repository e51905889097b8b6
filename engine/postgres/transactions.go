package postgres

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
)

// writingConnector opens the connections of an outbox.
type writingConnector struct{ driver.Connector }

// Connect opens a connection whose transactions are READ COMMITTED.
func (c writingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	own, err := connect(ctx, c.Connector)
	if err != nil {
		return nil, err
	}
	return writer{own}, nil
}

// writer says with each BEGIN, in its round trip, what writing depends on, whatever the defaults of the server, the
// database or the role are: behind a pooler, what is set on a session would stay on a connection that other programs
// use.
type writer struct{ *pgxDriverConn }

// writing bounds how long the server keeps a transaction, and its locks, whose client was cut off or frozen. It would
// learn of that after two hours.
var writing = pgx.TxOptions{BeginQuery: "BEGIN ISOLATION LEVEL READ COMMITTED; " +
	"SET LOCAL idle_in_transaction_session_timeout = '" + orphaned + "'"}

// orphaned is how long a transaction of ours may lie idle.
const orphaned = "30s"

// BeginTx begins a transaction.
func (w writer) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	if w.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	tx, err := w.Conn().BeginTx(ctx, writing)
	if err != nil {
		return nil, err
	}
	return writerTx{ctx: ctx, tx: tx}, nil
}

// writerTx is pgx's transaction as database/sql's.
type writerTx struct {
	ctx context.Context //nolint:containedctx // driver.Tx gives none
	tx  pgx.Tx
}

// Commit commits.
func (w writerTx) Commit() error { return w.tx.Commit(w.ctx) }

// Rollback rolls back; where that fails, pgx closes the connection.
func (w writerTx) Rollback() error { return w.tx.Rollback(w.ctx) }
