package engine

import (
	"context"
	"database/sql"
)

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
	// Rows is what stands after FROM: the change table joined with the table.
	Rows string
}

// The columns of a change table beside the key's, and of its state, which has one row.
const (
	// ChangeVersion grows with every write; ChangeCreated is the version of the row's last insert.
	ChangeVersion = "rowrelay_version"
	ChangeCreated = "rowrelay_created"
	// ChangePresent is, in the joined rows, NULL where the row is gone; ChangeHead is the highest version that there is.
	ChangePresent = "rowrelay_present"
	ChangeHead    = "rowrelay_head"
	// ChangeNow is a variable of triggers.
	ChangeNow = "rowrelay_now"
	// StateFloor is the version up to which changes may be missing: those from before the triggers, and what was purged.
	StateFloor = "rowrelay_floor"
)

// In writes a name in the change table's schema.
func (c *ChangeTable) In(quote func(string) string, name string) string {
	return QuotedName(c.Beside(name), quote)
}

// Beside are the parts of a name in the change table's schema.
func (c *ChangeTable) Beside(name string) []string {
	parts := append([]string(nil), c.OfParts...)
	parts[len(parts)-1] = name
	return parts
}

// State is the table of one row that holds the floor, unquoted.
func (c *ChangeTable) State() string { return c.Name + "_state" }

// Index is the index in the order of versions.
func (c *ChangeTable) Index() string { return c.Name + "_version" }

// Trigger is the trigger for an event; what it does is in the function of the same name, where the engine has those.
func (c *ChangeTable) Trigger(event string) string { return c.Name + "_" + event }

// Tracking is how an engine keeps a change table.
type Tracking struct {
	// Exact says that versions are in the order of commits, so that no row can be late.
	Exact bool
	// Counted says that versions are numbers which the state counts: a position ahead of them is a gap.
	Counted bool
	// AtOnce says that the statements are of one transaction.
	AtOnce bool
	// Before is the created of a row that was there before the triggers.
	Before string
	// Rights are what it takes to install, for people.
	Rights string
	// Declare reads how the columns of the key are declared, types and collations, in key order.
	Declare func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
	// Install are the statements that make the change table and the triggers, in order. Each may be repeated; then the
	// floor is raised, because writes may have been missed.
	Install func(c *ChangeTable, declared []string) []string
	// Together makes one transaction of some statements, where AtOnce does not.
	Together func(statements []string) []string
	// Uninstall are those that remove all of it.
	Uninstall func(c *ChangeTable) []string
	// Faults says what is wrong with the triggers, each in a sentence with what to do. What the user may not see is no
	// fault.
	Faults func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
	// Others names tables beside this one whose triggers keep the same change table.
	Others func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
	// Unseen says which writes to this table the triggers do not see, each in a sentence.
	Unseen func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
}
