// Package tracking knows the change table that triggers keep beside a user's table, for source__mode=changetracking on
// engines that track no changes themselves.
//
// The change table has one row for each key that was written since the triggers are there: the version of the last
// write, and the version of the last insert. It is joined with the table by the statement that reads it, so that both
// are seen by one snapshot: a key whose row is not there is a delete, and every other change carries the row as it is.
// So reading changes is reading a table in the order of a cursor, and package source does it with what it has for that.
//
// [Of] names a change table and refuses tables that cannot have one. [Join] makes the table that is read. [Install],
// [Uninstall] and [Look] are for the commands. What differs between engines is text (engine.Tracking).
package tracking

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// reserved are the columns of the rows that are read, which the table must not have itself.
var reserved = []string{engine.ChangeVersion, engine.ChangeCreated, engine.ChangePresent, engine.StateFloor,
	engine.ChangeHead, engine.ChangeGone, engine.ChangeTouched, engine.ChangeNow, engine.ChangeOwn,
	engine.ChangeMask, engine.ChangeContext}

// longest is the longest name of a change table: what belongs to it has longer ones, and PostgreSQL allows 63 bytes.
const longest = 52

// DefaultName is a change table's name, unless source__track_table says another: rowrelay_changes_<table>, and
// rowrelay_history_<table> of one that keeps every change.
func DefaultName(table string, every bool) string {
	name := "rowrelay_changes_" + table
	if every {
		name = "rowrelay_history_" + table
	}
	if len(name) <= longest {
		return name
	}
	sum := sha256.Sum256([]byte(table))
	return strings.ToValidUTF8(name[:longest-9], "") + "_" + hex.EncodeToString(sum[:4])
}

// Of returns the change table of a table, for some writes; name is source__track_table, or "", whose the poller. Errors
// wrap poller.ErrConfig: the table cannot have one.
func Of(d engine.Dialect, t *engine.Table, name, whose string, writes Writes) (*engine.ChangeTable, error) {
	if t.View {
		return nil, refused("%s is a view, and no trigger sees what changes in it: name the table", t.Name)
	}
	if len(t.PrimaryKey) == 0 {
		return nil, refused("could not find primary key created in table %s: changes are told by it; add one", t.Name)
	}
	if t.Unproved != "" {
		return nil, refused("several rows of %s may have one key: %s", t.Name, t.Unproved)
	}
	var taken []string
	for i := range t.Columns {
		c := &t.Columns[i]
		if slices.ContainsFunc(reserved, func(n string) bool { return strings.EqualFold(n, c.Name) }) {
			taken = append(taken, c.Name)
		}
		if !slices.Contains(t.PrimaryKey, c.Name) {
			continue
		}
		if c.Nullable {
			return nil, refused("the key's column %q of %s can be NULL, and a NULL identifies no row: declare it NOT NULL",
				c.Name, t.Name)
		}
		if why := cmp.Or(c.Value.Refused, c.Value.NotKey()); why != "" {
			return nil, refused("the key's column %q of %s has type %s, and no change can be told by it: %s", c.Name, t.Name,
				c.Type, why)
		}
	}
	if t.RowSecurity {
		return nil, refused("row security may hide rows of %s from this login, and a hidden row would be told as deleted: "+
			"ALTER ROLE … BYPASSRLS, or let the table's owner read it", t.Name)
	}
	if len(taken) > 0 {
		return nil, refused("found reserved column name(s) in table %s: %s: rename them", t.Name, strings.Join(taken, ", "))
	}
	c, err := named(d, t, name, whose, writes)
	if err != nil {
		return nil, err
	}
	return c, watch(d, c, t, writes)
}

// refused says why a table has no change table.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: source__mode=changetracking: "+format, append([]any{poller.ErrConfig}, args...)...)
}

