package engine

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// The columns of a change table beside the key's, and of its state, which has one row.
const (
	// ChangeVersion grows with every write; ChangeCreated is the version of the row's last insert.
	ChangeVersion = "rowrelay_version"
	ChangeCreated = "rowrelay_created"
	// ChangePresent is, in the joined rows, NULL where the row is gone; ChangeHead is the highest version that there is.
	ChangePresent = "rowrelay_present"
	ChangeHead    = "rowrelay_head"
	// ChangeGone is BuiltIn's column that says whether the row may be missing.
	ChangeGone = "rowrelay_gone"
	// ChangeTouched is, in the joined rows, the version of the last write that counts: one that changed one of
	// ChangeTable.Changed or inserted the row, and was not made under the context ChangeTable.Ignored. Where contexts are
	// ignored, deletes are recorded as well.
	ChangeTouched = "rowrelay_changed"
	// ChangeMask and ChangeContext are BuiltIn's columns of what was written, and by whom: see BuiltIn.Written.
	ChangeMask    = "rowrelay_mask"
	ChangeContext = "rowrelay_context"
	// ChangeNow and ChangeOwn are variables of triggers.
	ChangeNow = "rowrelay_now"
	ChangeOwn = "rowrelay_own"
	// StateFloor is the version up to which changes may be missing: those from before the triggers, and what was purged.
	StateFloor = "rowrelay_floor"
	// StatePurged is the version up to which changes were purged, where positions are snapshots: a snapshot may see the
	// version of the floor, and not all below it.
	StatePurged = "rowrelay_purged"
)

// Title is what people are told of.
func (c *ChangeTable) Title() string {
	if c.Name == "" {
		return "the change tracking of " + c.Of
	}
	if c.History != nil {
		return "the history " + c.Name
	}
	return "the change table " + c.Name
}

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

// Touched is the column of the change table that records ChangeTouched; "" where nobody asks. Its name tells of which
// columns and context it is.
func (c *ChangeTable) Touched() string {
	if len(c.Changed) == 0 && c.Ignored == "" {
		return ""
	}
	of := slices.Sorted(slices.Values(c.Changed))
	if c.Ignored != "" {
		of = append(of, "context "+c.Ignored)
	}
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return ChangeTouched + "_" + hex.EncodeToString(sum[:4])
}

// State is the table of one row that holds the floor, unquoted.
func (c *ChangeTable) State() string { return c.Name + "_state" }

// Marks is the table of marks, unquoted: when was which version. See Aging.
func (c *ChangeTable) Marks() string { return c.Name + "_marks" }

// Index is the index in the order of versions.
func (c *ChangeTable) Index() string { return c.Name + "_version" }

// Trigger is the trigger for an event; what it does is in the function of the same name, where the engine has those.
func (c *ChangeTable) Trigger(event string) string { return c.Name + "_" + event }

