package source

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// findStrays finds the rows whose time is stored in another form than that of the position, and that paging does not
// show, because they sort below it: numbers below text, and text of the position's day and two days before it, as far
// as zones differ. What is older has been read, or was there before the poller. The verdict names the first such row.
func (c *Cursor) findStrays(ctx context.Context, s *session, p *plan, pos position) (verdict, err error) {
	for n := range p.sel.order[:p.sel.cursors] {
		if !p.sel.order[n].Value.Kind.IsTime() {
			continue
		}
		if verdict, err = c.findStray(ctx, s, p, n, pos[n]); verdict != nil || err != nil {
			return verdict, err
		}
	}
	return nil, nil
}

func (c *Cursor) findStray(ctx context.Context, s *session, p *plan, n int, at []byte) (verdict, err error) {
	form := p.forms.of(at)
	if form.sep == aNumber {
		if form.width == aJulianDay || form.width == anyUnit {
			return nil, nil
		}
		return c.firstOf(ctx, s, p, n, form, p.sel.numbersBelow(n, units[form.width-1]), nil)
	}
	if verdict, err = c.firstOf(ctx, s, p, n, form, p.sel.numbers(n), nil); verdict != nil || err != nil {
		return verdict, err
	}
	day, ok := dayOf(at)
	if !ok {
		return nil, nil
	}
	upTo, err := p.dialect.Arg(&p.sel.order[n], at)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	from := day.AddDate(0, 0, -2).Format(time.DateOnly)
	first := at // the first row of the position's form, where a zone's clock may have been put forward before it
	if form.zone != "" {
		if first, err = c.firstTime(ctx, s, p, n, at, p.sel.ownForm(n, form, p.forms, from, upTo)); err != nil {
			return nil, err
		}
	}
	before := func(v []byte) bool { return p.forms.clockPutForward(p.forms.of(v), v, first) }
	return c.firstOf(ctx, s, p, n, form, p.sel.otherForm(n, form, p.forms, from, upTo), before)
}

// firstTime is the time of order column n in the first row of a statement; none where there is no row.
func (c *Cursor) firstTime(ctx context.Context, s *session, p *plan, n int, none []byte, st statement) (first []byte, err error) {
	args, err := p.args(st, nil, nil)
	if err != nil {
		return nil, err
	}
	first = none
	err = c.dialect.Read(ctx, s.conn, st.text, args, p.sel.order, func(r engine.Row) (_ bool, err error) {
		first, err = r.AppendJSON(nil, n)
		return false, err
	})
	return first, err
}

// firstOf is the verdict on the first row of a statement that reads the order columns, but for those whose time is sound.
func (c *Cursor) firstOf(
	ctx context.Context, s *session, p *plan, n int, form timeForm, st statement, sound func(v []byte) bool,
) (verdict, err error) {
	args, err := p.args(st, nil, nil)
	if err != nil {
		return nil, err
	}
	err = c.dialect.Read(ctx, s.conn, st.text, args, p.sel.order, func(r engine.Row) (bool, error) {
		v, err := r.AppendJSON(nil, n)
		if err != nil {
			return false, err
		}
		if sound != nil && sound(v) {
			return true, nil
		}
		key := ""
		if at, err := p.cursorOf(r); err == nil { // else the time is none, which the reason says by itself
			key = fmt.Sprintf(" (the row at %s)", at)
		}
		verdict = fmt.Errorf("%w%s", p.errForms(&p.sel.order[n], v, form), key)
		return false, nil
	})
	return verdict, err
}

// checkForms holds the times of the table against the last row's: now is the verdict that a tick behind that row would
// come to, ever one on all of them.
func (c *Cursor) checkForms(ctx context.Context, s *session, p *plan, last change.Cursor) (now, ever, err error) {
	pos, err := p.decode(last)
	if err != nil || pos == nil {
		return nil, nil, err
	}
	if now, err = c.findStrays(ctx, s, p, pos); now != nil || err != nil {
		return now, nil, err
	}
	for n := range p.sel.order[:p.sel.cursors] {
		form := p.forms.of(pos[n])
		if !p.sel.order[n].Value.Kind.IsTime() || form.sep == aNumber {
			continue
		}
		if ever, err = c.firstOf(ctx, s, p, n, form, p.sel.otherForm(n, form, p.forms, "", nil), nil); ever != nil || err != nil {
			break
		}
	}
	return nil, ever, err
}

// errForms reports a stored time of another form than the position's, and the way on. What was delivered is told by the
// position, which means nothing among times that were written anew: so the way on goes back before the row.
func (p *plan) errForms(col *engine.Column, v []byte, others timeForm) error {
	back := "--to beginning"
	clocks := ""
	if others.changesZone(p.forms.of(v)) {
		clocks = " (an offset that changes with the clocks sorts wrongly when they are put back, so that UTC is the form to write)"
	}
	if at, ok := parseTime(v, time.UTC); ok && others.sep != aNumber {
		back = "--to cursor=" + at.Add(-12*time.Hour).Format(time.DateOnly) + " --ties before"
	}
	return fmt.Errorf("column %q of type %s holds %.60s, which is %s, beside times that are %s: SQLite compares them as they are "+
		"stored, not as times, so that rows would be passed over; write all of the column's times in one form%s, "+
		"and go back before the row by: "+
		"rowrelay state reset %s %s; or exclude the others by source__where", col.Name, col.Type, v, p.forms.of(v), others, clocks,
		poller.AnyDocument, back)
}
