package source

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// Horizon returns the database's clock, and its oldest open write transaction where the server shows those of every
// session to this user (the engines' files horizon.go say what it takes). It costs one round trip, or two where the
// server refuses the user the sight of others' transactions.
func (c *Cursor) Horizon(ctx context.Context) (h poller.Horizon, err error) {
	err = c.run(ctx, func(ctx context.Context, s *session) error {
		h, err = c.horizon(ctx, s)
		return err
	})
	if err != nil {
		return poller.Horizon{}, fmt.Errorf("read the database's clock and transactions: %w", err)
	}
	return h, nil
}

// horizon asks on a connection. On a secondary or replica the transactions that matter are open elsewhere, on the primary.
func (c *Cursor) horizon(ctx context.Context, s *session) (poller.Horizon, error) {
	seen, err := c.dialect.Horizon(ctx, s.conn)
	h := poller.Horizon(seen)
	if s.server.ReadOnly {
		h.Shown, h.Oldest, h.By = false, time.Time{}, ""
	}
	return plausible(h), err
}

// plausible takes a transaction that began after now for what it is: within a second one that began while the server was
// asked, and else the work of a clock that was put back (daylight saving where the server's is local), by which nobody
// can tell how old the oldest is.
func plausible(h poller.Horizon) poller.Horizon {
	switch {
	case h.Oldest.After(h.Now.Add(time.Second)):
		h.Shown, h.Oldest, h.By = false, time.Time{}, ""
	case h.Oldest.After(h.Now):
		h.Oldest = h.Now
	}
	return h
}
