package source

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// watermarkPage reads a page below the watermark. Page.Safe is the position after every row below it, where there may
// be rows above.
func (c *Cursor) watermarkPage(ctx context.Context, p *plan.Plan, r change.Range, limit poller.Limit,
	also ...keyset.Condition) (change.Page, error) {
	var w plan.Watermark
	page, err := c.page(ctx, p, r, limit, append(also[:len(also):len(also)], w.Below)...)
	if err != nil {
		return change.Page{}, err
	}
	if w.Told == "" && page.More {
		return page, nil // the reading was broken off: the page is below the watermark all the same
	}
	if page.Safe, err = w.Safe(p); err != nil {
		return change.Page{}, err
	}
	return page, nil
}

// marksPerWindow is how many marks a window has.
const marksPerWindow = 16

// settledRange is what of a range is older than the window: by a condition, or up to the newest mark that is. A range
// that has an end of its own needs no mark: whoever names the end has seen it.
func (c *Cursor) settledRange(ctx context.Context, p *plan.Plan, r change.Range) (change.Range, []keyset.Condition,
	error) {
	if p.SettlesByClock() {
		return r, []keyset.Condition{c.settled(p)}, nil
	}
	if r.UpTo != nil {
		return r, nil, nil
	}
	upTo, due := c.settling.edge(c.cfg.LateWindow)
	if due {
		if err := c.setMark(ctx, p); err != nil {
			return r, nil, err
		}
	}
	if r.UpTo = upTo; upTo.IsStart() { // no row is below the beginning
		return r, []keyset.Condition{func(b *keyset.Builder, _ *keyset.Selection) { b.Add("1 = 0") }}, nil
	}
	return r, nil, nil
}

// settled is the condition that the cursor is older than the window, by the database's clock and in the column's own
// type. A value that is kept to the second, or to the day, stands for all of it: so it must be less than the edge, not
// equal.
func (c *Cursor) settled(p *plan.Plan) keyset.Condition {
	return func(b *keyset.Builder, s *keyset.Selection) {
		col := &s.Order[0]
		edge := p.Syntax.Clock(c.edge(p))
		b.Add(s.Column(*col) + " < " + engine.Fill(col.Value.Param, edge))
	}
}

// edge is how far the edge lies from the database's clock in UTC, in seconds: the window back, and for a column without
// a zone the offset of source__time_zone at the edge.
func (c *Cursor) edge(p *plan.Plan) int {
	window := int((c.cfg.LateWindow + time.Second - 1) / time.Second)
	if kind := p.Sel.Order[0].Value.Kind; kind == engine.KindInstant || kind == engine.KindOffsetTime {
		return -window
	}
	return timeform.WallEdge(time.Now().Add(-c.cfg.LateWindow), p.Zone(&c.cfg)) - window
}

// edge returns the newest mark that is older than the window, and whether it is time for another mark. Of those that
// are old enough only the newest is kept.
func (s *settling) edge(window time.Duration) (upTo change.Cursor, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.marks) > 1 && time.Since(s.marks[1].at) >= window {
		s.marks = s.marks[1:]
	}
	n := len(s.marks)
	if n > 0 && time.Since(s.marks[0].at) >= window {
		upTo = s.marks[0].top
	}
	return upTo, n == 0 || time.Since(s.marks[n-1].at) >= window/marksPerWindow
}

// setMark notes the highest cursor value there is. The moment is that after the answer: the mark is no older than it
// says.
func (c *Cursor) setMark(ctx context.Context, p *plan.Plan) error {
	var top change.Cursor
	err := c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) (err error) {
		top, err = c.latest(ctx, s, p)
		return err
	})
	if err != nil {
		return err
	}
	if top, err = p.WithoutKey(top); err != nil {
		return err
	}
	c.settling.mu.Lock()
	defer c.settling.mu.Unlock()
	c.settling.marks = append(c.settling.marks, mark{time.Now(), top})
	return nil
}
