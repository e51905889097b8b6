package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

var errNoForm = errors.New("write a date (2026-04-07) or a time (2026-04-07T01:23:45.123, with Z or +02:00 for an instant)")

// placed is a position that a person or another program gave, with its stored times as the table's own rows have them.
func (c *Cursor) placed(ctx context.Context, p *plan, at change.Cursor) (change.Cursor, error) {
	if !p.storedTimes {
		return at, nil
	}
	err := c.run(ctx, func(ctx context.Context, s *session) (err error) {
		at, err = c.inForm(ctx, s, p, at)
		return err
	})
	return at, err
}

// inForm writes the stored times of a position as the last row has them. The value of a row that holds the same moment
// is taken as it stands there.
func (c *Cursor) inForm(ctx context.Context, s *session, p *plan, at change.Cursor) (change.Cursor, error) {
	pos, err := p.decode(at)
	if err != nil || !p.storedTimes {
		return at, err
	}
	for n := range pos {
		if !p.sel.order[n].Value.Kind.IsTime() {
			continue
		}
		if pos[n], err = c.spelled(ctx, s, p, n, pos[n]); err != nil {
			return nil, err
		}
	}
	return p.encode(pos), nil
}

// encode is the opposite of decode.
func (p *plan) encode(pos position) change.Cursor {
	switch {
	case pos == nil:
		return nil
	case len(pos) < len(p.sel.order):
		return p.appendCursor(nil, pos, nil)
	}
	key := []byte{'{'}
	for n, i := range p.key {
		if n > 0 {
			key = append(key, ',')
		}
		key = append(append(key, p.keyNames[n]...), pos[slices.Index(p.order, i)]...)
	}
	return p.appendCursor(nil, pos[:p.sel.cursors], append(key, '}'))
}

func (c *Cursor) spelled(ctx context.Context, s *session, p *plan, n int, scalar []byte) ([]byte, error) {
	col := &p.sel.order[n]
	var like []byte
	err := c.dialect.Read(ctx, s.conn, p.sel.latest().text, nil, p.sel.order, func(r engine.Row) (_ bool, err error) {
		like, err = r.AppendJSON(nil, n)
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("read how the column's times are stored: %w", err)
	}
	refused := func(why error) error {
		return fmt.Errorf("%w: the position has %s for column %q of type %s: %w", poller.ErrConfig, scalar, col.Name, col.Type, why)
	}
	if like == nil { // the table is empty: the form that sorts first
		if classOf(scalar) == aNumber {
			return scalar, nil
		}
		like = []byte(`"2026-04-07 01:23:45"`)
	}
	form := p.forms.of(like)
	switch own := p.forms.of(scalar); {
	case form.sep == aNumber && own.sep == aNumber && oneUnit(form.width, own.width):
		return scalar, nil
	case form.sep == aNumber:
		return nil, refused(fmt.Errorf("the column's times are stored as %s, such as %s: write such a number", form, like))
	case own.sep == aNumber:
		return nil, refused(fmt.Errorf("the column's times are stored as %s, such as %s: write a time", form, like))
	}
	zone := c.cfg.TimeZone
	if _, own, _ := splitTime(scalar); len(own) == 0 && form.zone == "" {
		zone = time.UTC // both are wall clocks: an hour that the zone leaves out is one too
	}
	at, ok := parseTime(scalar, zone)
	if !ok {
		return nil, refused(errNoForm)
	}
	if form.sep == 0 {
		return nil, refused(fmt.Errorf("the column holds %s, which is no time: correct the row, or exclude it by source__where", like))
	}
	lowest := form.spell(at, like, zone)
	stored, err := c.sameMoment(ctx, s, p, n, form, lowest)
	if err != nil || stored != nil {
		return stored, err
	}
	return lowest, nil
}

// sameMoment finds a row's own spelling of a time: it may have more zeros than the shortest one. It is nil where no row
// has it.
func (c *Cursor) sameMoment(ctx context.Context, s *session, p *plan, n int, form timeForm, lowest []byte) (stored []byte, err error) {
	at, ok := parseTime(lowest, time.UTC)
	if !ok || form.sep == dateAlone || form.width > 0 {
		return nil, nil
	}
	// Between the two stand all that begin with the same second. A full minute may be written without its seconds.
	second := string(lowest[1 : len("2006-01-02T15:04:05")+1])
	col := &p.sel.order[n]
	st := p.sel.between(n, strings.TrimSuffix(second, ":00"), second+"~")
	args, err := p.args(st, nil, nil)
	if err != nil {
		return nil, err
	}
	err = c.dialect.Read(ctx, s.conn, st.text, args, []engine.Column{*col}, func(r engine.Row) (bool, error) {
		v, err := r.AppendJSON(nil, 0)
		if err != nil {
			return false, err
		}
		if its, ok := parseTime(v, time.UTC); ok && its.Equal(at) && p.forms.fits(form, v) {
			stored = v
		}
		return stored == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for a row of the position's time: %w", err)
	}
	return stored, nil
}
