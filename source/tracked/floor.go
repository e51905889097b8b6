package tracked

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/snapshot"
	"github.com/rowrelay/rowrelay/tracking"
)

// readAgain is the command that reads the whole table again.
const readAgain = "rowrelay state reset " + poller.AnyDocument + " --to snapshot"

// Remedy is what to do where changes are missing, or a position is not of this database.
const Remedy = "Read the whole table again: " + readAgain + "; or go on after the last change that there is now: rowrelay state " +
	"accept-gap " + poller.AnyDocument + ". Rows that were deleted meanwhile are not told of"

// Floor reads the change table's floor, and the version that its state counts, where it counts.
func (t Table) Floor(ctx context.Context, conn *sql.Conn) (counted, floor []byte, err error) {
	p := t.Plan
	if p.BuiltIn() != nil {
		told, err := t.Tell(ctx, conn)
		return told.Head, told.Floor, err
	}
	column := p.Sel.Columns[p.Tracked.Version]
	columns, text := []engine.Column{column}, "SELECT "+tracking.Floor(&p.Syntax, p.Table.Changes)
	if p.Syntax.Tracking.Counted {
		columns = append(columns, column)
		text += ", (SELECT s." + p.Syntax.Quote(engine.ChangeVersion) + " FROM " +
			p.Table.Changes.In(p.Syntax.Quote, p.Table.Changes.State()) + " AS s)"
	}
	err = p.Dialect.Read(ctx, conn, text, nil, columns, func(r engine.Row) (bool, error) {
		if floor, err = r.AppendJSON(nil, 0); err == nil && len(columns) > 1 {
			counted, err = r.AppendJSON(nil, 1)
		}
		return false, err
	})
	if err == nil && string(floor) == "null" {
		err = tracking.Broken(p.Table.Changes, []string{"its state has no row"})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the change table's state: %w", err)
	}
	return counted, floor, nil
}

// Gap wraps poller.ErrGap where a position is ahead of the change table's state, or changes after it are missing.
func (t Table) Gap(ctx context.Context, conn *sql.Conn, at change.Cursor) (gap, err error) {
	w, err := t.Plan.Within(at)
	if err != nil {
		return nil, err
	}
	counted, floor, err := t.Floor(ctx, conn)
	if err != nil {
		return nil, err
	}
	return t.outside(at, &w, counted, floor), nil
}

// outside is the gap of a position that is ahead of what was counted, nil where nothing is, or below the floor.
func (t Table) outside(at change.Cursor, w *plan.Window, counted, floor []byte) error {
	if counted == nil || !plan.Later(w.At, counted) && !plan.Later(w.Head, counted) {
		return t.belowFloor(at, w, floor)
	}
	return fmt.Errorf("%w: %s: the position %s is ahead of %s, which is at version %s: the database was restored, or is "+
		"another one, and changes to come would not be seen. Read the whole table again: %s; or go on after the last change "+
		"that there is now: rowrelay state accept-gap %s", poller.ErrAhead, t.Source, at, t.Plan.Table.Changes.Title(),
		counted, readAgain, poller.AnyDocument)
}

// belowFloor is the gap of a position below which changes are missing.
func (t Table) belowFloor(at change.Cursor, w *plan.Window, floor []byte) error {
	if w.At == nil || !plan.Later(floor, w.At) && (w.Whole || plan.Later(w.At, floor)) {
		return nil
	}
	return t.errFloor(string(at), floor)
}

func (t Table) errFloor(at string, floor []byte) error {
	why := "it was purged, or installed anew"
	if b := t.Plan.BuiltIn(); b != nil {
		why = b.Lost
	}
	return fmt.Errorf("%w: %s: the position %s is from before version %s, up to which changes are missing in %s: %s. %s",
		poller.ErrGap, t.Source, at, floor, t.Plan.Table.Changes.Title(), why, Remedy)
}

// BetweenSnapshots is the gap of a window that begins before changes that are missing, by the change table's floor.
func (t Table) BetweenSnapshots(w *snapshot.Window, floor string) (gap, err error) {
	least, purged, err := t.FloorOf(floor)
	if err != nil || !w.Begun || w.Seen.Sees(least) && purged < w.Seen.Whole() {
		return nil, err
	}
	return t.errFloor(w.Seen.String(), strconv.AppendUint(nil, max(least, purged), 10)), nil
}

// FloorOf reads the floor where positions are snapshots.
func (t Table) FloorOf(text string) (floor, purged uint64, err error) {
	if text == "" {
		return 0, 0, tracking.Broken(t.Plan.Table.Changes, []string{"its state has no row"})
	}
	return tracking.ParseFloor(text)
}

// Rebuilt is asked where the table is not the one that the position was read in. Changes are told by triggers all the
// same, where it has them; but a dump that is restored has its rows before its triggers, and nothing records what
// became of them. PostgreSQL tells a table that was made anew from one that was rebuilt.
func (t Table) Rebuilt(was, is string) (warning string, err error) {
	s := &t.Plan.Syntax
	switch {
	case t.Plan.BuiltIn() != nil:
		return "", t.anew(was, is)
	case !s.Rebuilds:
		return "", fmt.Errorf("%w: %s: the table was dropped and made anew, by a restore for instance, or another one took its name (%s, "+
			"now %s): its rows may be others than those that were told of. %s", poller.ErrGap, t.Source, was, is, Remedy)
	case s.OnlyRebuilt != nil && s.OnlyRebuilt(was, is):
		return "", nil
	}
	return fmt.Sprintf("%s: the table was rebuilt, or made anew (%s, now %s). Nothing is recorded of a table without the triggers, as "+
		"rowrelay track status %s shows to a login that may see them, nor of rows that a dump brings back, which come before its "+
		"triggers. If it was not only rebuilt: %s", t.Source, was, is, t.Cfg.Poller, readAgain), nil
}

// anew is the gap of a table, or of a tracking, that is not the one that the position was read in. What is not
// known on one side differs from nothing.
func (t Table) anew(was, is string) error {
	a, b := strings.Split(was, "/"), strings.Split(is, "/")
	for i := range max(len(a), len(b)) {
		if engine.Differ(a, b, i) {
			return fmt.Errorf("%w: %s: changes may be missing in %s (%s, now %s): the table was made anew or truncated, or its "+
				"tracking was switched off and on again. %s", poller.ErrGap, t.Source, t.Plan.Table.Changes.Title(), was, is,
				Remedy)
		}
	}
	return nil
}
