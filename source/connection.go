package source

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// Connection is a parsed connection string: what ParseConnection (dsn.go) returns. It prints without its secrets.
type Connection struct {
	// Engine is sqlserver, postgres, mysql or sqlite.
	Engine string
	// Identity names the server and database in the fingerprint: "host[:port][\instance]/database", the host in lower
	// case, a default port left out; or the file's absolute path. No user, password, driver option.
	Identity string
	// Warnings are for the operator: a connection whose other end is not verified, a keyword that has no effect.
	Warnings []string
	// path is the SQLite file; "" for servers.
	path string
	// connector opens physical connections. It already carries what belongs into the connection string: credentials,
	// TLS, application name rowrelay, and for SQLite mode=rw (a missing file is not created), busy_timeout, query_only.
	connector driver.Connector
}

// String names the connection without user, password or options.
func (c Connection) String() string { return c.Engine + " " + c.Identity }

// GoString is String: no verb prints a secret.
func (c Connection) GoString() string { return c.String() }

// Format makes every other verb print String too.
func (c Connection) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// DB returns a pool of at most n connections. It does not connect yet.
func (c Connection) DB(n int) *sql.DB {
	db := sql.OpenDB(c.connector)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	// Azure's gateways drop what is idle for more than a few minutes without telling; a connection also does not
	// outlive a failover for ever.
	db.SetConnMaxIdleTime(2 * time.Minute)
	db.SetConnMaxLifetime(30 * time.Minute)
	return db
}