// Tracking is how changes of a table become known: by triggers that keep a change table, or by what the engine has for
// that itself.
type Tracking struct {
	// BuiltIn is set where the engine tracks changes by itself. Then there is no change table: its name is empty.
	BuiltIn *BuiltIn
	// Exact says that versions are in the order of commits, so that no row can be late.
	Exact bool
	// Contexts says how a writer tells the triggers under which context it writes, for people; "" where it cannot.
	Contexts string
	// Counted says that versions are numbers which the state counts: a position ahead of them is a gap.
	Counted bool
	// Snapshots says that positions are snapshots and versions transactions: then the state has StatePurged.
	Snapshots bool
	// AtOnce says that the statements are of one transaction.
	AtOnce bool
	// OfRow joins the row that t is with its last change, as c, whose columns are NULL where none is known: BuiltIn gives
	// no ChangeCreated. Nil where a LEFT JOIN reads no more of the change table than that.
	OfRow func(c *ChangeTable) string
	// Before is the created of a row that was there before the triggers.
	Before string
	// Rights are what it takes to install, for people; Grant is what the poller's login needs on what it reads.
	Rights, Grant string
	// Able says why this server does not take what is written to a change table; nil where nothing can be in the way.
	Able func(ctx context.Context, conn *sql.Conn) error
	// Declare reads how the columns are declared that are recorded (ChangeTable.Recorded): types and collations.
	Declare func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
	// Install are the statements that make the change table and the triggers, in order. Each may be repeated; then the
	// floor is raised, because writes may have been missed.
	Install func(c *ChangeTable, declared []string) []string
	// Renew returns the statements that bring what an older version installed up to date, none where it is. No change is
	// missed meanwhile, and the floor stays. Nil where there was no other version.
	Renew func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
	// Together makes one transaction of some statements, where AtOnce does not.
	Together func(statements []string) []string
	// Uninstall are those that remove all of it.
	Uninstall func(c *ChangeTable) []string
	// Histories keep every change; nil where an engine has no way to.
	Histories *Histories
	// Aging tells how old changes are.
	Aging Aging
	// Unended reports whether a transaction that has not ended may have written a change of a version from since up to the
	// floor. Nil where versions are no times, and true where that would take long to tell. It may wait a second.
	Unended func(ctx context.Context, conn *sql.Conn, c *ChangeTable, since time.Time) (bool, error)
	// Faults says what is wrong with the triggers, each in a sentence with what to do. What the user may not see is no
	// fault.
	Faults func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
	// Others names tables beside this one whose triggers keep the same change table.
	Others func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
	// Copies names triggers of the table that a tool has copied under other names; nil where names are each table's own.
	Copies func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
	// Unseen says which writes to this table the triggers do not see, each in a sentence.
	Unseen func(ctx context.Context, conn *sql.Conn, c *ChangeTable) ([]string, error)
}

// Aging tells which changes are older than a time, for a change table that is purged. Versions that are no times tell
// it by marks, which every purge leaves.
type Aging struct {
	// Mark are the statements that leave a mark and remove those that are needed no more; they come first in their
	// transaction. Nil where versions are times.
	Mark func(c *ChangeTable, seconds int64) []string
	// Before is the expression of a version: what is below it was committed so many seconds ago. NULL where no mark is as
	// old as that.
	Before func(c *ChangeTable, seconds int64) string
	// Near is added to a version, for the last one that may have been read although the position is before it.
	Near string
}

// BuiltIn is the change tracking that an engine has itself. Its texts name parameters of the statement.
type BuiltIn struct {
	// Version is the column of versions.
	Version Column
	// Changes stands for the change table: what was written after a version, which is a parameter or a number. ChangeGone
	// is 1 where the row may be missing: of one that is there and is not shown nothing is told. OfKeys is
	// the same for keys that are listed as rows of values; what became of them is there without having been written
	// lately. When a row was inserted is not known there: ChangeCreated is 0.
	Changes func(c *ChangeTable, since string) string
	OfKeys  func(c *ChangeTable, keys string) string
	// Written are the columns ChangeMask and ChangeContext, which every change has. The first is read as JSON,
	// [{"n":"status"},{"n":"total"}], of the columns that were written since the version that changes are read after; NULL
	// is any, as it is in OfKeys and OfRow. The second is what the last writer said of itself, 0x and digits.
	Written func(c *ChangeTable) []Column
	// Before and After stand around the statement of a page, in the same round trip. All of it is one transaction, which
	// sees one snapshot but where ChangeTable.ReadCommitted is set. The statement itself runs only where the engine has
	// come further than the version Read.
	Before, After func(c *ChangeTable) string
	// Since and Read are the names of parameters that go in: the version that changes are read after, and the one up to
	// which all was read already. Told comes out: see Tell.
	Since, Read, Told string
	// Floor is the expression of the version up to which changes may be missing, Lost what may have removed them, for
	// people.
	Floor func(c *ChangeTable) string
	Lost  string
	// Leasing shares changes between instances.
	Leasing *Leasing
	// Retained says for how long changes are kept, for people; "" where the user may not see it.
	Retained func(ctx context.Context, conn *sql.Conn) (string, error)
	// Tell reads by itself what Told is: the version that the engine has come to, the floor, and the identity of the table
	// and its tracking, with bars between them. The first two are empty where nothing is tracked, or the user may not see
	// it.
	Tell func(c *ChangeTable) string
}
