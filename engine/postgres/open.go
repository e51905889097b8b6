package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// connector hides the configuration, which holds the password, from fmt: pgx's own connector is a struct. It
// also finds out whether a pooler stands before the server.
//
// A pooler that gives a client another server connection for each transaction (PgBouncer, and Azure's, which is one)
// may not know prepared statements that have a name. Behind one, pgx is told to do without.
type connector struct {
	direct, pooled driver.Connector
	behind         atomic.Bool
}

// Connect opens a connection.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.behind.Load() {
		return c.pooled.Connect(ctx)
	}
	conn, err := c.direct.Connect(ctx)
	if err != nil {
		return nil, err
	}
	pg, err := pgxConn(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	behind, err := behindPooler(ctx, pg.PgConn())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ask the server who it is: %w", err), conn.Close())
	}
	if !behind {
		return conn, nil
	}
	c.behind.Store(true)
	if err := conn.Close(); err != nil {
		return nil, fmt.Errorf("close the first connection to a pooler: %w", err)
	}
	return c.pooled.Connect(ctx)
}

// Driver returns the driver.
func (c *connector) Driver() driver.Driver { return c.direct.Driver() }

// behindPooler compares the process that greeted us with the one that answers: a pooler greets with a number of its
// own.
func behindPooler(ctx context.Context, pg *pgconn.PgConn) (bool, error) {
	results, err := pg.Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	switch {
	case sqlState(err, "42", "0A"):
		return false, nil // it speaks like PostgreSQL, and is none
	case err != nil:
		return false, err
	case len(results) != 1 || len(results[0].Rows) != 1:
		return false, errors.New("pg_backend_pid() brought no row")
	}
	return string(results[0].Rows[0][0]) != strconv.FormatUint(uint64(pg.PID()), 10), nil
}

// connect opens a connection, as pgx's own; it is closed where it is none.
func connect(ctx context.Context, c driver.Connector) (*stdlib.Conn, error) {
	conn, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	own, ok := conn.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the connection is a %T, not pgx's", conn), conn.Close())
	}
	return own, nil
}

// readingConnector opens the connections of a source.
type readingConnector struct{ driver.Connector }

// Connect opens a connection whose every statement is a transaction of its own.
func (c readingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	own, err := connect(ctx, c.Connector)
	if err != nil {
		return nil, err
	}
	return &session{pgxDriverConn: own}, nil
}

// session runs every statement in a read-only transaction of its own, which sets what reading depends on for
// itself. Behind a pooler in transaction mode what is set on a session would stay on a connection that other programs'
// statements run on next: a default_transaction_read_only=on made an application's INSERTs fail.
//
// BEGIN, the settings, the statement and COMMIT travel together: it is one round trip. No statement is prepared under a
// name. With the settings the process that answers says which one it is. One that is new to us is asked for the
// incarnation: behind a pooler a failover ends no connection.
type session struct {
	*pgxDriverConn
	// timeout is what settings give a statement; "" before the connection is ready.
	timeout string
	// server says which process of which server ran the last statement, and whether it is a standby: "pid/start/true".
	server string
	// table is the oid of the table that the last page came from; 0 where its columns do not tell.
	table uint32
	// identity reads what the server shows of itself to this role, known is what was read, by server.
	identity string
	known    map[string]string
	writers  writers
	// pooled says that the next statement may be another process's.
	pooled bool
	// snapshot says whether statements share a transaction.
	snapshot snapshot
	// whole is engine.Settings.Whole.
	whole bool
	// inOrder says that the statement's rows come by an index that has their order; see orderedSQL.
	inOrder bool
}

// pgxDriverConn is embedded under this name, so that its method Conn is not hidden by a field.
type pgxDriverConn = stdlib.Conn

// query runs one statement. described is told of the result's columns, each of its rows until it returns false or
// fails; both may be nil. A row's values, in the text format, are valid during the call only.
func (s *session) query(ctx context.Context, text string, args []any, described func([]pgconn.FieldDescription) error,
	each func([][]byte) (bool, error),
) (err error) {
	values, err := texts(args)
	if err != nil {
		return err
	}
	pg := s.Conn().PgConn()
	var batch pgconn.Batch
	begins := s.snapshot != snapshotTaken
	switch s.snapshot {
	case snapshotNone:
		batch.ExecParams("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY", nil, nil, nil, nil)
	case snapshotWanted:
		batch.ExecParams("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", nil, nil, nil, nil)
		s.snapshot = snapshotTaken
	}
	if begins && s.timeout != "" {
		settings := settingsSQL
		if s.writers.asks {
			settings += ", " + writersSQL
		}
		if s.whole {
			settings += ", " + wholeSQL
		}
		if s.inOrder {
			settings += ", " + orderedSQL
		}
		batch.ExecParams(settings, [][]byte{[]byte(s.timeout)}, nil, nil, nil)
	}
	batch.ExecParams(text, values, nil, nil, nil)
	if s.snapshot == snapshotNone {
		batch.ExecParams("COMMIT", nil, nil, nil, nil)
	}
	results := pg.ExecBatch(ctx, &batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
		if !pg.IsClosed() && pg.TxStatus() != 'I' && s.snapshot == snapshotNone {
			err = errors.Join(err, rollback(ctx, pg))
		}
	}()
	if begins && !results.NextResult() {
		return nil // the deferred Close says why
	}
	if begins && s.timeout != "" {
		if !results.NextResult() {
			return nil
		}
		said := results.ResultReader()
		if said.NextRow() {
			values := said.Values()
			s.server, s.writers.told = string(values[settingsServer]), ""
			if s.writers.asks {
				s.writers.told = string(values[settingsServer+1])
			}
		}
		if _, err := said.Close(); err != nil {
			return err
		}
	}
	if !results.NextResult() {
		return nil
	}
	result := results.ResultReader()
	if described != nil {
		if err := described(result.FieldDescriptions()); err != nil {
			return err
		}
	}
	for result.NextRow() {
		if each == nil {
			continue
		}
		if more, err := each(result.Values()); err != nil || !more {
			return err
		}
	}
	_, err = result.Close()
	return err
}

