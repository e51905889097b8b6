package source

import (
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
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
		return errForms(c.plan, col, v, t.form)
	}
	if !fits || t.form.width == anyUnit {
		t.form = c.plan.forms.of(v)
	}
	t.last = append(t.last[:0], v...)
	return nil
}

// timesOf are those of a position, for the page that comes after it; nil where times are not stored in forms. A position
// that a person named need not be in the column's form: what its form hides is looked for beside the page.
func timesOf(p *plan, pos position) []storedTime {
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

// errNullKey reports a row that its key does not identify.
func errNullKey(key []byte) error {
	return fmt.Errorf("a row's key is NULL: %s; source__key must name columns that are never NULL", key)
}
