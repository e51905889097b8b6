package source

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// dates reads the positions of the plan as times; nil where the cursor's first column is none.
func (c *Cursor) dates(p *plan.Plan) *late.Dates {
	if !p.Dated() {
		return nil
	}
	d := &late.Dates{Span: func(at change.Cursor) (first, last time.Time, ok bool) { return p.Span(&c.cfg, at) }}
	if p.Zoneless() && p.Zone(&c.cfg) == time.UTC {
		d.Slack = plan.UnknownZone
	}
	if p.Sel.Cursors == 1 && !p.StoredTimes {
		d.Before = func(at time.Time) change.Cursor { return p.BeforeMoment(&c.cfg, at) }
	}
	return d
}

// latestKept is how many of the newest rows are looked through for one that is not dated ahead.
const latestKept = 10_000

// notAhead returns the newest position that is not dated beyond the database's clock: the position to begin at, or to
// take for what was there at a moment. newest is the newest of all.
func (c *Cursor) notAhead(ctx context.Context, s *pool.Session, p *plan.Plan, newest change.Cursor) (last change.Cursor,
	err error) {
	d := c.dates(p)
	if d == nil || newest.IsStart() {
		return newest, nil
	}
	h, err := c.horizon(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("read the database's clock: %w", err)
	}
	ahead := func(at change.Cursor) bool {
		first, _, ok := d.Span(at)
		return ok && first.After(h.Now.Add(c.cfg.LateWindow+d.Slack))
	}
	if !ahead(newest) {
		return newest, nil
	}
	seen := 0
	err = c.dialect.Read(ctx, s.Conn, p.Sel.Newest(latestKept).Text, nil, p.Sel.Order, func(r engine.Row) (bool, error) {
		at, err := collect.CursorOf(p, r)
		seen++
		if err == nil && !ahead(at) {
			last = at
		}
		return err == nil && last == nil, err
	})
	if err == nil && last == nil && seen == latestKept {
		err = fmt.Errorf("%w: the newest %d rows are all dated after the database's clock: correct them, exclude them by source__where, "+
			"or write the value to begin at into source__start", poller.ErrConfig, seen)
	}
	return last, err
}
