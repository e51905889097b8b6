package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// resolver finds the settings' columns in the catalog and proves what must hold. It gathers every fault, so that a
// settings page is mended in one go.
type resolver struct {
	cfg    *Config
	plan   *Plan
	faults []error
}

func (r *resolver) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

func (r *resolver) all() []engine.Column { return r.plan.Table.Columns }

// query is the user's query without blanks at its ends.
func (r *resolver) query() string { return strings.TrimSpace(r.cfg.Query) }

func (r *resolver) checkText() {
	text := r.plan.Syntax.Text
	if f := text.Condition(r.cfg.Where); r.cfg.Where != "" && f != nil {
		r.fault("source__where %s: %s", f.Problem, f.Remedy)
	}
	if f := text.Query(r.cfg.Query); r.cfg.Query != "" && f != nil {
		r.fault("source__query %s: %s", f.Problem, f.Remedy)
	}
	seen := map[string]bool{}
	for _, c := range r.all() {
		if seen[c.Name] {
			r.fault("source__query gives two columns the name %q: give each its own with AS", c.Name)
		}
		seen[c.Name] = true
		if !validName(c.Name) {
			r.fault("a column of %s has a name that is not valid UTF-8: rename it, or write a query that leaves it out",
				r.plan.Table.Name)
		}
	}
}

// columns resolves the names of one setting.
func (r *resolver) columns(setting string, names []string) []int {
	var at []int
	for _, name := range names {
		i, err := findColumn(r.all(), name)
		if err != nil {
			r.fault("%s: %s: %w", setting, r.plan.Table.Name, err)
			continue
		}
		if slices.Contains(at, i) {
			r.fault("%s names column %q twice", setting, r.all()[i].Name)
			continue
		}
		at = append(at, i)
	}
	return at
}

// key is source__key, or the primary key.
func (r *resolver) key() []int {
	if len(r.cfg.Key) > 0 {
		return r.columns("source__key", r.cfg.Key)
	}
	t := &r.plan.Table
	switch {
	case r.cfg.Query != "":
		r.fault("source__key is required for a query: name the columns that identify a row, so that rows with one cursor can be told apart and paged")
	case len(t.PrimaryKey) == 0 && t.View:
		r.fault("source__key is required: %s is a view, and a view has no primary key; name the columns that identify a row in it", t.Name)
	case len(t.PrimaryKey) == 0:
		r.fault("source__key is required: %s has no primary key; name the columns of a unique index whose columns are all NOT NULL, or add a primary key", t.Name)
	default:
		return r.columns("the primary key", t.PrimaryKey)
	}
	return nil
}

// projection is source__columns in the table's order, or every column; a column without a lossless form is a fault.
func (r *resolver) projection() []int {
	at := r.columns("source__columns", r.cfg.Columns)
	if len(r.cfg.Columns) == 0 {
		for i := range r.all() {
			at = append(at, i)
		}
		at = at[:len(at)-r.hidden()]
	}
	slices.Sort(at)
	for _, i := range at {
		r.checkMapped(i)
	}
	return at
}

// checkMapped reports a column whose type has no lossless form, with what to do about it.
func (r *resolver) checkMapped(i int) {
	c := &r.all()[i]
	if c.Value.Refused == "" {
		return
	}
	remedy := "leave it out by source__columns"
	if c.Value.Cast != "" && !r.cfg.Tracked && r.plan.Table.History == nil {
		name := r.plan.Syntax.Quote(c.Name)
		remedy = fmt.Sprintf("select %s AS %s in a source__query, or %s", engine.Fill(c.Value.Cast, name), name, remedy)
	}
	r.fault("column %q of %s has type %s, %s: %s", c.Name, r.plan.Table.Name, c.Type, c.Value.Refused, remedy)
}

// checkCursor proves that the cursor's columns can carry a position.
func (r *resolver) checkCursor(at []int) {
	if len(r.cfg.Cursor) == 0 {
		r.fault("source__cursor is required in cursor mode: name the column that grows with every change (an updated_at or a rowversion)")
	}
	for _, i := range at {
		c := &r.all()[i]
		if why := CursorRefusal(c); why != "" {
			r.fault("source__cursor: column %q of %s has type %s, %s", c.Name, r.plan.Table.Name, cmp.Or(c.Type, "(none)"), why)
		}
	}
}

const cursorRemedy = "name a column that grows with every change: a timestamp that every write sets, an integer version, a rowversion"

// CursorRefusal says why a column cannot be a cursor, with the remedy; "" when it can.
func CursorRefusal(c *engine.Column) string {
	if c.Value.NoCursor != "" {
		return c.Value.NoCursor
	}
	switch c.Value.Kind {
	case engine.KindNone:
		return c.Value.Refused + ": " + cursorRemedy
	case engine.KindText:
		return "and text is not a cursor: its order is the collation's, and new values do not sort after old ones; " +
			cursorRemedy
	case engine.KindUUID:
		return "and a uuid is not a cursor: new values do not sort after old ones; " + cursorRemedy
	case engine.KindFloat:
		return "and a float is not a cursor: it rounds, and NaN has no place in the order; CAST it to a decimal in a query, or " + cursorRemedy
	case engine.KindTime:
		return "and a time of day is not a cursor: it begins again each day; " + cursorRemedy
	}
	if kindOfCursor(c.Value.Kind) == "" {
		return "which is not a cursor; " + cursorRemedy
	}
	return ""
}

