package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
)

// writeSession fixes what writing depends on: the zone of TIMESTAMP, that what does not fit is an error, and that a
// statement sees the newest state. A wait for a lock ends before most timeouts of the client do, whose statement the
// server would go on with.
var writeSession = []string{
	"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
	"SET " + ownSession + ", time_zone = '+00:00', sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', " +
		"innodb_lock_wait_timeout = 2" + orphaned + " " + freshCatalog,
}

// orphaned bounds how long the server keeps a transaction, and its locks, whose client was cut off or frozen: it would
// learn of that after two hours. MySQL bounds idle connections only, and ours rest for two minutes. MariaDB also bounds
// idle transactions.
const orphaned = ", wait_timeout = 180 /*M!100300 , idle_transaction_timeout = 30 */"

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

// encryptedOnly is ER_SECURE_TRANSPORT_REQUIRED, which Azure's servers answer unless they are told not to.
const encryptedOnly = 3159

// plainConnector opens connections that are not encrypted, and says what to do where the server takes none.
type plainConnector struct{ driver.Connector }

// Connect opens a connection.
func (c plainConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if e := new(mysql.MySQLError); errors.As(err, &e) && e.Number == encryptedOnly {
		err = fmt.Errorf("the server takes encrypted connections only: write tls=true into the connection string, "+
			"or tls=skip-verify where its certificate cannot be verified: %w", err)
	}
	return conn, err
}
