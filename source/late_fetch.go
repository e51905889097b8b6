package source

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/poller"
)

// livePage reads one page as source__late_commits says: below the safe point where the source keeps one, unless the range
// asks for what is above it too.
func (c *Cursor) livePage(ctx context.Context, p *plan, r poller.Range, limit poller.Limit, also ...condition) (poller.Page, error) {
	switch {
	case p.late.exact == exactSnapshots:
		return c.windowPage(ctx, p, r, limit, also...)
	case r.Unsafe && p.table.Locking:
		above, none := p.aboveLocks()
		return c.page(ctx, above, r, limit, append(also[:len(also):len(also)], none...)...)
	case r.Unsafe:
	case p.late.exact == exactWatermark:
		return c.watermarkPage(ctx, p, r, limit, also...)
	case p.late.mode == poller.LateSettle:
		return c.settledPage(ctx, p, r, limit, also...)
	}
	return c.page(ctx, p, r, limit, also...)
}

// liveStatements are the statements of the first page and of every other, for people.
func (c *Cursor) liveStatements(p *plan, limit int) (first, next statement) {
	var also []condition
	switch {
	case p.late.exact == exactSnapshots:
		key := pick(p.sel.columns, p.key)
		return p.sel.scanPage(limit, key, "", nil, nil), p.sel.windowPage(limit, "1:1:", "", nil, nil)
	case p.late.exact == exactWatermark:
		also = append(also, new(watermark).below)
	case p.late.mode == poller.LateSettle && p.settlesByClock():
		also = append(also, c.settled(p))
	}
	return p.sel.page(limit, span{also: also}), p.sel.page(limit, span{after: len(p.sel.order), also: also})
}

// warnLate says what the mode may miss on the server at hand, once in the source's life.
func (c *Cursor) warnLate(ctx context.Context, s *session, p *plan) {
	c.mu.Lock()
	said := c.lateSaid
	c.lateSaid = true
	c.mu.Unlock()
	if said {
		return
	}
	switch p.late.mode {
	case poller.LateNone:
		p.warnings = append(p.warnings, "source__late_commits=none: a row that commits after one with a larger cursor was read is lost, and nothing says so; use auto")
	case poller.LateOverlap:
		h, err := c.horizon(ctx, s)
		why := "keep transactions shorter"
		switch grant := p.syntax.Advice.Grant; {
		case err != nil:
			why = "the server's open transactions could not be asked for: " + err.Error()
		case h.Shown:
			return
		case s.server.ReadOnly:
			why = "the server at hand does not know the transactions that are open on its primary: connect to the primary, or " + why
		case grant != "":
			why = "the server does not show this user the transactions of others: " + grant + ", or " + why
		}
		p.warnings = append(p.warnings, fmt.Sprintf("source__late_commits=overlap: a row that commits more than source__late_window (%v) after it took its "+
			"cursor can be missed: %s", c.cfg.LateWindow, why))
	}
}

// aboveLocks is the plan for rows above the safe point where reads wait for locks. Rows that are locked are passed over: what holds the
// safe point back would hold up the look past it, too. They come when they are below it. (Live rows must never be read so: a row
// whose change is undone would be lost.) In a view or a query no hint says so for certain, and nothing is read.
func (p *plan) aboveLocks() (*plan, []condition) {
	if p.sel.query != "" || p.table.View {
		return p, []condition{func(b *builder, _ *selection) { b.add("1 = 0") }}
	}
	above := *p
	above.sel.hint = p.syntax.SkipLocked
	return &above, nil
}
