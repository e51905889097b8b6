package plan

import (
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Config is what a poller's source__… settings say, already parsed. Names are the settings' own.
type Config struct {
	// Poller is the poller's name: part of every event's id.
	Poller string
	// Exactly one of Table and Query. Table holds one to three parts, each plain or quoted in the engine's or the
	// standard's way: orders, dbo.orders, "Order Lines", [a.b].[c].
	Table, Query string
	// Tracked reads the table through its change table; TrackTable names that, where it has not the default name.
	// Operations are those that are delivered: insert, update, delete; none is all. Changed are columns: an update is
	// delivered where one of them was written; none is all.
	Tracked bool
	// EveryChange reads every change that triggers kept, and not the last of each key; BeforeImage with the row before it.
	EveryChange, BeforeImage bool
	// Leased says that instances share the changes by leases on the rows, on SQL Server; ReadCommitted that changes are
	// read there in no snapshot with their rows, as they are with leases.
	Leased, ReadCommitted bool

	TrackTable string
	// TrackRetention is for how long a purge keeps what was not delivered; 0 where that is not known.
	TrackRetention time.Duration
	// Ignored is the context of writes that are left out, as hexadecimal digits in lower case after 0x; "" for none.
	Operations []string
	Changed    []string
	Ignored    string
	// Cursor and Key name columns; an empty Key is the primary key. OrderKey empty is Key. Columns empty is all.
	Cursor, Key, OrderKey, Columns []string
	// Where filters rows: an SQL condition of the engine. Columns stand bare, or qualified by the alias r.
	Where string
	// Start is "earliest" (also when empty), "latest", or a cursor value: rows with a cursor above it are delivered.
	// For a composite cursor it is a JSON array with one member per column. "snapshot", of a table whose changes are
	// tracked, is the latest change: the table's rows are read beside the changes that follow.
	Start string
	// TimeZone gives zoneless cursors their instant (Event.Time only); nil is UTC.
	TimeZone *time.Location
	// DeleteWhen names a column: where it is true, or neither NULL nor zero, the event is a delete.
	DeleteWhen string
	// Op is "" or "upsert", or "delete" for a tombstone table: every row is a delete.
	Op string
	// LateCommits is "auto" (also when empty), "exact", "overlap", "settle" or "none"; LateWindow is how old rows are
	// before settle shows them, 0 is 2 min. (The session keeps overlap's window.)
	LateCommits string
	LateWindow  time.Duration
	// NullCursor is "report" (also when empty) or "fail".
	NullCursor string
	// Identity replaces the connection's own identity in the fingerprint.
	Identity string
	// Timeout bounds each statement; 0 is 30 s.
	Timeout time.Duration
	// Connections bounds the pool; 0 is 4.
	Connections int
	// MaxRowBytes is the largest row that may travel; 0 is 4 MiB.
	MaxRowBytes int
}

// LeavesWrites reports that some writes of a row do not count: its last one may not be one to be told of.
func (c *Config) LeavesWrites() bool { return len(c.Changed) > 0 || c.Ignored != "" }

// OnlyUpdates reports that updates are wanted, and inserts are not.
func (c *Config) OnlyUpdates() bool {
	return slices.Contains(c.Operations, change.Update.String()) &&
		!slices.Contains(c.Operations, change.Insert.String())
}

// OnlyInserts reports that inserts are wanted, and updates are not.
func (c *Config) OnlyInserts() bool {
	return slices.Contains(c.Operations, change.Insert.String()) && !slices.Contains(c.Operations, change.Update.String())
}
