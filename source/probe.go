package source

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/spelling"
)

// How often rows are looked for that paging cannot show: where no index is known to serve the order, the look may read
// the whole table.
const (
	probeEvery     = time.Minute
	probeUnindexed = 10 * time.Minute
)

// clocksDiffer is by how much those of a database and of an application may differ.
const clocksDiffer = 10 * time.Minute

// probeTimeout bounds a look: it is a courtesy, and must not cost a page.
const probeTimeout = 5 * time.Second

func (f *finding) due(every time.Duration) bool {
	return f.verdict != nil || f.at.IsZero() || time.Since(f.at) >= every
}

// probe looks for the rows that paging cannot show: NULLs, and stored times of another form than the position's. Its
// error is the verdict on the table, without ErrNormalize. A look that fails is a warning: the page itself is good.
func (c *Cursor) probe(ctx context.Context, s *pool.Session, p *plan.Plan, pos keyset.Position,
	page *change.Page) error {
	err := c.seek(ctx, s, p, &c.nulls, page, func(ctx context.Context) (verdict, err error) {
		return c.countNulls(ctx, s, p, page)
	})
	if err != nil {
		return err
	}
	if p.Late.Mode == late.Settle && p.SettlesByClock() {
		return c.seek(ctx, s, p, &c.leads, page, func(ctx context.Context) (verdict, err error) {
			return nil, c.tellLead(ctx, s, p, page)
		})
	}
	if p.StoredTimes && pos != nil {
		return c.seek(ctx, s, p, &c.strays, page, func(ctx context.Context) (verdict, err error) {
			return spelling.Strays(ctx, s.Conn, p, pos)
		})
	}
	return nil
}

// seek looks with a function when that is due, and returns the verdict that holds.
func (c *Cursor) seek(ctx context.Context, s *pool.Session, p *plan.Plan, last *finding, page *change.Page,
	with func(context.Context) (verdict, err error)) error {
	every := probeEvery
	if p.IndexName == "" {
		every = probeUnindexed
	}
	c.mu.Lock()
	due, verdict := last.due(every), last.verdict
	c.mu.Unlock()
	if !due || s.Broken {
		return verdict
	}
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, c.cfg.Timeout))
	defer cancel()
	found, err := with(ctx)
	if err != nil {
		page.Warnings = append(page.Warnings, "rows that paging cannot show could not be counted: "+err.Error())
		found = verdict
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	*last = finding{at: time.Now(), verdict: found}
	return found
}

// tellLead warns where the newest row is dated further ahead of the database's clock than clocks differ, and no further
// than zones do: it settles hours late.
func (c *Cursor) tellLead(ctx context.Context, s *pool.Session, p *plan.Plan, page *change.Page) error {
	d := p.Dates(&c.cfg)
	if d.Slack == 0 {
		return nil
	}
	var newest change.Cursor
	err := c.dialect.Read(ctx, s.Conn, p.Sel.Latest().Text, nil, p.Sel.Order, func(r engine.Row) (_ bool, err error) {
		newest, err = collect.CursorOf(p, r)
		return false, err
	})
	if err != nil {
		return fmt.Errorf("read the latest row: %w", err)
	}
	h, err := c.horizon(ctx, s, p)
	if err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	at, _, ok := d.Span(newest)
	if lead := at.Sub(h.Now); ok && lead > clocksDiffer && lead <= d.Slack {
		page.Warnings = append(page.Warnings, fmt.Sprintf("the newest row is dated %s after the database's clock, and the "+
			"column has no zone: set source__time_zone to the zone that it is written in; until then source__late_commits=settle "+
			"holds each row back for as long", lead.Round(time.Second)))
	}
	return nil
}

func (c *Cursor) countNulls(ctx context.Context, s *pool.Session, p *plan.Plan, page *change.Page) (verdict,
	err error) {
	cursors := p.Sel.Nulls(true)
	nulls, err := count(ctx, s, cursors)
	if err != nil {
		return nil, err
	}
	nullKeys, err := count(ctx, s, p.Sel.Nulls(false))
	switch {
	case err != nil:
		return nil, err
	case nullKeys > 0:
		return fmt.Errorf("%d row(s) with a NULL key: source__key must name columns that are never NULL", nullKeys), nil
	case cursors.Text == "":
		return nil, nil
	}
	page.NullCursors = nulls
	if nulls == 0 {
		return nil, nil
	}
	if c.cfg.NullCursor == "fail" {
		return fmt.Errorf("%d row(s) with a NULL cursor cannot be delivered: give them one, or set source__null_cursor=report", nulls), nil
	}
	page.Warnings = append(page.Warnings, fmt.Sprintf("%d row(s) with a NULL cursor are not delivered: "+
		"make the column NOT NULL with a default, or exclude them by source__where", nulls))
	return nil, nil
}

func count(ctx context.Context, s *pool.Session, st keyset.Statement) (n int64, err error) {
	if st.Text == "" {
		return 0, nil
	}
	if err := s.Conn.QueryRowContext(ctx, st.Text).Scan(&n); err != nil {
		return 0, fmt.Errorf("count rows with NULL: %w", err)
	}
	return n, nil
}
