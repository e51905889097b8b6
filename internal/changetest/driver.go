package changetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
)

// Answer is a result's rows.
type Answer struct {
	Rows [][]driver.Value
	End  func() // it was read to its end; nil: nothing is done then
}

// Columns implements driver.Rows.
func (a *Answer) Columns() []string {
	if len(a.Rows) == 0 {
		return nil
	}
	return make([]string, len(a.Rows[0]))
}

// Close implements driver.Rows.
func (a *Answer) Close() error { return nil }

// Next implements driver.Rows.
func (a *Answer) Next(into []driver.Value) error {
	if len(a.Rows) == 0 {
		if a.End != nil {
			a.End()
		}
		return io.EOF
	}
	copy(into, a.Rows[0])
	a.Rows = a.Rows[1:]
	return nil
}

// Conn is what a connection needs beside the statements that a test answers.
type Conn struct{}

// Driver implements driver.Connector.
func (Conn) Driver() driver.Driver { return nil }

// Prepare implements driver.Conn.
func (Conn) Prepare(string) (driver.Stmt, error) { panic("not used") }

// Begin implements driver.Conn.
func (Conn) Begin() (driver.Tx, error) { panic("not used") }

// Close implements driver.Conn.
func (Conn) Close() error { return nil }

// CheckNamedValue implements driver.NamedValueChecker.
func (Conn) CheckNamedValue(*driver.NamedValue) error { return nil }

// Dialect is SQL Server's, but for what asks the catalog. Tracking changes what is told of change tracking.
type Dialect struct {
	sqlserver.Dialect
	Tracking func(*engine.Tracking)
}

// Syntax implements engine.Dialect.
func (d Dialect) Syntax() engine.Syntax {
	s := d.Dialect.Syntax()
	own := *s.Tracking
	d.Tracking(&own)
	s.Tracking = &own
	return s
}

// Prepare implements engine.Dialect.
func (Dialect) Prepare(context.Context, *sql.Conn, engine.Settings) (engine.Server, error) {
	return engine.Server{Incarnation: "sqlserver/1"}, nil
}

// Table implements engine.Dialect.
func (Dialect) Table(context.Context, *sql.Conn, []string) (engine.Table, error) {
	value := sqlserver.Type{Base: "bigint"}.Value()
	return engine.Table{Name: "dbo.orders", From: "[dbo].[orders]", PrimaryKey: []string{"id"}, Columns: []engine.Column{
		{Name: "id", Type: "bigint", Value: value}, {Name: "v", Type: "bigint", Nullable: true, Value: value}}}, nil
}
