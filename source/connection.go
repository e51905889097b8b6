package source

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
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
	// Link says whether the way to the server is encrypted and verified.
	Link Link
	// Secret says that the string holds a password or a client secret; without one, an identity or the server's own rules let us in.
	Secret bool
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
func (c Connection) DB(n int) *sql.DB { return pool(c.connector, n) }

// readDB is DB for a source.
func (c Connection) readDB(n int) *sql.DB {
	connector := c.connector
	if c.Engine == enginePostgres {
		connector = postgresReader{connector}
	}
	return pool(connector, n)
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

// WriteDB is DB for writing: its sessions are in UTC, and its transactions see what was committed before each statement (READ
// COMMITTED); SQLite's begin as writers (immediate), because one that read first cannot become one while another writes.
func (c Connection) WriteDB(n int) *sql.DB {
	connector := c.connector
	switch c.Engine {
	case engineSQLite:
		connector = sqliteConnector{path: c.path, write: true}
	case engineMySQL:
		connector = preparedConnector{connector, mysqlWriteSession}
	}
	return pool(connector, n)
}

// mysqlWriteSession fixes what writing depends on: the zone of TIMESTAMP, that what does not fit is an error, and that a
// statement sees the newest state. A wait for a lock ends before most timeouts of the client do, whose statement the
// server would go on with.
var mysqlWriteSession = []string{
	"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
	"SET " + mysqlOwn + ", time_zone = '+00:00', sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 10",
}

// preparedConnector opens connections and runs statements on each before it is used.
type preparedConnector struct {
	driver.Connector
	statements []string
}

// Connect opens and prepares a connection.
func (c preparedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range c.statements {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil { //nolint:forcetypeassert // go-sql-driver's connections are
			return nil, errors.Join(fmt.Errorf("prepare the connection: %w", err), conn.Close())
		}
	}
	return conn, nil
}
