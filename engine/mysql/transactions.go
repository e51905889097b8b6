package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/engine"
)

// driverConn is go-sql-driver's connection.
type driverConn interface {
	engine.DriverConn
	driver.NamedValueChecker
}

// boundConnector opens connections whose transactions end in time. It is given so long for it; go-sql-driver bounds
// only the way to the server, and not what the server says then.
type boundConnector struct {
	driver.Connector
	timeout time.Duration
}

// Connect opens a connection.
func (c boundConnector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	conn, err := c.Connector.Connect(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%w: %w", engine.ErrSilent, err)
	case err != nil:
		return nil, err
	}
	return boundConn{conn.(driverConn)}, nil //nolint:forcetypeassert // go-sql-driver's connections are
}

// boundConn is a connection whose transactions end in time: go-sql-driver waits for the answer to a COMMIT or ROLLBACK
// as long as the connection lives, which is for ever where a network swallows it.
type boundConn struct{ driverConn }

// BeginTx begins a transaction.
func (c boundConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if _, err := c.driverConn.BeginTx(ctx, options); err != nil {
		return nil, err
	}
	return boundTx{ctx: ctx, conn: c.driverConn}, nil
}

// boundTx ends a transaction by a statement, which has a context. Where that ends the connection is closed, and with it
// the transaction. Whether a COMMIT was done is then not known.
type boundTx struct {
	ctx  context.Context //nolint:containedctx // driver.Tx gives none
	conn driverConn
}

// Commit commits within the context that the transaction began with.
func (tx boundTx) Commit() error {
	_, err := tx.conn.ExecContext(tx.ctx, "COMMIT", nil)
	return err
}

// Rollback has a short time of its own: the transaction's mostly is over.
func (tx boundTx) Rollback() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tx.ctx), 2*time.Second)
	defer cancel()
	_, err := tx.conn.ExecContext(ctx, "ROLLBACK", nil)
	return err
}
