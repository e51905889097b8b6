package source

import (
	"context"
	"errors"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/pool"
)

// historyPages reads a history: its rows are those of any table, but that a purge removes them, and that some are
// missing where the triggers were.
type historyPages struct{ rowPages }

// page holds a page that moves the position, or has a late change, against the floor, which only grows: what was there
// before the page was read is known after it. It costs a round trip where something is new.
func (w historyPages) page(ctx context.Context, r change.Range, limit poller.Limit,
	also ...keyset.Condition) (change.Page, error) {
	page, err := w.rowPages.page(ctx, r, limit, also...)
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

func (w historyPages) start(ctx context.Context, s *pool.Session) (change.Cursor, error) {
	if w.c.cfg.Start == "latest" {
		return w.latest(ctx, s)
	}
	return w.rowPages.start(ctx, s)
}

// latest is the floor where nothing is kept after it.
func (w historyPages) latest(ctx context.Context, s *pool.Session) (change.Cursor, error) {
	at, err := w.rowPages.latest(ctx, s)
	if err != nil {
		return nil, err
	}
	return w.c.tracked(w.p).AtFloor(ctx, s.Conn, at)
}