// named is Of for a table whatever it is like: what was installed on it can be removed.
func named(d engine.Dialect, t *engine.Table, name, whose string, writes Writes) (*engine.ChangeTable, error) {
	s := d.Syntax()
	builtIn := s.Tracking.BuiltIn != nil
	parts, err := engine.SplitName(t.From)
	if err != nil {
		return nil, fmt.Errorf("%w: the table's name %s: %w", poller.ErrConfig, t.From, err)
	}
	switch {
	case builtIn && t.Foreign:
		return nil, refused("%s lies in another database than the connection's, and each counts its own versions: name that "+
			"database in the connection string", t.Name)
	case builtIn && name != "":
		return nil, refused("source__track_table is the table that triggers keep, and %s needs none: leave it out", s.Name)
	case builtIn:
		return &engine.ChangeTable{Of: t.From, OfParts: parts, Key: t.PrimaryKey, Poller: whose,
			ReadCommitted: writes.ReadCommitted}, nil
	case s.Tracking.Counted && len(parts) > 1:
		return nil, refused("%s lies in an attached file: name a table of the file itself", t.Name)
	}
	if name == "" {
		name = DefaultName(parts[len(parts)-1], writes.Every)
	}
	if len(name) > longest {
		return nil, refused("source__track_table %q is longer than %d bytes", name, longest)
	}
	c := &engine.ChangeTable{Of: t.From, OfParts: parts, Key: t.PrimaryKey, Name: name, Poller: whose}
	if writes.Every {
		c.History = &engine.History{}
	}
	return c, nil
}

// Writes says which writes of a row count: those that change one of some columns (source__changed), and are not made
// under one's own context (source__ignore_context). The zero value is all.
type Writes struct {
	Changed []string
	Ignored string
	// Every says that each is kept, and not the last of each key; Before that the row before it is, too. Columns, where
	// there are any, are all that is kept beside the key, the order key and Changed.
	Every, Before     bool
	Columns, OrderKey []string
	// ReadCommitted says that they are read in no snapshot, where the engine tracks changes by itself.
	ReadCommitted bool

	exact bool // a history records no others
}

// watch has a change table record when such a write was the last, or a history every write.
func watch(d engine.Dialect, c *engine.ChangeTable, t *engine.Table, writes Writes) error {
	c.Changed, c.Ignored = nil, writes.Ignored
	if s := d.Syntax(); c.Ignored != "" && s.Tracking.Contexts == "" {
		return fmt.Errorf("%w: source__ignore_context: %s has no way for a writer to tell a trigger who it is: leave it out, "+
			"and let the receiver know its own writes by a column of the row", poller.ErrConfig, s.Name)
	}
	for _, name := range writes.Changed {
		at := slices.IndexFunc(t.Columns, func(col engine.Column) bool { return strings.EqualFold(col.Name, name) })
		switch {
		case at < 0:
			return fmt.Errorf("%w: source__changed: table %s has no column %q", poller.ErrConfig, t.Name, name)
		case slices.Contains(t.PrimaryKey, t.Columns[at].Name):
			return fmt.Errorf("%w: source__changed: %q is part of the key, and another key is another row: a delete and an insert, "+
				"which are delivered anyway: leave it out", poller.ErrConfig, name)
		case t.Columns[at].Unwatched:
			return fmt.Errorf("%w: source__changed: %q is computed, and what tracks the table does not see that it changes: name "+
				"the columns that it is computed from", poller.ErrConfig, name)
		case !slices.Contains(c.Changed, t.Columns[at].Name):
			c.Changed = append(c.Changed, t.Columns[at].Name)
		}
	}
	if writes.Every {
		return record(d, c, t, writes)
	}
	return nil
}

// BuiltIn is what a catalog would say of a change table, where the engine tracks changes by itself.
func BuiltIn(b *engine.BuiltIn, t *engine.Table) *engine.Table {
	order := append([]string{b.Version.Name}, t.PrimaryKey...)
	created := b.Version
	created.Name = engine.ChangeCreated
	return &engine.Table{PrimaryKey: t.PrimaryKey, Columns: append(slices.Clone(t.Columns), b.Version, created),
		Indexes: []engine.Index{{Name: "change tracking", Columns: order, Unique: true, Declared: len(order)}}}
}

