package tracked

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/counter"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/tracking"
)

// historyFloor reads the number up to which changes of a history may be missing.
func (t Table) historyFloor(ctx context.Context, conn *sql.Conn) (floor []byte, err error) {
	p := t.Plan
	columns := []engine.Column{p.Sel.Columns[p.Cursor[0]]}
	err = p.Dialect.Read(ctx, conn, "SELECT "+tracking.Floor(&p.Syntax, p.Table.History), nil, columns,
		func(r engine.Row) (bool, error) {
			floor, err = r.AppendJSON(nil, 0)
			return false, err
		})
	if err == nil && string(floor) == "null" {
		err = tracking.Broken(p.Table.History, []string{"its state has no row"})
	}
	if err != nil {
		return nil, fmt.Errorf("read the history's state: %w", err)
	}
	return floor, nil
}

// below reports whether a position, decoded, comes before a floor.
func below(pos keyset.Position, floor []byte) (bool, error) {
	at, err := counter.Number(pos[0])
	if err != nil {
		return false, err
	}
	least, err := counter.Number(floor)
	return err == nil && at.Cmp(least) < 0, err
}

// HistoryGap wraps poller.ErrGap where changes after a position are missing.
func (t Table) HistoryGap(ctx context.Context, conn *sql.Conn, at change.Cursor) (gap, err error) {
	pos, err := t.Plan.Decode(at)
	if err != nil {
		return nil, err
	}
	floor, err := t.historyFloor(ctx, conn)
	if err != nil {
		return nil, err
	}
	missing, err := below(pos, floor)
	if err != nil || !missing {
		return nil, err
	}
	return fmt.Errorf("%w: %s: the position %s is from before change %s, up to which changes are missing in the history %s: it was "+
		"purged, or its triggers were missing. Go on after the last change that there is now: rowrelay state accept-gap %s; or "+
		"deliver again what is retained: rowrelay state reset %[6]s --to beginning", poller.ErrGap, t.Source, at, floor,
		t.Plan.Table.History.Name, poller.AnyDocument), nil
}

// AtFloor is a position, or that of the floor where this is higher.
func (t Table) AtFloor(ctx context.Context, conn *sql.Conn, at change.Cursor) (change.Cursor, error) {
	floor, err := t.historyFloor(ctx, conn)
	if err != nil {
		return nil, err
	}
	if !at.IsStart() {
		pos, err := t.Plan.Decode(at)
		if err != nil {
			return nil, err
		}
		if missing, err := below(pos, floor); err != nil || !missing {
			return at, err
		}
	}
	return t.Plan.AppendCursor(nil, [][]byte{floor}, nil), nil
}
