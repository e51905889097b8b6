package source

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/tracking"
)

// historyPages reads a history: its rows are those of any table, but that a purge removes them, and that some are
// missing where the triggers were.
type historyPages struct{ rowPages }

// page holds a page that moves the position, or has a late change, against the floor, which only grows: what was there
// before the page was read is known after it. It costs a round trip where something is new. The beginning is the floor:
// a purge may have raised it, and not yet removed what is below.
func (w historyPages) page(ctx context.Context, r change.Range, limit poller.Limit,
	also ...keyset.Condition) (page change.Page, err error) {
	if r.After.IsStart() && r.UpTo.IsStart() {
		err = w.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
			r.After, err = w.c.tracked(w.p).AtFloor(ctx, s.Conn, nil)
			return err
		})
		if err != nil {
			return change.Page{}, err
		}
	}
	page, err = w.rowPages.page(ctx, r, limit, also...)
	if err != nil || !r.UpTo.IsStart() || page.End() == nil && len(page.Again) == 0 {
		return page, err
	}
	gap, err := w.belowFloor(ctx, r.After)
	if gap != nil || err != nil {
		return change.Page{}, errors.Join(gap, err)
	}
	return page, nil
}

// belowFloor is the gap of a position below which changes are missing; nil where it is none.
func (w historyPages) belowFloor(ctx context.Context, at change.Cursor) (gap, err error) {
	if at.IsStart() {
		return nil, nil
	}
	err = w.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		gap, err = w.c.tracked(w.p).HistoryGap(ctx, s.Conn, at)
		return err
	})
	return gap, err
}

// latest is the floor where nothing is kept after it.
func (w historyPages) latest(ctx context.Context, s *pool.Session) (change.Cursor, error) {
	at, err := w.rowPages.latest(ctx, s)
	if err != nil {
		return nil, err
	}
	return w.c.tracked(w.p).AtFloor(ctx, s.Conn, at)
}

// beforeOpen is the position of the last change that was made before a moment of the database's clock, as it was shown
// at a moment of ours. Numbers and times are of one order, as far as a second: what a transaction writes that begins
// later comes after it.
func (w historyPages) beforeOpen(ctx context.Context, h *change.Horizon, since, shown time.Time) (at change.Cursor,
	err error) {
	err = w.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		age := h.Now.Sub(since) + time.Since(shown) + w.c.cfg.Timeout // what it takes until the server has the statement
		n, err := tracking.LastOlder(ctx, s.Conn, &w.p.Syntax, w.p.Table.History, age)
		if err != nil {
			return err
		}
		last := w.p.AppendCursor(nil, [][]byte{strconv.AppendInt(nil, n, 10)}, nil)
		at, err = w.c.tracked(w.p).AtFloor(ctx, s.Conn, last)
		kept := tracking.PurgedAfter
		if own := w.c.cfg.TrackRetention; own > 0 {
			kept = min(kept, own)
		}
		if err == nil && !at.Equal(last) && !h.Oldest.IsZero() && h.Now.Sub(h.Oldest) > kept {
			err = errOpen(h, "what it wrote may be among the changes that were purged, and would be missed")
		}
		return err
	})
	return at, err
}
