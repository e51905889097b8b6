package plan

import (
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// CheckCursorValue refuses what sorts after every value to come: text in a column of numbers in SQLite, and text in a
// column of times that is no time; NaN and infinity in PostgreSQL. A position there would silently pass over all
// further rows.
func (p *Plan) CheckCursorValue(col *engine.Column, v []byte) error {
	var last bool
	switch k := col.Value.Kind; {
	case v[0] != '"':
	case k == engine.KindInteger, k == engine.KindDecimal:
		last = !scalar.IsDecimal(string(v[1:len(v)-1]), true) && string(v) != `"-Infinity"`
	case k.IsTime() && p.StoredTimes:
		if _, ok := timeform.Parse(v, time.UTC); !ok && timeform.ClassOf(v) == '"' {
			return fmt.Errorf("column %q of type %s holds %.60s, which is no time (such as 2026-04-07 01:23:45): its place among times is any, and rows would be passed over; "+
				"correct the row, or exclude it by source__where", col.Name, col.Type, v)
		}
	case k.IsTime():
		last = string(v) == `"infinity"`
	}
	if !last {
		return nil
	}
	return fmt.Errorf("column %q of type %s holds %.60s, which sorts after all values to come: no row after it would ever be delivered; "+
		"correct the row, or exclude it by source__where", col.Name, col.Type, v)
}

// ErrForms reports a stored time of another form than the position's, and the way on. What was delivered is told by the
// position, which means nothing among times that were written anew: so the way on goes back before the row.
func (p *Plan) ErrForms(col *engine.Column, v []byte, others timeform.Form) error {
	back := "--to beginning"
	clocks := ""
	if others.ChangesZone(p.Forms.Of(v)) {
		clocks = " (an offset that changes with the clocks sorts wrongly when they are put back, so that UTC is the form to write)"
	}
	if at, ok := timeform.Parse(v, time.UTC); ok && others.Sep != timeform.Number {
		back = "--to cursor=" + at.Add(-12*time.Hour).Format(time.DateOnly) + " --ties before"
	}
	return fmt.Errorf("column %q of type %s holds %.60s, which is %s, beside times that are %s: SQLite compares them as they are "+
		"stored, not as times, so that rows would be passed over; write all of the column's times in one form%s, "+
		"and go back before the row by: "+
		"rowrelay state reset %s %s; or exclude the others by source__where", col.Name, col.Type, v, p.Forms.Of(v), others,
		clocks,
		poller.AnyDocument, back)
}
