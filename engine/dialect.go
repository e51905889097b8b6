package engine

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Dialect is one database engine: what every mode asks of it, and nothing more. What can be said once for all engines
// (paging, keys, limits, cursors, events, retries) is not here.
//
// A dialect has no state. Every method that takes a context is bounded by source__timeout through that context. Errors
// are the driver's own, wrapped once with a verb; classify says what they mean.
type Dialect interface {
	// Syntax says how statements are written on this engine, and what people are told of it.
	Syntax() Syntax

	// Prepare prepares a physical connection that was just opened: settings (UTC, ISO dates, read-only, statement and
	// lock timeout, as far as the connection string did not already set them), and reads what is true for this
	// connection. It is called once per physical connection, never per fetch. What a pooler would hand on to
	// other programs is not set here but by each transaction.
	Prepare(ctx context.Context, conn *sql.Conn, s Settings) (Server, error)

	// Refresh takes over what the server said of itself together with the last statement, where it does: behind a
	// pooler a failover ends no connection. It is called with every page, and costs a round trip only where a server
	// process is new to the connection, or is a standby's.
	Refresh(ctx context.Context, conn *sql.Conn, s *Server) error

	// Table reads the catalog for a table or view. name holds one to three parts, unquoted, as the setting names them:
	// [catalog,] [schema,] table. It returns ErrNoTable where there is none (or it is not visible to this user).
	Table(ctx context.Context, conn *sql.Conn, name []string) (Table, error)

	// Query describes the columns of a query without running it to the end. Every column counts as nullable, and there
	// are no keys and no indexes, unless the engine proves more.
	Query(ctx context.Context, conn *sql.Conn, query string) (Table, error)

	// Arg turns the JSON scalar that read appended for a value of col (a cursor or key column, never null) into the
	// driver's argument for col.value.param, so that the value equals the column's at full precision. The JSON comes
	// from a stored checkpoint or from source__start: it may be anything, and an error says what was expected.
	Arg(col *Column, scalar []byte) (any, error)

	// Read runs a statement and calls each for every row until each returns false or fails, then closes the result, so
	// that no read stays open longer than the page. cols are the projected columns, in the statement's order. The row is
	// valid only during the call.
	Read(ctx context.Context, conn *sql.Conn, text string, args []any, cols []Column, each func(Row) (bool, error)) error

	// Explain returns the engine's own account of how it runs a statement, for people to read, or "" where the engine
	// cannot tell without running it.
	Explain(ctx context.Context, conn *sql.Conn, text string, args []any) (string, error)

	// Horizon returns the database's clock, and the oldest open write transaction of another session where the server
	// shows them to this user. What the user may not see is no error: Shown is then false. looks is that of all who ask
	// this server in this process.
	Horizon(ctx context.Context, conn *sql.Conn, looks *Looks) (change.Horizon, error)

	// Counter returns what the engine itself counts a column of a table up by, an integer or a row version; the zero
	// counter where there is nothing such.
	Counter(ctx context.Context, conn *sql.Conn, t *Table, col *Column) (Counter, error)

	// Classify says what an error of this engine's driver means.
	Classify(err error) Fault

	// Related says how a database is related to another, by the parts of their incarnations, of which the first is the
	// same.
	Related(was, is []string) Relation
}

// Snapshotter is a Dialect that can read by several statements what there was at one moment.
type Snapshotter interface {
	// Snapshot runs work, whose statements on conn all see the state of one moment, which is not before the first of
	// them. Where it returns an error the connection is not to be used again.
	Snapshot(ctx context.Context, conn *sql.Conn, work func() error) error
}

// CommitCounter is a Snapshotter whose database lets one transaction write at a time, and tells each connection when
// others have committed.
type CommitCounter interface {
	Snapshotter
	// Commits is change.State's, of the snapshot that conn reads in. Only numbers of one connection can be compared.
	Commits(ctx context.Context, conn *sql.Conn) (int64, error)
}

// OrderedReader is a Dialect that is told where the rows of a statement have to come by an index that has their order,
// however few its planner believes that they are.
type OrderedReader interface {
	// ReadInOrder is Dialect.Read of such a statement.
	ReadInOrder(ctx context.Context, conn *sql.Conn, text string, args []any, cols []Column,
		each func(Row) (bool, error)) error
}

// Settings are what a session is prepared with.
type Settings struct {
	// Timeout bounds each statement.
	Timeout time.Duration
	// WithLocks says that the session must not read row versions by an isolation level of its own.
	WithLocks bool
	// Whole says that a statement fails where row security would hide rows from it (PostgreSQL): to this reader a row that
	// is hidden is one that is gone.
	Whole bool
}

// Row is one row of a result.
type Row interface {
	// AppendJSON appends column i as JSON by the one rule of change's Append functions; a NULL appends null. An error
	// means that this value has no lossless form (text that is not UTF-8, a date beyond year 9999): it says why, and
	// the caller adds column and key.
	AppendJSON(dst []byte, i int) ([]byte, error)
}

// Placer is a Row that gives a value without a form a place all the same. AppendPlace appends column i as an object of
// JSON, which Arg reads back, and reports whether it could.
type Placer interface {
	AppendPlace(dst []byte, i int) ([]byte, bool)
}

// Fault is what an error means.
type Fault uint8
