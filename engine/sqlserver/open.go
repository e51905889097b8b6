package sqlserver

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine/dsn"
)

// connector bounds the whole of connecting by the context. go-mssqldb bounds the dialling only: a server (or
// what stands in front of it) that accepts a connection and never answers would hold the caller for ever.
type connector struct{ *mssql.Connector }

// dialling is the key of what Connect tells its dialler: the context that bounds all of it. The one that the dialler is
// given ends with Connect's success, too.
type dialling struct{}

// attempt is one Connect. With MultiSubnetFailover it dials several addresses at once, and one may answer afterwards.
type attempt struct {
	bound context.Context
	over  atomic.Bool
}

func newConnector(c *mssql.Connector) connector {
	c.Dialer = boundDialer{net.Dialer{KeepAlive: 30 * time.Second}}
	return connector{c}
}

// Connect opens a connection, or fails when the context ends.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	try := &attempt{bound: ctx}
	conn, err := c.Connector.Connect(context.WithValue(ctx, dialling{}, try))
	try.over.Store(true)
	if err != nil && (errors.Is(err, io.EOF) || strings.Contains(err.Error(), "invalid packet size")) {
		err = fmt.Errorf("no SQL Server seems to answer there (%s): %w", dsn.NamesEngine, err)
	}
	return conn, err
}

// boundDialer closes the connections of an attempt whose context ends before Connect does.
type boundDialer struct{ net net.Dialer }

// DialContext implements mssql.Dialer.
func (d boundDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.net.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if try, ok := ctx.Value(dialling{}).(*attempt); ok {
		context.AfterFunc(try.bound, func() {
			if !try.over.Load() {
				_ = conn.Close() // its reader gets the error
			}
		})
	}
	return conn, nil
}
