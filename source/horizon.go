package source

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Horizon returns the database's clock, and its oldest open write transaction where the server shows those of every
// session to this user (the dialects' files horizon_….go say what it takes). It costs one round trip, or two where the
// server refuses the user the sight of others' transactions.
func (c *Cursor) Horizon(ctx context.Context) (h change.Horizon, err error) {
	err = c.run(ctx, func(ctx context.Context, s *session) error {
		h, err = c.horizon(ctx, s)
		return err
	})
	if err != nil {
		return change.Horizon{}, fmt.Errorf("read the database's clock and transactions: %w", err)
	}
	return h, nil
}

// horizon asks on a connection. On a secondary or replica the transactions that matter are open elsewhere, on the primary.
func (c *Cursor) horizon(ctx context.Context, s *session) (change.Horizon, error) {
	h, err := c.dialect.horizon(ctx, s.conn)
	if s.life.readOnly {
		h.Shown, h.Oldest, h.By = false, time.Time{}, ""
	}
	return plausible(h), err
}

// plausible takes a transaction that began after now for what it is: within a second one that began while the server was
// asked, and else the work of a clock that was put back (daylight saving where the server's is local), by which nobody
// can tell how old the oldest is.
func plausible(h change.Horizon) change.Horizon {
	switch {
	case h.Oldest.After(h.Now.Add(time.Second)):
		h.Shown, h.Oldest, h.By = false, time.Time{}, ""
	case h.Oldest.After(h.Now):
		h.Oldest = h.Now
	}
	return h
}

// sessionOf names a session of the database for people: "pid 4711 (app importer, user batch, host 10.0.0.5)". It never
// holds the text of a statement, which may hold values. Empty parts are left out.
func sessionOf(id string, named ...[2]string) string {
	text, glue := id, " ("
	for _, part := range named {
		if part[1] != "" {
			text += glue + part[0] + " " + part[1]
			glue = ", "
		}
	}
	if glue == ", " {
		text += ")"
	}
	return text
}
