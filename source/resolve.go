package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// resolver finds the settings' columns in the catalog and proves what must hold. It gathers every fault, so that a
// settings page is mended in one go.
type resolver struct {
	cfg    *Config
	plan   *plan
	faults []error
}

func (r *resolver) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

func (r *resolver) all() []column { return r.plan.table.columns }

// query is the user's query without blanks at its ends.
func (r *resolver) query() string { return strings.TrimSpace(r.cfg.Query) }

func (r *resolver) checkText() {
	text := r.plan.dialect.syntax().text
	if f := text.Condition(r.cfg.Where); r.cfg.Where != "" && f != nil {
		r.fault("source__where %s: %s", f.Problem, f.Remedy)
	}
	if f := text.Query(r.cfg.Query); r.cfg.Query != "" && f != nil {
		r.fault("source__query %s: %s", f.Problem, f.Remedy)
	}
	seen := map[string]bool{}
	for _, c := range r.all() {
		if seen[c.name] {
			r.fault("source__query gives two columns the name %q: give each its own with AS", c.name)
		}
		seen[c.name] = true
		if !validName(c.name) {
			r.fault("a column of %s has a name that is not valid UTF-8: rename it, or write a query that leaves it out", r.plan.table.name)
		}
	}
}

// columns resolves the names of one setting.
func (r *resolver) columns(setting string, names []string) []int {
	var at []int
	for _, name := range names {
		i, err := findColumn(r.all(), name)
		if err != nil {
			r.fault("%s: %s: %w", setting, r.plan.table.name, err)
			continue
		}
		if slices.Contains(at, i) {
			r.fault("%s names column %q twice", setting, r.all()[i].name)
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
	t := &r.plan.table
	switch {
	case r.cfg.Query != "":
		r.fault("source__key is required for a query: name the columns that identify a row, so that rows with one cursor can be told apart and paged")
	case len(t.primaryKey) == 0 && t.view:
		r.fault("source__key is required: %s is a view, and a view has no primary key; name the columns that identify a row in it", t.name)
	case len(t.primaryKey) == 0:
		r.fault("source__key is required: %s has no primary key; name the columns of a unique index whose columns are all NOT NULL, or add a primary key", t.name)
	default:
		return r.columns("the primary key", t.primaryKey)
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
	if c.value.refused == "" {
		return
	}
	mend := "leave it out by source__columns"
	if c.value.cast != "" {
		name := r.plan.dialect.quote(c.name)
		mend = fmt.Sprintf("select %s AS %s in a source__query, or %s", fill(c.value.cast, name), name, mend)
	}
	r.fault("column %q of %s has type %s, %s: %s", c.name, r.plan.table.name, c.typ, c.value.refused, mend)
}

// checkCursor proves that the cursor's columns can carry a position.
func (r *resolver) checkCursor(at []int) {
	if len(r.cfg.Cursor) == 0 {
		r.fault("source__cursor is required in cursor mode: name the column that grows with every change (an updated_at or a rowversion)")
	}
	for _, i := range at {
		c := &r.all()[i]
		if why := cursorRefusal(c); why != "" {
			r.fault("source__cursor: column %q of %s has type %s, %s", c.name, r.plan.table.name, c.typ, why)
		}
	}
}

const cursorMend = "name a column that grows with every change: a timestamp that every write sets, an integer version, a rowversion"

// cursorRefusal says why a column cannot be a cursor, with the mend; "" when it can.
func cursorRefusal(c *column) string {
	if c.value.noCursor != "" {
		return c.value.noCursor
	}
	switch c.value.kind {
	case kindNone:
		return c.value.refused + ": " + cursorMend
	case kindText:
		return "and text is not a cursor: its order is the collation's, and new values do not sort after old ones; " + cursorMend
	case kindUUID:
		return "and a uuid is not a cursor: new values do not sort after old ones; " + cursorMend
	case kindFloat:
		return "and a float is not a cursor: it rounds, and NaN has no place in the order; CAST it to a decimal in a query, or " + cursorMend
	case kindTime:
		return "and a time of day is not a cursor: it begins again each day; " + cursorMend
	}
	if c.value.kind.cursorKind() == "" {
		return "which is not a cursor; " + cursorMend
	}
	return ""
}

// checkKey proves that the key is NOT NULL and unique, as far as the catalog knows.
func (r *resolver) checkKey(at []int) {
	t := &r.plan.table
	for _, i := range at {
		c := &r.all()[i]
		switch {
		case c.value.noKey != "":
			r.fault("source__key: column %q of %s has type %s, %s", c.name, t.name, c.typ, c.value.noKey)
		case c.value.kind == kindNone:
			r.checkMapped(i)
		case c.value.kind == kindFloat, c.value.kind == kindJSON:
			r.fault("source__key: column %q of %s has type %s, which does not identify a row: its values have no exact equality; name other columns", c.name, t.name, c.typ)
		}
	}
	if r.cfg.Query != "" || t.view {
		r.plan.keyProof = "not provable: the catalog knows no key of a query or view; two rows with one (cursor, key) in a page fail the tick"
		return
	}
	names := columnNames(pick(r.all(), at))
	for _, i := range at {
		c := &r.all()[i]
		if !c.nullable {
			continue
		}
		if t.looseKey && slices.Contains(t.primaryKey, c.name) {
			r.plan.warnings = append(r.plan.warnings, fmt.Sprintf("key column %q of %s may hold NULL, although it is in the primary key: declare it NOT NULL; a row with NULL there fails the tick", c.name, t.name))
			continue
		}
		r.fault("source__key: column %q of %s can be NULL, and a NULL identifies no row: make it NOT NULL, or name other columns", c.name, t.name)
	}
	if covers(names, t.primaryKey) {
		r.plan.keyProved, r.plan.keyProof = true, "primary key ("+strings.Join(t.primaryKey, ", ")+")"
		return
	}
	for _, ix := range t.indexes {
		if ix.unique && !ix.partial && ix.declared > 0 && ix.declared <= len(ix.columns) && covers(names, ix.columns[:ix.declared]) {
			r.plan.keyProved, r.plan.keyProof = true, "unique index "+ix.name
			return
		}
	}
	if len(names) > 0 {
		r.faults = append(r.faults, errors.New("source__key: no primary key and no unique index of "+t.name+" proves that ("+
			strings.Join(names, ", ")+") is unique: leave source__key out to use the primary key, or create a unique index on it"))
	}
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
	switch c.value.kind {
	case kindBool, kindInteger, kindDecimal, kindDate, kindDateTime, kindInstant, kindOffsetTime:
	default:
		if c.typ == "" {
			r.fault("source__delete_when: column %q of %s has no declared type, as what SQLite computes has none: name a table's own column; "+
				"one that the table computes is a generated column (ALTER TABLE … ADD COLUMN gone BOOLEAN AS (…))", c.name, r.plan.table.name)
			break
		}
		r.fault("source__delete_when: column %q of %s has type %s, which is neither true or false, nor a number, nor a time: "+
			"%s", c.name, r.plan.table.name, c.typ, r.deleteMend())
	}
	return at[0]
}

// deleteMend is what gives a soft delete a column of its own.
func (r *resolver) deleteMend() string {
	if r.plan.dialect.engine() == engineSQLite {
		return "name another column, or add a generated column that is 0 or 1 (ALTER TABLE … ADD COLUMN gone BOOLEAN AS (…))"
	}
	return "write a query with a CASE that gives 0 or 1"
}

// insertOnly are names of columns that are set once and stay: as a cursor they show new rows only.
var insertOnly = []string{
	"created", "created_at", "createdat", "created_on", "createdon", "created_date", "createddate", "created_time",
	"createdtime", "create_date", "createdate", "create_time", "createtime", "creation_date", "creationdate", "creation_time",
	"date_created", "datecreated", "inserted", "inserted_at", "insertedat", "inserted_on", "insertedon", "insert_date",
	"insert_time", "inserttime", "date_added", "added_at", "addedat",
}

// warn says what is allowed but probably not meant.
func (r *resolver) warn(cursor, key []int) {
	p := r.plan
	add := func(format string, args ...any) { p.warnings = append(p.warnings, fmt.Sprintf(format, args...)) }
	first := r.all()[cursor[0]]
	switch {
	case slices.Contains(insertOnly, strings.ToLower(first.name)):
		add("source__cursor %q looks as if it were set once, when a row is inserted: updates will not be seen; name a column that every write sets", first.name)
	case slices.Equal(cursor, key):
		add("source__cursor is the key itself: new rows are seen, updates are not")
	}
	for _, i := range cursor {
		if w := r.all()[i].value.cursorWarning; w != "" {
			add("source__cursor %q %s", r.all()[i].name, w)
		}
	}
	if !p.keyProved {
		add("source__key is %s", p.keyProof)
	}
	if p.sel.query == "" && p.indexName == "" {
		if p.indexAdvice == "" {
			add("no index of the view %s is known to serve the order (%s): check the plan of the statement", p.table.name, strings.Join(columnNames(p.sel.order), ", "))
		} else {
			add("no index serves the order of %s, so every fetch reads and sorts the table: %s", p.table.name, p.indexAdvice)
		}
	}
}
