package source

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/sqltext"
)

// dialect is one database engine: what the framework asks of it, and nothing more. Everything that can be said once for
// all engines (paging, keys, limits, cursors, events, retries) is not here but in the framework.
//
// A dialect has no state. Every method that takes a context is bounded by source__timeout through that context. Errors
// are the driver's own, wrapped once with a verb; the framework asks classify what they mean.
type dialect interface {
	// engine names the dialect: sqlserver, postgres, mysql or sqlite.
	engine() string

	// syntax says how the framework's statements are written on this engine.
	syntax() syntax

	// quote returns name as a quoted identifier: any legal name, whatever it contains.
	quote(name string) string

	// ready prepares a physical connection that was just opened: settings (UTC, ISO dates, read-only, statement and
	// lock timeout from cfg.Timeout, as far as the connection string did not already set them), and reads what is true
	// for this connection. It is called once per physical connection, never per fetch. What a pooler would hand on to
	// other programs is not set here but by each transaction.
	ready(ctx context.Context, conn *sql.Conn, cfg *Config) (life, error)

	// refresh takes over what the server said of itself together with the last statement, where it does: behind a
	// pooler a failover ends no connection. It is called with every page, and costs a round trip only where a server
	// process is new to the connection, or is a standby's.
	refresh(ctx context.Context, conn *sql.Conn, l *life) error

	// table reads the catalog for a table or view. name holds one to three parts, unquoted, as the setting names them:
	// [catalog,] [schema,] table. It returns errNoTable where there is none (or it is not visible to this user).
	table(ctx context.Context, conn *sql.Conn, name []string) (table, error)

	// query describes the columns of a query without running it to the end. Every column counts as nullable, and there
	// are no keys and no indexes, unless the engine proves more.
	query(ctx context.Context, conn *sql.Conn, query string) (table, error)

	// arg turns the JSON scalar that read appended for a value of col (a cursor or key column, never null) into the
	// driver's argument for col.value.param, so that the value equals the column's at full precision. The JSON comes
	// from a stored checkpoint or from source__start: it may be anything, and an error says what was expected.
	arg(col *column, scalar []byte) (any, error)

	// read runs a statement and calls each for every row until each returns false or fails, then closes the result, so
	// that no read stays open longer than the page. cols are the projected columns, in the statement's order. The row is
	// valid only during the call.
	read(ctx context.Context, conn *sql.Conn, text string, args []any, cols []column, each func(row) (bool, error)) error

	// explain returns the engine's own account of how it runs a statement, for people to read, or "" where the engine
	// cannot tell without running it.
	explain(ctx context.Context, conn *sql.Conn, text string, args []any) (string, error)

	// clock writes the server's clock in UTC, moved by so many seconds, as a date and time that a column's value.param takes.
	// The server must hold it for one value throughout a statement, so that an index can be used with it.
	clock(seconds int) string

	// horizon returns the database's clock, and the oldest open write transaction of another session where the server shows
	// them to this user. What the user may not see is no error: Shown is then false.
	horizon(ctx context.Context, conn *sql.Conn) (poller.Horizon, error)

	// counter returns what the engine itself counts a column of a table up by, an integer or a row version; the zero counter
	// where there is nothing such.
	counter(ctx context.Context, conn *sql.Conn, t *table, col *column) (counter, error)

	// classify says what an error of this engine's driver means.
	classify(err error) fault

	// types lists every type of the engine's catalog with its rule: docs/values.md and the tests are checked against it.
	types() []typeRule
}

// row is one row of a result.
type row interface {
	// appendJSON appends column i as JSON by the one rule of change's Append functions; a NULL appends null. An error
	// means that this value has no lossless form (text that is not UTF-8, a date beyond year 9999): it says why, and
	// the framework adds column and key.
	appendJSON(dst []byte, i int) ([]byte, error)
}

// syntax says how statements are written.
type syntax struct {
	// placeholder returns the n-th parameter, n from 1: $1, @p1, ?1, ?.
	placeholder func(n int) string
	// positional says that a placeholder cannot be repeated: a value that is used twice is passed twice.
	positional bool
	// rowValues says that (a, b) > (x, y) is understood and uses an index on (a, b). Otherwise the framework writes
	// a >= x AND (a > x OR (a = x AND b > y)), which MySQL and MariaDB part into the two ranges by themselves.
	rowValues bool
	// unites says that the engine seeks by the first comparison of that only, so that a page is written as several seeks united
	// (seeks.go). A placeholder can be repeated there.
	unites bool
	// top says that the limit is written SELECT TOP (n) …, not … LIMIT n.
	top bool
	// storedTimes says that a time is whatever text or number is stored (SQLite), compared as such, every number below
	// every text: source__start is then taken as it is written. A uuid is stored text there, too.
	storedTimes bool
	// text says what the engine takes for quotes and comments, so that a condition or query of the user is known to
	// end where it should.
	text sqltext.Syntax
}

// life is what is true as long as one physical connection lives.
type life struct {
	// version is the engine's version for people: "PostgreSQL 15.8", "Microsoft SQL Azure (RTM) 12.0.2000.8".
	version string
	// incarnation identifies the life of the database: a restore or a failover begins a new one. "" where unknown.
	incarnation string
	// table identifies the table itself, where a new one of the same name has another identity; "" where that is not
	// known with every page.
	table string
	// readOnly says that the server is a readable secondary, a standby or a replica: it does not know which transactions are open.
	readOnly bool
	// locking says that reads wait for the rows that an open transaction has written, instead of reading the versions before.
	locking bool
	// versions says that reads see row versions by the session's own isolation level, which does not do for every table (faultVersions).
	versions bool
	// warnings are for the operator.
	warnings []string
}

