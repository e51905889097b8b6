package source

import (
	"context"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/snapshot"
	"github.com/rowrelay/rowrelay/tracking"
)

// untoldWindow is untold of a window; fresh says that it ends with the present.
func (c *Cursor) untoldWindow(w *snapshot.Window, fresh bool) func([]byte) bool {
	switch {
	case !c.cfg.OnlyInserts():
		return nil
	case !fresh:
		return recorded
	case w.Told == 0:
		return nil
	}
	return fromXID(w.Told)
}

// fromXID tells which versions are no lower than a transaction.
func fromXID(least uint64) func([]byte) bool {
	return func(version []byte) bool {
		xid, err := strconv.ParseUint(strings.Trim(string(version), `"`), 10, 64)
		return err == nil && xid >= least
	}
}

// touchedWindow is touched of a window.
func (c *Cursor) touchedWindow(w *snapshot.Window, fresh bool) func([]byte) bool {
	if !c.cfg.LeavesWrites() || !fresh {
		return nil
	}
	since, told := sinceWindow(w), fromXID(w.Told)
	return func(version []byte) bool { return since(version) || w.Told > 0 && told(version) }
}

// sinceWindow tells what was inserted since a window's begin. A scan has none: then all is new that was inserted under
// the triggers.
func sinceWindow(w *snapshot.Window) func([]byte) bool {
	return func(created []byte) bool {
		xid, err := strconv.ParseUint(strings.Trim(string(created), `"`), 10, 64)
		return err == nil && xid > 0 && (w.Scanning || !w.Seen.Sees(xid))
	}
}

// windowFloor is the gap of a window that begins before changes that are missing. A nil floor is read.
func (c *Cursor) windowFloor(ctx context.Context, s *session, p *plan.Plan, w *snapshot.Window,
	floor []byte) (gap, err error) {
	if floor == nil {
		if _, floor, err = c.readFloor(ctx, s, p); err != nil {
			return nil, err
		}
	}
	least, purged, err := tracking.ParseFloor(strings.Trim(string(floor), `"`))
	if err != nil || !w.Begun || w.Seen.Sees(least) && purged < w.Seen.Whole() {
		return nil, err
	}
	return c.errFloor(p, w.Seen.String(), strconv.AppendUint(nil, max(least, purged), 10)), nil
}

// idleFloor is the gap of a window without rows whose begin is about to move: no row tells its floor, and the looks
// that seek takes now and then are shared by all positions of the source.
func (c *Cursor) idleFloor(ctx context.Context, p *plan.Plan, w *snapshot.Window) (gap error) {
	if p.Tracked == nil {
		return nil
	}
	err := c.sessions.run(ctx, func(ctx context.Context, s *session) (err error) {
		gap, err = c.windowFloor(ctx, s, p, w, nil)
		return err
	})
	if err != nil {
		return err
	}
	return gap
}
