package engine

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// Lister is a Dialect that names the tables of its database.
type Lister interface {
	// Tables returns the tables that the user may see, without views and the engine's own, in the order of their names.
	Tables(ctx context.Context, conn *sql.Conn) ([]TableName, error)
}

// TableName is a table by its name. Current says that the name is found without its schema.
type TableName struct {
	Schema, Name string
	Current      bool
}

// ListTables runs the statement of a [Lister]: schema, name, and 1 where the name is found without the schema.
func ListTables(ctx context.Context, conn *sql.Conn, text string) (list []TableName, err error) {
	err = EachRow(ctx, conn, text, nil, func(scan func(...any) error) error {
		var t TableName
		var current int
		err := scan(&t.Schema, &t.Name, &current)
		t.Current = current == 1
		list = append(list, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	return list, nil
}

// Table is what the catalog says about a table, a view or a query.
type Table struct {
	// Name is the name for people and for the fingerprint, qualified and unquoted: dbo.orders; "query" for a query.
	Name string
	// From is what stands after FROM, quoted; "" for a query (the framework wraps it).
	From string
	View bool
	// Identity is what a table of the same name that was made anew does not share; "" where server.table tells it with
	// every page, and where the engine has none.
	Identity string
	// Identifying is an expression that is Identity, of the table that From names in the same statement; "" where there is
	// none.
	Identifying string
	// Identify reads identity again, "" where the table is gone; nil where server.table tells it.
	Identify func(ctx context.Context, conn *sql.Conn) (string, error)
	// Columns in the table's order.
	Columns []Column
	// PrimaryKey names the primary key's columns in key order, empty where there is none.
	PrimaryKey []string
	// LooseKey says that the engine lets the primary key hold NULLs where NOT NULL is not declared (SQLite): such a key is
	// allowed, warned about, and its NULLs are counted.
	LooseKey bool
	Indexes  []Index
	// Unproved says why several rows may have one key although there is a primary key or a unique index, and what to do
	// about it; "" where these are proofs.
	Unproved string
	// RowSecurity says that rows may be hidden from the user (PostgreSQL).
	RowSecurity bool
	// Foreign says that the table lies in another database of the server than the connection's.
	Foreign bool
	// Replicated says that another server writes the table, whose transactions this one does not show: by a subscription
	// of PostgreSQL's, or because it is a foreign table.
	Replicated bool
	// Strict says that columns keep the type of what they hold (SQLite's STRICT).
	Strict bool
	// Partitioned says that it is PostgreSQL's parent of partitions.
	Partitioned bool
	// NoTransactions says that the server has no type for transactions' ids (PostgreSQL before 13).
	NoTransactions bool
	// Writer reads which transaction wrote a row; nil where rows do not tell, and where a row can come into sight without
	// being written.
	Writer *Writer
	// Changes is the change table that the rows are read through; nil where they are read themselves.
	Changes *ChangeTable
	// History is the table of changes that this one is, read as it is; nil where it is none.
	History *ChangeTable
	// ReadOnly and locking are the server's.
	ReadOnly, Locking bool
	// Warnings are for the operator.
	Warnings []string
}

// Unique names what proves that columns are unique together, the primary key or a unique index: "" where nothing does.
func (t *Table) Unique(columns []string) string {
	if t.Unproved != "" {
		return ""
	}
	if covers(columns, t.PrimaryKey) {
		return "primary key (" + strings.Join(t.PrimaryKey, ", ") + ")"
	}
	for _, ix := range t.Indexes {
		if ix.Unique && !ix.Partial && ix.Declared > 0 && ix.Declared <= len(ix.Columns) &&
			covers(columns, ix.Columns[:ix.Declared]) {
			return "unique index " + ix.Name
		}
	}
	return ""
}

// covers reports whether names hold all of unique, which is then a proof that names are unique together.
func covers(names, unique []string) bool {
	if len(unique) == 0 {
		return false
	}
	for _, u := range unique {
		if !slices.Contains(names, u) {
			return false
		}
	}
	return true
}

// Index is an index or unique constraint.
type Index struct {
	Name string
	// Columns are the key columns in order, ascending (an index with a descending, expression or prefix column ends
	// before it), followed by those that the engine adds by itself: the clustered key in InnoDB and SQL Server, the
	// rowid column in SQLite.
	Columns []string
	// Unique counts only the declared columns: the first `declared` of columns.
	Unique   bool
	Declared int
	// Whole are all declared columns, in whatever order they are read; nil where the index holds an expression or only the
	// beginning of a value. Only MySQL and MariaDB tell.
	Whole []string
	// Partial says that the index does not hold every row (a filter, a WHERE), or is disabled, invalid or hidden.
	Partial bool
}

// Column is one column of a table or query.
type Column struct {
	Name string
	// Type is the full type as the engine writes it in DDL: numeric(10,2), datetime2(7), bigint unsigned.
	Type     string
	Nullable bool
	// Base is the full type that a domain is made of (PostgreSQL); "" where Type is no domain.
	Base string
	// Enum says that Type is an enum that somebody made (PostgreSQL).
	Enum bool
	// Collation names the collation of a text column, or of a unique index on it, where that holds different texts equal;
	// "" where texts are compared byte by byte, and where nothing tells (a query).
	Collation string
	// Sorted names the collation that texts of the column are sorted by; "" where there is none, and where nothing tells.
	Sorted string
	// Positional says that the value is part of a row's position (its cursor and key), and is read back from it.
	Positional bool
	// Serial says that the database gives the value by itself, ascending and never twice; only SQLite tells. moving says
	// that every update sets the column: ON UPDATE CURRENT_TIMESTAMP, or a temporal table's period.
	Serial, Moving bool
	// Computed says that the database gives the value, and takes none: GENERATED … AS (…), SQL Server's IDENTITY.
	Computed bool
	// Unwatched says that what tracks the table's changes does not see this column's: a trigger of PostgreSQL has no value
	// of a virtual generated column, and SQL Server lists no computed column as changed.
	Unwatched bool
	Value     Value
}

// Large reports whether a value may be much larger than the rest of its row, and is no part of its position.
func (c *Column) Large() bool {
	return !c.Positional && (c.Value.Kind == KindText || c.Value.Kind == KindBinary || c.Value.Kind == KindJSON)
}

// Value says how the values of a column travel: driver → JSON → cursor → WHERE.
type Value struct {
	Kind Kind
	// Expr is the projection, with %s for the qualified column: "+%s", "CONVERT(char(33), %s, 126)". "" is the column. It
	// is a pattern of Fill, as Param and Cast are: names in it stand as Literal.
	Expr string
	// Costly says that a page computes Expr of the rows that it has, and not of those that it goes through.
	Costly bool
	// Param is how a parameter is written so that it has exactly the column's type, with %s for the placeholder:
	// "%s::numeric(10,2)", "CAST(%s AS datetime2(7))". "" is the placeholder.
	Param string
	// Code is the dialect's own: which encoder its row uses.
	Code int
	// Untyped says that the column declares no type, so that each value has its own (SQLite).
	Untyped bool
	// Refused says why the type has no lossless form; empty where it has one.
	Refused string
	// Cast is the expression to write in a query instead, with %s for the column; only with refused.
	Cast string
	// NoCursor says why the column cannot be a cursor although its kind could; NoKey the same for a key: see NotKey.
	NoCursor, NoKey string
	// CursorWarning is for the operator when the column is a cursor.
	CursorWarning string
	// Zoned says that a date and time column means an instant although its text has no zone, so that source__time_zone
	// does not apply.
	Zoned bool
	// Collate is the collation of a text column, where a text has to be cast to it so that the two are of one type (SQL
	// Server).
	Collate string
	// Transaction says that the value is the id of a transaction, as pg_current_xact_id() gives it (xid8).
	Transaction bool
}

// NotKey says why a column whose type has a form cannot identify a row; "" where it can.
func (v *Value) NotKey() string {
	if v.NoKey == "" && (v.Kind == KindFloat || v.Kind == KindJSON) {
		return "which does not identify a row: its values have no exact equality; name other columns"
	}
	return v.NoKey
}

// ChangeTable names a change table: one row for each key of another table that was written since triggers were put on
// that one. It holds the key, the version of the last write, and the version that the row was last inserted by. Whether
// the row is there, and what it holds, the table itself says.
type ChangeTable struct {
	// Of is the table that the triggers are on, its name quoted.
	Of string
	// OfParts are the parts of its name, unquoted: schema and table, or the table alone.
	OfParts []string
	// Key names the columns of its primary key, in key order.
	Key []string
	// Name is the change table's own name, unquoted: it lies in the same schema. What belongs to it begins with its name.
	Name string
	// Poller is whose commands are named to people.
	Poller string
	// Changed are the columns whose last write is recorded beside the row's (source__changed), as the table spells them;
	// none where no poller asks.
	Changed []string
	// Ignored is the context of writes that do not count (source__ignore_context), as hexadecimal digits in lower case
	// after 0x; "" where all count.
	Ignored string
	// History says that every change is recorded, and what of it; nil where the last change of each key is.
	History *History
	// Copies are triggers under other names, which go when it is uninstalled (Tracking.Copies).
	Copies []string
	// Rows is what stands after FROM: the change table joined with the table. Whole is the table itself, each row with
	// what is known of its last change: of one that nobody has written since changes are recorded, version and created
	// are Tracking.Before.
	Rows, Whole string
	// Newer and OfKeys are the same where the engine tracks changes by itself: for the changes after BuiltIn.Since, and
	// for keys that are listed as rows of values.
	Newer  string
	OfKeys func(keys string) string
	// Joined joins what stands for the change table, as c, with the table, as Rows does, where the engine tracks changes
	// itself; also are further columns.
	Joined func(changes string, also ...string) string
	// Floor and Head are expressions, where positions are snapshots: what rows tell elsewhere as StateFloor and ChangeHead
	// is said once with a page.
	Floor, Head string
	// ReadCommitted says that rows are read in no snapshot with what is told of them: a row is at least as new as the
	// version that it has. Instances that share the changes by leases (LeaseTables) read so.
	ReadCommitted bool
}

// Writer reads the lowest 32 bits of the number of the transaction that wrote a row.
type Writer struct {
	// Column reads them; 0 where this row does not tell.
	Column Column
	// Needs is what a derived table has to hand on for Column and Since.
	Needs string
	// Since is the condition that a row tells of a number that is not below this one, or of none.
	Since func(number uint64) string
}
