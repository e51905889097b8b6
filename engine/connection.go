package engine

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// Connection is a parsed connection string. It prints without its secrets.
type Connection struct {
	// Engine is sqlserver, postgres, mysql or sqlite.
	Engine string
	// Dialect is what the engine provides; nil in the zero Connection.
	Dialect Dialect
	// Identity names the server and database in the fingerprint: "host[:port][\instance]/database", the host in lower
	// case, a default port left out; or the file's absolute path. No user, password, driver option.
	Identity string
	// Warnings are for the operator: a connection whose other end is not verified, a keyword that has no effect.
	Warnings []string
	// Link says whether the way to the server is encrypted and verified.
	Link Link
	// Secret says that the string holds a password or a client secret; without one, an identity or the server's own rules
	// let us in.
	Secret bool
	// Connectors open physical connections.
	Connectors Connectors
}

// DriverConn is what database/sql and Dialect.Read use of a driver's connection: for those who wrap one.
type DriverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// Connectors open physical connections. They already carry what belongs into the connection string: credentials, TLS,
// application name rowrelay, and for SQLite mode=rw (a missing file is not created), busy_timeout, query_only.
type Connectors struct {
	// Plain opens connections for a question or two.
	Plain driver.Connector
	// Reading opens those of a source.
	Reading driver.Connector
	// Writing opens those for writing: sessions are in UTC, and transactions see what was committed before each statement
	// (READ COMMITTED); SQLite's begin as writers (immediate), because one that read first cannot become one while
	// another writes.
	Writing driver.Connector
}

// String names the connection without user, password or options.
func (c Connection) String() string { return c.Engine + " " + c.Identity }

// GoString is String: no verb prints a secret.
func (c Connection) GoString() string { return c.String() }

// Format makes every other verb print String too.
func (c Connection) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// DB returns a pool of at most n connections. It does not connect yet.
func (c Connection) DB(n int) *sql.DB { return pool(c.Connectors.Plain, n) }

// ReadDB is DB for a source.
func (c Connection) ReadDB(n int) *sql.DB { return pool(c.Connectors.Reading, n) }

// WriteDB is DB for writing.
func (c Connection) WriteDB(n int) *sql.DB { return pool(c.Connectors.Writing, n) }

// Leave closes the connections of a pool that nobody uses. Those to a server that has become a replica live on, and
// fail every write for as long; a new one may find the primary, where its name leads elsewhere now.
func Leave(db *sql.DB) {
	n := db.Stats().MaxOpenConnections
	db.SetMaxIdleConns(0)
	db.SetMaxIdleConns(n)
}

func pool(connector driver.Connector, n int) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	// Azure's gateways drop what is idle for more than a few minutes without telling; a connection also does not
	// outlive a failover for ever.
	db.SetConnMaxIdleTime(2 * time.Minute)
	db.SetConnMaxLifetime(30 * time.Minute)
	return db
}