// Join returns the table whose rows are changes: the user's, read through its change table, in the order of versions.
// changes is what the catalog says of the change table.
func Join(d engine.Dialect, t, changes *engine.Table, c *engine.ChangeTable) (engine.Table, error) {
	if !holds(changes, engine.ChangeVersion, engine.ChangeCreated) {
		return engine.Table{}, foreign(c, c.Name)
	}
	s := d.Syntax()
	version := slices.IndexFunc(changes.Columns, func(col engine.Column) bool { return col.Name == engine.ChangeVersion })
	if !slices.Equal(changes.PrimaryKey, t.PrimaryKey) {
		return engine.Table{}, stale(c, fmt.Sprintf("its key is (%s), and the table's is (%s)",
			strings.Join(changes.PrimaryKey, ", "), strings.Join(t.PrimaryKey, ", ")))
	}
	if name := c.Touched(); name != "" && s.Tracking.BuiltIn == nil && !holds(changes, name) {
		return engine.Table{}, stale(c, "it does not record the writes that source__changed "+
			"and source__ignore_context name (source__track_table names another change table, where this one serves others)")
	}
	joined := *t
	joined.Indexes, joined.Columns = changes.Indexes, slices.Clone(t.Columns)
	var columns, on []string
	for i := range t.Columns {
		col := &t.Columns[i]
		from := "t"
		if slices.Contains(t.PrimaryKey, col.Name) {
			from = "c"
			at := slices.IndexFunc(changes.Columns, func(k engine.Column) bool { return k.Name == col.Name })
			own := &changes.Columns[at]
			if !fit(own, col) {
				return engine.Table{}, stale(c, fmt.Sprintf("its %q is %s, and the table's is %s", col.Name, own.Type, col.Type))
			}
			// One that compares bytes keeps the changes of all rows apart, whatever the table's is.
			if own.Collation != "" && !strings.EqualFold(own.Collation, col.Collation) {
				return engine.Table{}, stale(c, fmt.Sprintf("its %q has the collation %s, which the table's has not: several rows "+
					"could have one change", col.Name, own.Collation))
			}
		}
		text := from + "." + s.Quote(col.Name)
		if from == "c" && s.Tracking.BuiltIn != nil { // of keys that a collation holds equal, the row's own spelling
			text = "COALESCE(t." + s.Quote(col.Name) + ", " + text + ") AS " + s.Quote(col.Name)
		}
		columns = append(columns, text)
		joined.Columns[i].Serial = false
	}
	for _, k := range t.PrimaryKey {
		on = append(on, "t."+s.Quote(k)+" = c."+s.Quote(k))
	}
	first := s.Quote(t.PrimaryKey[0])
	columns = append(columns, "c."+s.Quote(engine.ChangeVersion), "c."+s.Quote(engine.ChangeCreated),
		"t."+first+" AS "+s.Quote(engine.ChangePresent))
	if name := c.Touched(); name != "" {
		if s.Tracking.BuiltIn != nil {
			name = engine.ChangeTouched
		}
		columns = append(columns, "c."+s.Quote(name)+" AS "+s.Quote(engine.ChangeTouched))
	}
	told := writtenOf(&s, c)
	for i := range told {
		columns = append(columns, "c."+s.Quote(told[i].Name))
	}
	joined.Changes = c
	c.Whole = whole(&s, t, changes.Columns[version].Type, c)
	shown := ""
	if s.Tracking.BuiltIn != nil {
		shown = "\n\tWHERE c." + s.Quote(engine.ChangeGone) + " = 1 OR t." + first + " IS NOT NULL"
	}
	rows := func(changes string, also ...string) string {
		return "(\n\tSELECT " + strings.Join(append(columns[:len(columns):len(columns)], also...), ", ") + "\n\tFROM " + changes + " AS c LEFT JOIN " + t.From +
			" AS t ON " + strings.Join(on, " AND ") + shown + "\n)"
	}

	value := changes.Columns[version].Value
	value.Zoned = value.Kind.IsTime() // UTC, whatever its type says
	value.CursorWarning = ""          // the triggers set it
	own := engine.Column{Name: engine.ChangeVersion, Type: changes.Columns[version].Type, Value: value}
	created, touched := own, own
	created.Name, touched.Name = engine.ChangeCreated, engine.ChangeTouched
	present := joined.Columns[slices.IndexFunc(t.Columns,
		func(col engine.Column) bool { return col.Name == t.PrimaryKey[0] })]
	present.Name, present.Nullable = engine.ChangePresent, true
	joined.Columns = append(joined.Columns, own, created, present)
	if c.Touched() != "" {
		joined.Columns = append(joined.Columns, touched)
	}
	joined.Columns = append(joined.Columns, told...)
	if b := s.Tracking.BuiltIn; b != nil {
		c.Rows, c.Newer = rows(b.Changes(c, "0")), rows(b.Changes(c, "@"+b.Since))
		c.Joined = rows
		c.OfKeys = func(keys string) string { return rows(b.OfKeys(c, keys)) }
		return joined, nil
	}
	name := c.In(s.Quote, c.Name)
	c.Rows = rows(name)
	ordered := "h." + s.Quote(engine.ChangeVersion) // PostgreSQL before 16 knows no MAX of an xid8
	last := "(SELECT " + ordered + " FROM " + name + " AS h ORDER BY " + ordered + " DESC LIMIT 1)"
	if s.Tracking.Snapshots {
		c.Floor, c.Head = Floor(&s, c), last
		return joined, nil
	}
	floor, head := own, own
	floor.Name, head.Name = engine.StateFloor, engine.ChangeHead
	floor.Value.Expr, head.Value.Expr = engine.Literal(Floor(&s, c)), engine.Literal(last)
	joined.Columns = append(joined.Columns, floor, head)
	return joined, nil
}

