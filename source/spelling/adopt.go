package spelling

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// Adopt writes the stored times of a position as the last row has them; where only one of both names its zone, the
// other is of this zone. The value of a row that holds the same moment is taken as it stands there. Errors wrap
// poller.ErrConfig where the position is at fault.
func Adopt(ctx context.Context, conn *sql.Conn, p *plan.Plan, zone *time.Location,
	at change.Cursor) (change.Cursor, error) {
	pos, err := p.Decode(at)
	if err != nil || !p.StoredTimes {
		return at, err
	}
	for n := range pos {
		if !p.Sel.Order[n].Value.Kind.IsTime() {
			continue
		}
		if pos[n], err = spelled(ctx, conn, p, zone, n, pos[n]); err != nil {
			return nil, err
		}
	}
	return p.Encode(pos), nil
}

func spelled(ctx context.Context, conn *sql.Conn, p *plan.Plan, zone *time.Location, n int,
	scalar []byte) ([]byte, error) {
	col := &p.Sel.Order[n]
	var like []byte
	err := p.Dialect.Read(ctx, conn, p.Sel.Latest().Text, nil, p.Sel.Order, func(r engine.Row) (_ bool, err error) {
		like, err = r.AppendJSON(nil, n)
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("read how the column's times are stored: %w", err)
	}
	refused := func(why error) error {
		return fmt.Errorf("%w: the position has %s for column %q of type %s: %w", poller.ErrConfig, scalar, col.Name,
			col.Type, why)
	}
	if like == nil { // the table is empty: the form that sorts first
		if timeform.ClassOf(scalar) == timeform.Number {
			return scalar, nil
		}
		like = []byte(`"2026-04-07 01:23:45"`)
	}
	form := p.Forms.Of(like)
	switch own := p.Forms.Of(scalar); {
	case form.Sep == timeform.Number && own.Sep == timeform.Number && timeform.OneUnit(form.Width, own.Width):
		return scalar, nil
	case form.Sep == timeform.Number:
		return nil, refused(fmt.Errorf("the column's times are stored as %s, such as %s: write such a number", form, like))
	case own.Sep == timeform.Number:
		return nil, refused(fmt.Errorf("the column's times are stored as %s, such as %s: write a time", form, like))
	}
	if _, own, _ := timeform.Split(scalar); len(own) == 0 && form.Zone == "" {
		zone = time.UTC // both are wall clocks: an hour that the zone leaves out is one too
	}
	at, ok := timeform.Parse(scalar, zone)
	if !ok {
		return nil, refused(plan.ErrNoForm)
	}
	if form.Sep == 0 {
		return nil, refused(fmt.Errorf("the column holds %s, which is no time: correct the row, or exclude it by source__where", like))
	}
	lowest := form.Spell(at, like, zone)
	stored, err := sameMoment(ctx, conn, p, n, form, lowest)
	if err != nil || stored != nil {
		return stored, err
	}
	return lowest, nil
}

// sameMoment finds a row's own spelling of a time: it may have more zeros than the shortest one. It is nil where no row
// has it.
func sameMoment(ctx context.Context, conn *sql.Conn, p *plan.Plan, n int, form timeform.Form,
	lowest []byte) (stored []byte, err error) {
	at, ok := timeform.Parse(lowest, time.UTC)
	if !ok || form.Sep == timeform.DateAlone || form.Width > 0 {
		return nil, nil
	}
	// Between the two stand all that begin with the same second. A full minute may be written without its seconds.
	second := string(lowest[1 : len("2006-01-02T15:04:05")+1])
	col := &p.Sel.Order[n]
	st := p.Sel.Between(n, strings.TrimSuffix(second, ":00"), second+"~")
	args, err := p.Args(st, nil, nil)
	if err != nil {
		return nil, err
	}
	err = p.Dialect.Read(ctx, conn, st.Text, args, []engine.Column{*col}, func(r engine.Row) (bool, error) {
		v, err := r.AppendJSON(nil, 0)
		if err != nil {
			return false, err
		}
		if its, ok := timeform.Parse(v, time.UTC); ok && its.Equal(at) && p.Forms.Fits(form, v) {
			stored = v
		}
		return stored == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for a row of the position's time: %w", err)
	}
	return stored, nil
}
