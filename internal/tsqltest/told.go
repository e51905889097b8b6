package tsqltest

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
)

// Told is a SQL Server that gives a prepared answer to each question: no server runs here.
type Told map[string][][]driver.Value

// Connect implements driver.Connector.
func (a Told) Connect(context.Context) (driver.Conn, error) { return a, nil }

// Driver implements driver.Connector.
func (a Told) Driver() driver.Driver { return nil }

// Prepare implements driver.Conn.
func (a Told) Prepare(string) (driver.Stmt, error) { panic("not used") }

// Begin implements driver.Conn.
func (a Told) Begin() (driver.Tx, error) { panic("not used") }

// Close implements driver.Conn.
func (a Told) Close() error { return nil }

// QueryContext implements driver.QueryerContext.
func (a Told) QueryContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Rows, error) {
	rows, known := a[text]
	if !known {
		return nil, errors.New("not to be asked: " + text)
	}
	return &toldRows{rows}, nil
}

type toldRows struct{ rows [][]driver.Value }

func (r *toldRows) Columns() []string {
	if len(r.rows) == 0 {
		return []string{"none"}
	}
	return make([]string, len(r.rows[0]))
}
func (r *toldRows) Close() error { return nil }
func (r *toldRows) Next(into []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(into, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}
