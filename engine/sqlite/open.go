package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"os"

	"github.com/rowrelay/rowrelay/engine"
)

// fileConn is a connection to the file that its path named when it was opened. SQLite goes on with a file that was
// deleted, or that another took the place of (a restore, a copy), and says nothing: rows written to the new file would
// not be seen, and marks would go where nobody reads. So each statement first asks whether the path still names the
// file. Where it does not, the connection counts as lost, and the next one opens what is there.
type fileConn struct {
	engine.DriverConn
	path string
	file os.FileInfo
}

func (c fileConn) there() error {
	switch now, err := os.Stat(c.path); {
	case err != nil:
		return fmt.Errorf("the SQLite file that was open is gone: %w: %w", err, driver.ErrBadConn)
	case !os.SameFile(now, c.file):
		return fmt.Errorf("the SQLite file %s is another one than was open: %w", c.path, driver.ErrBadConn)
	}
	return nil
}

func (c fileConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.there(); err != nil {
		return nil, err
	}
	return c.DriverConn.BeginTx(ctx, opts)
}

func (c fileConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.there(); err != nil {
		return nil, err
	}
	return c.DriverConn.PrepareContext(ctx, query)
}

func (c fileConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.there(); err != nil {
		return nil, err
	}
	return c.DriverConn.ExecContext(ctx, query, args)
}

func (c fileConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.there(); err != nil {
		return nil, err
	}
	return c.DriverConn.QueryContext(ctx, query, args)
}