// table is what the catalog says about a table, a view or a query.
type table struct {
	// name is the name for people and for the fingerprint, qualified and unquoted: dbo.orders; "query" for a query.
	name string
	// from is what stands after FROM, quoted; "" for a query (the framework wraps it).
	from string
	view bool
	// identity is what a table of the same name that was made anew does not share; "" where life.table tells it with
	// every page, and where the engine has none.
	identity string
	// identify reads identity again, "" where the table is gone; nil where life.table tells it.
	identify func(ctx context.Context, conn *sql.Conn) (string, error)
	// columns in the table's order.
	columns []column
	// primaryKey names the primary key's columns in key order, empty where there is none.
	primaryKey []string
	// looseKey says that the engine lets the primary key hold NULLs where NOT NULL is not declared (SQLite): such a key is
	// allowed, warned about, and its NULLs are counted.
	looseKey bool
	indexes  []index
	// foreign says that the table lies in another database of the server than the connection's.
	foreign bool
	// partitioned says that it is PostgreSQL's parent of partitions.
	partitioned bool
	// noTransactions says that the server has no type for transactions' ids (PostgreSQL before 13).
	noTransactions bool
	// readOnly and locking are the life's.
	readOnly, locking bool
	// warnings are for the operator.
	warnings []string
}

// index is an index or unique constraint.
type index struct {
	name string
	// columns are the key columns in order, ascending (an index with a descending, expression or prefix column ends
	// before it), followed by those that the engine adds by itself: the clustered key in InnoDB and SQL Server, the
	// rowid column in SQLite.
	columns []string
	// unique counts only the declared columns: the first `declared` of columns.
	unique   bool
	declared int
	// partial says that the index does not hold every row (a filter, a WHERE), or is disabled, invalid or hidden.
	partial bool
}

// column is one column of a table or query.
type column struct {
	name string
	// typ is the full type as the engine writes it in DDL: numeric(10,2), datetime2(7), bigint unsigned.
	typ      string
	nullable bool
	// positional says that the value is part of a row's position (its cursor and key), and is read back from it.
	positional bool
	// serial says that the database gives the value by itself, ascending and never twice; only SQLite tells. moving says that
	// every update sets the column: ON UPDATE CURRENT_TIMESTAMP, or a temporal table's period.
	serial, moving bool
	value          value
}

// value says how the values of a column travel: driver → JSON → cursor → WHERE.
type value struct {
	kind kind
	// expr is the projection, with %s for the qualified column: "+%s", "CONVERT(char(33), %s, 126)". "" is the column.
	expr string
	// param is how a parameter is written so that it has exactly the column's type, with %s for the placeholder:
	// "%s::numeric(10,2)", "CAST(%s AS datetime2(7))". "" is the placeholder.
	param string
	// code is the dialect's own: which encoder its row uses.
	code int
	// refused says why the type has no lossless form; empty where it has one.
	refused string
	// cast is the expression to write in a query instead, with %s for the column; only with refused.
	cast string
	// noCursor says why the column cannot be a cursor although its kind could; noKey the same for a key.
	noCursor, noKey string
	// cursorWarning is for the operator when the column is a cursor.
	cursorWarning string
	// zoned says that a date and time column means an instant although its text has no zone, so that source__time_zone
	// does not apply.
	zoned bool
	// transaction says that the value is the id of a transaction, as pg_current_xact_id() gives it (xid8).
	transaction bool
}

// kind is what a value is under the one rule of docs/values.md.
type kind uint8

const (
	kindNone kind = iota // refused
	kindBool
	kindInteger
	kindDecimal
	kindFloat
	kindText
	kindUUID
	kindBinary
	kindDate
	kindTime
	kindDateTime   // no zone
	kindInstant    // in UTC
	kindOffsetTime // with its own offset
	kindJSON
	kindRowVersion // grows with every write in the whole database, unique per write (SQL Server's rowversion)
)

// fault is what an error means for the framework.
type fault uint8

const (
	faultOther     fault = iota
	faultTransient       // worth repeating at once: connection lost, deadlock, throttled, shutting down, busy
	faultTimeout         // the statement's timeout: not repeated inside the fetch
	faultLocked          // a lock was not granted within the timeout: as faultTimeout
	faultVersions        // this session may not read row versions here (life.versions): another reads with locks
	faultSchema          // no such table, column or type: the catalog changed, or the settings are wrong
	faultSyntax          // the statement does not parse: where or query is wrong
	faultLogin           // user, password or database refused
	faultDenied          // no permission for the table
	faultMissing         // the server or file cannot be found
	faultConnect         // no connection within the timeout
	faultBusy            // every connection that source__connections allows was in use until the timeout
)

// typeRule is one line of docs/values.md.
type typeRule struct {
	// name is the type as the engine's catalog names it; sample a full type that the dialect maps by the same code as
	// a column's: numeric(10,2).
	name, sample string
	// value is the mapping of the sample.
	value value
	// note is for people: the form of the value, in a few words.
	note string
}

// Errors that dialects return by name.
var (
	// errNoTable: the catalog has no such table or view.
	errNoTable = errors.New("no such table or view")
)
