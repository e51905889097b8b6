// Package spelling reads how a table's own rows spell times that are stored as text or numbers (SQLite), where only one
// form sorts as the moments do: it finds rows of another form than a position's, which paging would pass over, and
// writes positions that a person gave as the rows have them. Package timeform knows the forms; this one asks the
// database. Nothing is remembered, and each call is one statement or a few on the connection that it is given.
package spelling

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// Strays finds the rows whose time is stored in another form than that of the position, and that paging does not
// show, because they sort below it: numbers below text, and text of the position's day and two days before it, as far
// as zones differ. What is older has been read, or was there before the poller. The verdict names the first such row.
func Strays(ctx context.Context, conn *sql.Conn, p *plan.Plan, pos keyset.Position) (verdict, err error) {
	for n := range p.Sel.Order[:p.Sel.Cursors] {
		if !p.Sel.Order[n].Value.Kind.IsTime() {
			continue
		}
		if verdict, err = findStray(ctx, conn, p, n, pos[n]); verdict != nil || err != nil {
			return verdict, err
		}
	}
	return nil, nil
}

func findStray(ctx context.Context, conn *sql.Conn, p *plan.Plan, n int, at []byte) (verdict, err error) {
	form := p.Forms.Of(at)
	if form.Sep == timeform.Number {
		if form.Width == timeform.JulianDay || form.Width == timeform.AnyUnit {
			return nil, nil
		}
		return firstOf(ctx, conn, p, n, form, p.Sel.NumbersBelow(n, timeform.Units[form.Width-1]), nil)
	}
	if verdict, err = firstOf(ctx, conn, p, n, form, p.Sel.Numbers(n), nil); verdict != nil || err != nil {
		return verdict, err
	}
	day, ok := timeform.DayOf(at)
	if !ok {
		return nil, nil
	}
	upTo, err := p.Dialect.Arg(&p.Sel.Order[n], at)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	from := day.AddDate(0, 0, -2).Format(time.DateOnly)
	first := at // the first row of the position's form, where a zone's clock may have been put forward before it
	if form.Zone != "" {
		if first, err = firstTime(ctx, conn, p, n, at, p.Sel.OwnForm(n, form, p.Forms, from, upTo)); err != nil {
			return nil, err
		}
	}
	before := func(v []byte) bool { return p.Forms.ClockPutForward(p.Forms.Of(v), v, first) }
	return firstOf(ctx, conn, p, n, form, p.Sel.OtherForm(n, form, p.Forms, from, upTo), before)
}

// firstTime is the time of order column n in the first row of a statement; none where there is no row.
func firstTime(ctx context.Context, conn *sql.Conn, p *plan.Plan, n int, none []byte,
	st keyset.Statement) (first []byte, err error) {
	args, err := p.Args(st, nil, nil)
	if err != nil {
		return nil, err
	}
	first = none
	err = p.Dialect.Read(ctx, conn, st.Text, args, p.Sel.Order, func(r engine.Row) (_ bool, err error) {
		first, err = r.AppendJSON(nil, n)
		return false, err
	})
	return first, err
}

// firstOf is the verdict on the first row of a statement that reads the order columns, but for those whose time is
// sound.
func firstOf(
	ctx context.Context, conn *sql.Conn, p *plan.Plan, n int, form timeform.Form, st keyset.Statement,
	sound func(v []byte) bool,
) (verdict, err error) {
	args, err := p.Args(st, nil, nil)
	if err != nil {
		return nil, err
	}
	err = p.Dialect.Read(ctx, conn, st.Text, args, p.Sel.Order, func(r engine.Row) (bool, error) {
		v, err := r.AppendJSON(nil, n)
		if err != nil {
			return false, err
		}
		if sound != nil && sound(v) {
			return true, nil
		}
		key := ""
		if at, err := collect.CursorOf(p, r); err == nil { // else the time is none, which the reason says by itself
			key = fmt.Sprintf(" (the row at %s)", at)
		}
		verdict = fmt.Errorf("%w%s", p.ErrForms(&p.Sel.Order[n], v, form), key)
		return false, nil
	})
	return verdict, err
}

// Check holds the times of the table against the last row's: now is the verdict that a tick after that row would
// come to, ever one on all of them.
func Check(ctx context.Context, conn *sql.Conn, p *plan.Plan, last change.Cursor) (now, ever, err error) {
	pos, err := p.Decode(last)
	if err != nil || pos == nil {
		return nil, nil, err
	}
	if now, err = Strays(ctx, conn, p, pos); now != nil || err != nil {
		return now, nil, err
	}
	for n := range p.Sel.Order[:p.Sel.Cursors] {
		form := p.Forms.Of(pos[n])
		if !p.Sel.Order[n].Value.Kind.IsTime() || form.Sep == timeform.Number {
			continue
		}
		if ever, err = firstOf(ctx, conn, p, n, form, p.Sel.OtherForm(n, form, p.Forms, "", nil), nil); ever != nil ||
			err != nil {
			break
		}
	}
	return nil, ever, err
}
