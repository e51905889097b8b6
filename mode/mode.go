// Package mode says what a poller can do, by its source__mode.
//
// Code asks for an ability (`p.Source.Mode.Can(mode.Document)`), and not for a mode. A new mode is a line of the table
// of abilities, a column of the table of commands, and a case where the parts of a poller are joined.
package mode

// Mode is a value of source__mode.
type Mode string

// The modes.
const (
	Cursor Mode = "cursor" // reads rows after a position in a column that grows
	Outbox Mode = "outbox" // publishes the events of an outbox table
	// ChangeTracking reads which keys of a table were inserted, updated and deleted.
	ChangeTracking Mode = "changetracking"
	// Leased is ChangeTracking whose changes instances share by leases on the rows (source__leases).
	Leased Mode = "changetracking with source__leases=azfunc"
)

// Suffixes of the functions that a poller may have under the Functions host beside the one of its own name.
const (
	PartitionSuffix = "_partition"
	CleanupSuffix   = "_cleanup"
)

// All returns every mode, in the order of the documents.
func All() []Mode { return []Mode{Cursor, ChangeTracking, Leased, Outbox} }

// Ability is something that pollers of some modes can do, or have.
type Ability uint

// The abilities.
const (
	// Document: each output has a state document, with its position, its lease and its parked events. So the position
	// can be reset, cloned and imported, and a backfill can have a document of its own. The source is only read.
	Document Ability = 1 << iota
	// CursorColumns: columns give the rows their order. So a row can be late, and its cursor can be NULL.
	CursorColumns
	// Marks: the state of an event stands in its own row, from pending to dead letter. Rows that are done are cleaned
	// up.
	Marks
	// Claims: several instances work at once. Each owns what it claimed in the source's database.
	Claims
	// Events: a row is an event with an aggregate, a type and a payload. Order is kept within the aggregate.
	Events
	// Figures: the source tells at any time what is pending, failed and given up.
	Figures
	// Triggers: the source's table has triggers that keep a change table, which are installed first. SQL Server has its
	// own change tracking in their place, which is switched on.
	Triggers
	// Leases: several instances work at once, by leases on the rows in tables of the source's database. The position
	// stands there, too.
	Leases
	// Fanout: under the Functions host the work is handed out to several instances by a queue.
	Fanout
)

var abilities = map[Mode]Ability{
	Cursor:         Document | CursorColumns,
	ChangeTracking: Document | CursorColumns | Triggers,
	Leased:         CursorColumns | Triggers | Leases | Fanout,
	Outbox:         Marks | Claims | Events | Figures | Fanout,
}

// Can reports whether pollers of the mode have the ability. A mode that is not known, because its setting is faulty,
// counts as Cursor.
func (m Mode) Can(a Ability) bool {
	has, ok := abilities[m]
	if !ok {
		has = abilities[Cursor]
	}
	return has&a == a
}
