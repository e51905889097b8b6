package source

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// Horizon returns the database's clock, and its oldest open write transaction where the server shows those of every
// session to this user (the engines' files horizon.go say what it takes). It costs one round trip, or two where the
// server refuses the user the sight of others' transactions.
func (c *Cursor) Horizon(ctx context.Context) (h change.Horizon, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		return c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
			h, err = c.horizon(ctx, s, p)
			return err
		})
	})
	if err != nil {
		return change.Horizon{}, fmt.Errorf("read the database's clock and transactions: %w", err)
	}
	return h, nil
}

// horizon asks on a connection. On a secondary or replica the transactions that matter are open elsewhere, on the
// primary; of a table that another server writes too, beside those that are open here.
func (c *Cursor) horizon(ctx context.Context, s *pool.Session, p *plan.Plan) (change.Horizon, error) {
	h, err := c.dialect.Horizon(ctx, s.Conn, c.sessions.Looks())
	h.Elsewhere = h.Elsewhere || p.Table.Replicated
	if s.Server.ReadOnly {
		h.Shown, h.Elsewhere, h.Oldest, h.By = false, true, time.Time{}, ""
	}
	return plausible(h), err
}

// plausible takes a transaction that began after now for what it is: within a second one that began while the server
// was asked, and else the work of a clock that was put back (daylight saving where the server's is local), by which
// nobody can tell how old the oldest is.
func plausible(h change.Horizon) change.Horizon {
	switch {
	case h.Oldest.After(h.Now.Add(time.Second)):
		h.Shown, h.Oldest, h.By = false, time.Time{}, ""
	case h.Oldest.After(h.Now):
		h.Oldest = h.Now
	}
	return h
}

// warnLate says what the mode may miss on the server at hand, once in the source's life.
func (c *Cursor) warnLate(ctx context.Context, s *pool.Session, p *plan.Plan) {
	c.mu.Lock()
	said := c.lateSaid
	c.lateSaid = true
	c.mu.Unlock()
	if said {
		return
	}
	switch p.Late.Mode {
	case late.None:
		p.Warnings = append(p.Warnings,
			"source__late_commits=none: a row that commits after one with a larger cursor was read is lost, and nothing says so; use auto")
	case late.Overlap:
		h, err := c.horizon(ctx, s, p)
		why := "keep transactions shorter"
		switch grant := p.Syntax.Advice.Grant; {
		case err != nil:
			why = "the server's open transactions could not be asked for: " + err.Error()
		case h.Shown && !h.Elsewhere:
			return
		case h.Elsewhere:
			why = "the server at hand does not know the transactions that are open on the server that its rows come from by " +
				"replication: " + engine.AskPrimary + ", or " + why
			if p.ChangeTable() != nil {
				p.Warnings = append(p.Warnings, engine.TrackPrimary)
			}
		case h.Crowded:
			why = engine.AskLess + "; or " + why
		case grant != "":
			why = "the server does not show this user the transactions of others: " + grant + ", or " + why
		}
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("source__late_commits=overlap: a row that commits more than source__late_window (%v) after it took its "+
				"cursor can be missed: %s", c.cfg.LateWindow, why))
	}
}
