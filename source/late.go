package source

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// warnLate says what the mode may miss on the server at hand, once in the source's life.
func (c *Cursor) warnLate(ctx context.Context, s *session, p *plan.Plan) {
	c.mu.Lock()
	said := c.lateSaid
	c.lateSaid = true
	c.mu.Unlock()
	if said {
		return
	}
	switch p.Late.Mode {
	case poller.LateNone:
		p.Warnings = append(p.Warnings, "source__late_commits=none: a row that commits after one with a larger cursor was read is lost, and nothing says so; use auto")
	case poller.LateOverlap:
		h, err := c.horizon(ctx, s)
		why := "keep transactions shorter"
		switch grant := p.Syntax.Advice.Grant; {
		case err != nil:
			why = "the server's open transactions could not be asked for: " + err.Error()
		case h.Shown:
			return
		case s.server.ReadOnly:
			why = "the server at hand does not know the transactions that are open on its primary: connect to the primary, or " + why
		case grant != "":
			why = "the server does not show this user the transactions of others: " + grant + ", or " + why
		}
		p.Warnings = append(p.Warnings, fmt.Sprintf("source__late_commits=overlap: a row that commits more than source__late_window (%v) after it took its "+
			"cursor can be missed: %s", c.cfg.LateWindow, why))
	}
}