// snapshot says whether the statements of a session share a transaction, and with it what they see.
type snapshot uint8

const (
	snapshotNone   snapshot = iota
	snapshotWanted          // from the next statement on
	snapshotTaken
)

// Snapshot implements engine.Snapshotter. The transaction begins with the first statement, in its round trip.
func (Dialect) Snapshot(ctx context.Context, conn *sql.Conn, work func() error) error {
	share := func(how snapshot) error {
		return conn.Raw(func(raw any) error {
			s, err := sessionOf(raw)
			if err != nil {
				return err
			}
			began := s.snapshot == snapshotTaken
			if s.snapshot = how; began && !s.Conn().PgConn().IsClosed() {
				return rollback(ctx, s.Conn().PgConn()) // nothing was written
			}
			return nil
		})
	}
	if err := share(snapshotWanted); err != nil {
		return err
	}
	err := work()
	return errors.Join(err, share(snapshotNone))
}

// rollback ends a transaction. Its time is short: a connection that does not answer is given up.
func rollback(ctx context.Context, pg *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := pg.Exec(ctx, "ROLLBACK").Close(); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// QueryContext runs a query, and keeps its rows: those of the catalog are few.
func (s *session) QueryContext(ctx context.Context, text string, named []driver.NamedValue) (driver.Rows, error) {
	args := make([]any, len(named))
	for i := range named {
		args[i] = named[i].Value
	}
	var rows readRows
	err := s.query(ctx, text, args, func(fields []pgconn.FieldDescription) error {
		for _, f := range fields {
			rows.names, rows.oids = append(rows.names, f.Name), append(rows.oids, f.DataTypeOID)
		}
		return nil
	}, func(values [][]byte) (bool, error) {
		row := make([]driver.Value, len(values))
		for i, v := range values {
			var err error
			if row[i], err = textValue(v, rows.oids[i]); err != nil {
				return false, err
			}
		}
		rows.rows = append(rows.rows, row)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return &rows, nil
}

// ExecContext runs a statement without a result.
func (s *session) ExecContext(ctx context.Context, text string, named []driver.NamedValue) (driver.Result, error) {
	if _, err := s.QueryContext(ctx, text, named); err != nil {
		return nil, err
	}
	return driver.ResultNoRows, nil
}

// readRows are rows that were read.
type readRows struct {
	names []string
	oids  []uint32
	rows  [][]driver.Value
}

// Columns returns the columns' names.
func (r *readRows) Columns() []string { return r.names }

// Close has nothing to close.
func (r *readRows) Close() error { return nil }

// Next returns the next row.
func (r *readRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(dest, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}

// sessionOf takes the source's connection out of database/sql's.
func sessionOf(raw any) (*session, error) {
	s, ok := raw.(*session)
	if !ok {
		return nil, fmt.Errorf("the connection is a %T, not a source's", raw)
	}
	return s, nil
}

// canceller asks the server to give a statement up when its context ends. Without it an ended context only closes
// the socket, and the server goes on with the statement.
//
// It differs from pgx's own in that a request which was begun is finished, even where the statement has ended
// meanwhile: PgBouncer 1.18, which Debian 12 has, ends itself when a client hangs up in the middle of such a request.
type canceller struct {
	conn *pgconn.PgConn
	done chan struct{}
}

// cancelPatience bounds the request, and the wait for what the statement answers to it.
const cancelPatience = 2 * time.Second

// cancelLands is how long a request that the server has read may take to reach the session. The next statement must not
// be hit.
const cancelLands = 100 * time.Millisecond

// HandleCancel sends the request.
func (c *canceller) HandleCancel(context.Context) {
	done := make(chan struct{})
	c.done = done
	deadline := time.Now().Add(cancelPatience)
	_ = c.conn.Conn().SetDeadline(deadline) // a socket that is closed needs none
	go func() {
		defer close(done)
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		_ = c.conn.CancelRequest(ctx) // where it fails, the deadline ends the statement
		time.Sleep(cancelLands)
	}()
}

// HandleUnwatchAfterCancel waits for the request's end.
func (c *canceller) HandleUnwatchAfterCancel() {
	<-c.done
	_ = c.conn.Conn().SetDeadline(time.Time{})
}