// checkKey proves that the key is NOT NULL and unique, as far as the catalog knows.
func (r *resolver) checkKey(at []int) {
	t := &r.plan.Table
	for _, i := range at {
		c := &r.all()[i]
		switch why := c.Value.NotKey(); {
		case why != "":
			r.fault("source__key: column %q of %s has type %s, %s", c.Name, t.Name, c.Type, why)
		case c.Value.Kind == engine.KindNone:
			r.checkMapped(i)
		}
	}
	if r.cfg.Query != "" || t.View {
		r.plan.KeyProof = "not provable: the catalog knows no key of a query or view; two rows with one (cursor, key) in a page fail the tick"
		return
	}
	names := keyset.ColumnNames(keyset.Pick(r.all(), at))
	for _, i := range at {
		c := &r.all()[i]
		if !c.Nullable {
			continue
		}
		if t.LooseKey && slices.Contains(t.PrimaryKey, c.Name) {
			r.plan.Warnings = append(r.plan.Warnings,
				fmt.Sprintf("key column %q of %s may hold NULL, although it is in the primary key: declare it NOT NULL; a row with NULL there fails the tick", c.Name, t.Name))
			continue
		}
		r.fault("source__key: column %q of %s can be NULL, and a NULL identifies no row: make it NOT NULL, or name other columns", c.Name, t.Name)
	}
	if proof := t.Unique(names); proof != "" {
		r.plan.KeyProved, r.plan.KeyProof = true, proof
		return
	}
	switch {
	case t.Unproved != "":
		r.fault("source__key: nothing proves that (%s) is unique in %s: %s", strings.Join(names, ", "), t.Name, t.Unproved)
	case len(names) > 0:
		r.faults = append(r.faults, errors.New("source__key: no primary key and no unique index of "+t.Name+" proves that ("+
			strings.Join(names, ", ")+") is unique: leave source__key out to use the primary key, or create a unique index on it"))
	}
}

// deleteWhen is the soft-delete column; -1 when there is none.
func (r *resolver) deleteWhen() int {
	if r.cfg.DeleteWhen == "" {
		return -1
	}
	at := r.columns("source__delete_when", []string{r.cfg.DeleteWhen})
	if len(at) == 0 {
		return -1
	}
	c := &r.all()[at[0]]
	switch c.Value.Kind {
	case engine.KindBool, engine.KindInteger, engine.KindDecimal, engine.KindDate, engine.KindDateTime, engine.KindInstant,
		engine.KindOffsetTime:
	default:
		if c.Type == "" {
			r.fault("source__delete_when: column %q of %s has no declared type, as what SQLite computes has none: name a table's own column; "+
				"one that the table computes is a generated column (ALTER TABLE … ADD COLUMN gone BOOLEAN AS (…))", c.Name,
				r.plan.Table.Name)
			break
		}
		r.fault("source__delete_when: column %q of %s has type %s, which is neither true or false, nor a number, nor a time: "+
			"%s", c.Name, r.plan.Table.Name, c.Type, r.plan.Syntax.Advice.Flag)
	}
	return at[0]
}

// insertOnly are names of columns that are set once and stay: as a cursor they show new rows only.
var insertOnly = []string{
	"created", "created_at", "createdat", "created_on", "createdon", "created_date", "createddate", "created_time",
	"createdtime", "create_date", "createdate", "create_time", "createtime", "creation_date", "creationdate",
	"creation_time",
	"date_created", "datecreated", "inserted", "inserted_at", "insertedat", "inserted_on", "insertedon", "insert_date",
	"insert_time", "inserttime", "date_added", "added_at", "addedat",
}

// warn says what is allowed but probably not meant.
func (r *resolver) warn(cursor, key []int) {
	p := r.plan
	add := func(format string, args ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...)) }
	first := r.all()[cursor[0]]
	switch {
	case slices.Contains(insertOnly, strings.ToLower(first.Name)):
		add("source__cursor %q looks as if it were set once, when a row is inserted: updates will not be seen; name a column that every write sets", first.Name)
	case slices.Equal(cursor, key):
		add("source__cursor is the key itself: new rows are seen, updates are not")
	}
	if first.Value.Kind == engine.KindDate && r.cfg.LateWindow < 24*time.Hour {
		add("source__cursor %q is a date, which all rows of a day share: a row that is written later that day, with a smaller key than one "+
			"that was delivered, is never seen; name a column that has the time, or set source__late_window=24h", first.Name)
	}
	for _, i := range cursor {
		if w := r.all()[i].Value.CursorWarning; w != "" {
			add("source__cursor %q %s", r.all()[i].Name, w)
		}
	}
	if !p.KeyProved {
		add("source__key is %s", p.KeyProof)
	}
	if p.Table.RowSecurity {
		add("row security may hide rows of %s from this login: they are not delivered, and one that comes into sight later may never be; "+
			"unless that is meant, ALTER ROLE … BYPASSRLS, or let the table's owner read it", p.Table.Name)
	}
	if p.Sel.Query == "" && p.IndexName == "" {
		if p.IndexAdvice == "" {
			add("no index of the view %s is known to serve the order (%s): check the plan of the statement", p.Table.Name,
				strings.Join(keyset.ColumnNames(p.Sel.Order), ", "))
		} else {
			add("no index serves the order of %s, so every fetch reads and sorts the table: %s", p.Table.Name, p.IndexAdvice)
		}
	}
}

// hidden is how many of the last columns are the change table's own, and no part of a row.
func (r *resolver) hidden() int {
	first := engine.ChangeVersion
	switch t := &r.plan.Table; {
	case t.History != nil:
		first = engine.HistoryChange
	case t.Changes == nil:
		return 0
	}
	return len(r.all()) - slices.IndexFunc(r.all(), func(c engine.Column) bool { return c.Name == first })
}
