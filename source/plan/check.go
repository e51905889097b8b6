package plan

import (
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
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
	return fmt.Errorf("column %q of type %s holds %.60s, which sorts after all values to come: no row behind it would ever be delivered; "+
		"correct the row, or exclude it by source__where", col.Name, col.Type, v)
}
