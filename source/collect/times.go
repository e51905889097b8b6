package collect

import (
	"slices"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// checkCursor refuses a value of the n-th cursor column that is no position, or whose form does not sort among the
// times before it.
func (c *Collector) checkCursor(n int, col *engine.Column, v []byte) error {
	if err := c.Plan.CheckCursorValue(col, v); err != nil {
		return err
	}
	if c.Times == nil || !col.Value.Kind.IsTime() {
		return nil
	}
	t := &c.Times[n]
	fits := t.last != nil && c.Plan.Forms.Fits(t.form, v)
	if t.last != nil && !fits && !timeform.Apart(t.last, v) && !c.Plan.Forms.ClockPutForward(t.form, t.last, v) {
		return c.Plan.ErrForms(col, v, t.form)
	}
	if !fits || t.form.Width == timeform.AnyUnit {
		t.form = c.Plan.Forms.Of(v)
	}
	t.last = append(t.last[:0], v...)
	return nil
}

// TimesOf are those of a position, for the page that comes after it; nil where times are not stored in forms. A
// position that a person named need not be in the column's form: what its form hides is looked for beside the page.
func TimesOf(p *plan.Plan, pos keyset.Position) []storedTime {
	if !p.StoredTimes {
		return nil
	}
	times := make([]storedTime, len(p.Cursor))
	for n := range times {
		if len(pos) == len(p.Sel.Order) && p.Sel.Order[n].Value.Kind.IsTime() {
			// a copy: the collector writes over it
			times[n] = storedTime{last: slices.Clone(pos[n]), form: p.Forms.Of(pos[n])}
		}
	}
	return times
}