// writtenOf are the columns of what was written, and by whom: the engine tracks that itself, or nobody does.
func writtenOf(s *engine.Syntax, c *engine.ChangeTable) []engine.Column {
	if s.Tracking.BuiltIn == nil {
		return nil
	}
	return s.Tracking.BuiltIn.Written(c)
}

// ParseFloor reads what Floor says where positions are snapshots: a snapshot may be a position if it sees the version
// of the floor, and every one up to that of the purge.
func ParseFloor(text string) (floor, purged uint64, err error) {
	if _, err = fmt.Sscanf(text, "%d %d", &floor, &purged); err != nil {
		return 0, 0, fmt.Errorf("read the change table's floor: %w", err)
	}
	return floor, purged, nil
}

// Floor is the expression that reads a change table's floor; where positions are snapshots, the floor and up to where
// changes were purged, as text, with a space in between.
func Floor(s *engine.Syntax, c *engine.ChangeTable) string {
	if b := s.Tracking.BuiltIn; b != nil {
		return b.Floor(c)
	}
	floor := "s." + s.Quote(engine.StateFloor)
	if s.Tracking.Snapshots && c.History == nil {
		floor += "::text || ' ' || s." + s.Quote(engine.StatePurged) + "::text"
	}
	return "(SELECT " + floor + " FROM " + c.In(s.Quote, c.State()) + " AS s)"
}

// stale says that a change table is not that of its table any more.
func stale(c *engine.ChangeTable, why string) error {
	return fmt.Errorf("%w: the change table %s does not fit %s: %s. Make it anew: rowrelay track uninstall %s, "+
		"then rowrelay track install %s; then rowrelay state reset %s --to snapshot", poller.ErrConfig, c.Name, c.Of, why,
		c.Poller, c.Poller, poller.AnyDocument)
}

// fit reports whether a column of ours takes what the table's holds: it is declared as that, or as what a domain is
// made of; on SQLite one without a type takes anything.
func fit(mine, col *engine.Column) bool { return mine.Type == col.Type || mine.Type == col.Base }

// holds reports whether a table has these columns.
func holds(t *engine.Table, columns ...string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool {
		return !slices.ContainsFunc(t.Columns, func(c engine.Column) bool { return c.Name == name })
	})
}

// foreign says that a table that stands where the change table or its state is looked for is neither. Nothing is done
// to it: it is somebody's.
func foreign(c *engine.ChangeTable, name string) error {
	return fmt.Errorf("%w: source__track_table=%s: the table %s is there, and was not made by rowrelay track install (or with another source__every_change): name another",
		poller.ErrConfig, c.Name, name)
}

// Missing says that there is no change table.
func Missing(c *engine.ChangeTable) error {
	return fmt.Errorf("%w: could not find change tracking enabled for table %s: %s is not there, or the user may not "+
		"read it. Install it: rowrelay track install %s", poller.ErrConfig, c.Of, c.Title(), c.Poller)
}

// Broken says that triggers do not keep a change table.
func Broken(c *engine.ChangeTable, faults []string) error {
	return fmt.Errorf("%w: %s misses changes: %s. Install it again: rowrelay track install %s; "+
		"the poller then stops at the gap, and says how to go on", poller.ErrConfig, c.Title(), strings.Join(faults, "; "),
		c.Poller)
}

// Outdated says that an older version made a change table, or what keeps it; of a history that columns came or went.
func Outdated(c *engine.ChangeTable) string {
	if c.History != nil {
		return fmt.Sprintf("the history %s records other columns than the table has, or its triggers fire after others: "+
			"rowrelay track install %s brings it up to date, and no change is missed", c.Name, c.Poller)
	}
	return fmt.Sprintf("the change table %s, or the triggers that keep it, are of an older version of Rowrelay: "+
		"rowrelay track install %s brings them up to date, and no change is missed", c.Name, c.Poller)
}

// Off says that the engine's own tracking cannot be read as it is.
func Off(c *engine.ChangeTable, faults []string) error {
	return fmt.Errorf("%w: could not find change tracking enabled for table %s: %s. All that switches it on: rowrelay track "+
		"install %s", poller.ErrConfig, c.Of, strings.Join(faults, "; "), c.Poller)
}
