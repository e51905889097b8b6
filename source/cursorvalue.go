package source

import (
	"fmt"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"time"
)

// storedTime is the last stored time that a page has shown of a cursor column, and its form.
type storedTime struct {
	last []byte
	form timeForm
}

// checkCursor refuses a value of the n-th cursor column that is no position, or whose form does not sort among the
// times before it.
func (c *collector) checkCursor(n int, col *engine.Column, v []byte) error {
	if err := c.plan.checkCursorValue(col, v); err != nil {
		return err
	}
	if c.times == nil || !col.Value.Kind.IsTime() {
		return nil
	}
	t := &c.times[n]
	fits := t.last != nil && c.plan.forms.fits(t.form, v)
	if t.last != nil && !fits && !apart(t.last, v) && !c.plan.forms.clockPutForward(t.form, t.last, v) {
		return c.plan.errForms(col, v, t.form)
	}
	if !fits || t.form.width == anyUnit {
		t.form = c.plan.forms.of(v)
	}
	t.last = append(t.last[:0], v...)
	return nil
}

// times are those of a position, for the page that comes after it; nil where times are not stored in forms. A position
// that a person named need not be in the column's form: what its form hides is looked for beside the page.
func (p *plan) times(pos position) []storedTime {
	if !p.storedTimes {
		return nil
	}
	times := make([]storedTime, len(p.cursor))
	for n := range times {
		if len(pos) == len(p.sel.order) && p.sel.order[n].Value.Kind.IsTime() {
			times[n] = storedTime{last: pos[n], form: p.forms.of(pos[n])}
		}
	}
	return times
}

// classOf tells stored text from a number, which is quoted beyond 2^53.
func classOf(v []byte) byte {
	if v[0] != '"' {
		return '0'
	}
	if _, integer := scalar.BigInteger(string(v[1 : len(v)-1])); integer {
		return '0'
	}
	return '"'
}

// checkCursorValue refuses what sorts after every value to come: text in a column of numbers in SQLite, and text in a
// column of times that is no time; NaN and infinity in PostgreSQL. A position there would silently pass over all
// further rows.
func (p *plan) checkCursorValue(col *engine.Column, v []byte) error {
	var last bool
	switch k := col.Value.Kind; {
	case v[0] != '"':
	case k == engine.KindInteger, k == engine.KindDecimal:
		last = !scalar.IsDecimal(string(v[1:len(v)-1]), true) && string(v) != `"-Infinity"`
	case k.IsTime() && p.storedTimes:
		if _, ok := parseTime(v, time.UTC); !ok && classOf(v) == '"' {
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

// errNullKey reports a row that its key does not identify.
func errNullKey(key []byte) error {
	return fmt.Errorf("a row's key is NULL: %s; source__key must name columns that are never NULL", key)
}
