package tracking

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// whole is what is read of a table itself: each row with the version of its last change, so that one statement sees
// both. Its columns are those of Join's rows.
func whole(s *engine.Syntax, t *engine.Table, versionType string, c *engine.ChangeTable) string {
	var columns []string
	for i := range t.Columns {
		columns = append(columns, "t."+s.Quote(t.Columns[i].Name))
	}
	before := "CAST(" + s.Tracking.Before + " AS " + versionType + ")" // of one type, which the text alone need not have
	known := func(column string) string { return "COALESCE(c." + s.Quote(column) + ", " + before + ")" }
	created := known(engine.ChangeCreated)
	if s.Tracking.BuiltIn != nil {
		created = before
	}
	columns = append(columns, known(engine.ChangeVersion)+" AS "+s.Quote(engine.ChangeVersion),
		created+" AS "+s.Quote(engine.ChangeCreated), "t."+s.Quote(t.PrimaryKey[0])+" AS "+s.Quote(engine.ChangePresent))
	if c.Touched() != "" { // nothing is left out here
		columns = append(columns, before+" AS "+s.Quote(engine.ChangeTouched))
	}
	for _, told := range writtenOf(s, c) {
		columns = append(columns, "c."+s.Quote(told.Name))
	}
	return "(\n\tSELECT " + strings.Join(columns, ", ") + "\n\tFROM " + t.From + " AS t" + lastChange(s, t, c) + "\n)"
}

// lastChange joins a row with its last change.
func lastChange(s *engine.Syntax, t *engine.Table, c *engine.ChangeTable) string {
	if s.Tracking.OfRow != nil {
		return s.Tracking.OfRow(c)
	}
	on := make([]string, len(t.PrimaryKey))
	for i, k := range t.PrimaryKey {
		on[i] = "c." + s.Quote(k) + " = t." + s.Quote(k)
	}
	return " LEFT JOIN " + c.In(s.Quote, c.Name) + " AS c ON " + strings.Join(on, " AND ")
}
