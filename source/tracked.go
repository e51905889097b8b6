package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// changesOf is the catalog of a table that is read through its change table. It proves that triggers keep that.
func (c *Cursor) changesOf(ctx context.Context, s *session, t engine.Table) (engine.Table, error) {
	changes, err := tracking.Of(c.dialect, &t, c.cfg.TrackTable, c.cfg.Poller)
	if err == nil {
		err = tracking.Watch(c.dialect, changes, &t, tracking.Writes{Changed: c.cfg.Changed, Ignored: c.cfg.Ignored})
	}
	if err != nil {
		return t, err
	}
	if c.dialect.Syntax().Tracking.BuiltIn != nil {
		return c.builtIn(ctx, s, &t, changes)
	}
	own, err := c.dialect.Table(ctx, s.conn, changes.Beside(changes.Name))
	if errors.Is(err, engine.ErrNoTable) {
		return t, tracking.Missing(changes)
	}
	if err != nil {
		return t, fmt.Errorf("read the catalog for %s: %w", changes.Name, err)
	}
	joined, err := tracking.Join(c.dialect, &t, &own, changes)
	if err != nil {
		return t, err
	}
	syntax := c.dialect.Syntax()
	faults, err := syntax.Tracking.Faults(ctx, s.conn, changes)
	if err == nil && len(faults) > 0 {
		err = tracking.Broken(changes, faults)
	}
	return joined, err
}

// wantedPage is a page of the changes that source__operations, source__changed and source__ignore_context leave. What
// is left out of live rows moves the position all the same: what happens to a row later is told from there.
func (c *Cursor) wantedPage(ctx context.Context, p *plan.Plan, r change.Range, limit poller.Limit,
	also ...keyset.Condition) (change.Page, error) {
	if p.Tracked != nil && plan.InTable(r.After) {
		return c.wholePage(ctx, p, r, limit)
	}
	wanted := c.cfg.Operations
	if p.Tracked == nil || len(wanted) == 0 && !c.cfg.LeavesWrites() {
		return c.strategy(p).page(ctx, r, limit, also...)
	}
	if !r.UpTo.IsStart() {
		told, err := c.toldArg(p, r)
		if err != nil {
			return change.Page{}, err
		}
		also = also[:len(also):len(also)]
		if len(wanted) > 0 {
			also = append(also, p.OfOperations(&c.cfg, told))
		}
		if c.cfg.LeavesWrites() {
			also = append(also, p.OfTouched(told))
		}
		return c.strategy(p).page(ctx, r, limit, also...)
	}
	page, err := c.strategy(p).page(ctx, r, limit, also...)
	n := len(page.Events)
	if err != nil || n == 0 {
		return page, err
	}
	last := page.Events[n-1].Position()
	page.Events = slices.DeleteFunc(page.Events, func(e change.Event) bool {
		return e.Aside || len(wanted) > 0 && !slices.Contains(wanted, e.Op.String())
	})
	if kept := len(page.Events); page.To == nil && kept < n &&
		(kept == 0 || !page.Events[kept-1].Position().Equal(last)) {
		page.To = last
	}
	return page, nil
}

// wantedAgain leaves out of rows that were read again those that are gone, where nobody asked for deletes, and those
// that are there, where nobody asked for anything else.
func (c *Cursor) wantedAgain(events []change.Event) []change.Event {
	wanted := c.cfg.Operations
	if len(wanted) == 0 || !c.cfg.Tracked {
		return events
	}
	deletes := slices.Contains(wanted, change.Delete.String())
	return slices.DeleteFunc(events, func(e change.Event) bool {
		return e.Op == change.Delete && !deletes || e.Op != change.Delete && deletes && len(wanted) == 1
	})
}

// recorded reports whether a row was inserted under the triggers.
func recorded(created []byte) bool { return plan.Later(created, nil) }

// untold tells, where only inserts are wanted, which of them may not have been delivered: nil where others are, too.
func (c *Cursor) untold(p *plan.Plan, within *changeWindow, r change.Range) (func([]byte) bool, error) {
	if p.Tracked == nil || !c.cfg.OnlyInserts() {
		return nil, nil
	}
	return sinceTold(p, within, r)
}

// touched tells which writes that count may not have been delivered: nil where all do, and in a range with an end,
// whose statement asks for them.
func (c *Cursor) touched(p *plan.Plan, within *changeWindow, r change.Range) (func([]byte) bool, error) {
	if p.Tracked == nil || !c.cfg.LeavesWrites() || within == nil {
		return nil, nil
	}
	return sinceTold(p, within, r)
}

// sinceTold tells which versions come after the last up to which all was delivered for certain.
func sinceTold(p *plan.Plan, within *changeWindow, r change.Range) (func([]byte) bool, error) {
	told, err := lateTold(p, r)
	if err == nil && within != nil && (!r.Late || plan.Later(told, within.Told)) {
		told = within.Told
	}
	return func(version []byte) bool { return plan.Later(version, told) }, err
}

// lateTold is the version up to which a range says that all was delivered; nil where it does not.
func lateTold(p *plan.Plan, r change.Range) ([]byte, error) {
	if !r.Late {
		return nil, nil
	}
	w, err := p.Within(r.Told)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	return w.Told, nil
}

// toldArg is lateTold as the driver's argument.
func (c *Cursor) toldArg(p *plan.Plan, r change.Range) (any, error) {
	told, err := lateTold(p, r)
	if err != nil || told == nil {
		return nil, err
	}
	return p.Dialect.Arg(&p.Sel.Columns[p.Tracked.Version], told)
}

// changePages reads a change table whose positions are those of rows. Pages follow each other within a window of
// versions, which begins at a position without one and ends with the highest version that its first page saw. A row of
// the window was not written since that page, so it was not delivered in the window before; it is new to the receiver
// if it was inserted within the window. Without windows a row that was inserted and then written again would come as an
// update wherever a page ended between the two versions.
type changePages struct{ rowPages }

func (w changePages) page(ctx context.Context, r change.Range, limit poller.Limit,
	also ...keyset.Condition) (change.Page,
	error) {
	p := w.p
	if !r.UpTo.IsStart() {
		return w.rowPages.page(ctx, r, limit, also...)
	}
	within, err := p.Within(r.After)
	if err != nil {
		return change.Page{}, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	if within.Head == nil {
		page, err := w.rowPages.page(ctx, r, limit, also...)
		if err == nil && len(page.Events) == 0 && !bytes.Equal(within.Told, within.Since) { // all was told by now
			pos, err := p.Decode(r.After)
			if err != nil {
				return change.Page{}, err
			}
			page.To = p.Encode(pos)
		}
		return page, err
	}
	version := &p.Sel.Columns[p.Tracked.Version]
	head, err := p.Dialect.Arg(version, within.Head)
	if err != nil {
		return change.Page{}, fmt.Errorf("%w: the stored cursor %s: %w", poller.ErrConfig, r.After, err)
	}
	page, err := w.rowPages.page(ctx, r, limit, append(also[:len(also):len(also)],
		func(b *keyset.Builder, s *keyset.Selection) {
			b.Add(s.Column(*version) + " <= ")
			b.Value(version, head)
		})...)
	if err != nil || len(page.Events) > 0 {
		page.More = page.More || err == nil // the window's end is not that of the rows
		return page, err
	}
	after := within.End(p.AppendCursor(nil, [][]byte{within.Head}, nil))
	page, err = w.page(ctx, change.Range{After: after}, limit, also...)
	if err == nil && len(page.Events) == 0 && page.To == nil {
		page.To = after
	}
	return page, err
}

// start is that of rows, but for the latest.
func (w changePages) start(ctx context.Context, s *session) (change.Cursor, error) {
	if w.c.cfg.Start == "latest" {
		return w.latest(ctx, s)
	}
	return w.rowPages.start(ctx, s)
}

// latest is where the recording began, if nothing was recorded since. What is older is below the floor.
func (w changePages) latest(ctx context.Context, s *session) (change.Cursor, error) {
	at, err := w.rowPages.latest(ctx, s)
	if err != nil {
		return nil, err
	}
	_, floor, err := w.c.readFloor(ctx, s, w.p)
	if err != nil {
		return nil, err
	}
	within, err := w.p.Within(at)
	if err != nil || plan.Later(within.Since, floor) {
		return at, err
	}
	return w.p.AppendCursor(nil, [][]byte{floor}, nil), nil
}

// within is the window of a page of live changes; nil for every other page.
func (c *Cursor) within(p *plan.Plan, r change.Range) (*changeWindow, error) {
	if p.Tracked == nil || !r.UpTo.IsStart() {
		return nil, nil
	}
	w, err := p.Within(r.After)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	if p.BuiltIn() != nil {
		return newBuiltInWindow(p, w, r.After, c.cfg.OnlyInserts() || c.cfg.LeavesWrites()), nil
	}
	return &changeWindow{Window: w, after: r.After}, nil
}

// changeWindow is the window of one page.
type changeWindow struct {
	plan.Window
	after change.Cursor
	// builtIn is the engine's own tracking, nil for a change table; told is what that says beside the page. fromTold
	// says that changes are read since Told, and not since the window's begin.
	builtIn  *engine.BuiltIn
	told     string
	fromTold bool
}

// newer tells what was inserted within the window.
func (w *changeWindow) newer() func([]byte) bool {
	if w == nil {
		return nil
	}
	return func(created []byte) bool { return plan.Later(created, w.Since) }
}

// place gives the events of a page their positions, and refuses a page from before what the change table still has.
func (w *changeWindow) place(ctx context.Context, c *Cursor, p *plan.Plan, page *change.Page,
	col *collect.Collector) error {
	if w.isBuiltIn() {
		return w.placeBuiltIn(ctx, c, p, page)
	}
	if col.Floor != nil {
		if err := c.belowFloor(p, w.after, &w.Window, col.Floor); err != nil {
			*page = change.Page{}
			return err
		}
	}
	head := w.Head
	if head == nil {
		head = slices.Clone(col.Head)
	}
	for i := range page.Events {
		e := &page.Events[i]
		switch last := i == len(page.Events)-1; {
		case !last || page.More:
			e.At = w.Place(e.Cursor, head)
		case w.Head != nil:
			e.At = w.End(e.Cursor)
		}
	}
	return nil
}

// belowFloor is the gap of a position below which changes are missing.
func (c *Cursor) belowFloor(p *plan.Plan, at change.Cursor, w *plan.Window, floor []byte) error {
	if w.At == nil || !plan.Later(floor, w.At) && (w.Whole || plan.Later(w.At, floor)) {
		return nil
	}
	return c.errFloor(p, string(at), floor)
}

func (c *Cursor) errFloor(p *plan.Plan, at string, floor []byte) error {
	why := "it was purged, or installed anew"
	if b := p.BuiltIn(); b != nil {
		why = b.Lost
	}
	return fmt.Errorf("%w: %s: the position %s is from before version %s, up to which changes are missing in %s: "+
		"%s. Read the whole table again: %s; or go on after the last change that there is now: "+
		"rowrelay state accept-gap %s. Rows that were deleted meanwhile are not told of",
		poller.ErrGap, c.name(), at, floor, p.Table.Changes.Title(), why, readAgain, poller.AnyDocument)
}

// readFloor reads the change table's floor, and the version that its state counts, where it counts.
func (c *Cursor) readFloor(ctx context.Context, s *session, p *plan.Plan) (counted, floor []byte, err error) {
	if p.BuiltIn() != nil {
		t, err := c.tell(ctx, s, p)
		return t.head, t.floor, err
	}
	column := p.Sel.Columns[p.Tracked.Floor]
	columns, text := []engine.Column{column}, "SELECT "+column.Value.Expr
	if p.Syntax.Tracking.Counted {
		columns = append(columns, column)
		text += ", (SELECT s." + p.Syntax.Quote(engine.ChangeVersion) + " FROM " +
			p.Table.Changes.In(p.Syntax.Quote, p.Table.Changes.State()) + " AS s)"
	}
	err = c.dialect.Read(ctx, s.conn, text, nil, columns, func(r engine.Row) (bool, error) {
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

// changeGap holds a position against the change table's state.
func (c *Cursor) changeGap(ctx context.Context, s *session, p *plan.Plan, at change.Cursor) (gap, err error) {
	w, err := p.Within(at)
	if err != nil {
		return nil, err
	}
	counted, floor, err := c.readFloor(ctx, s, p)
	if err != nil {
		return nil, err
	}
	return c.outside(p, at, &w, counted, floor), nil
}

// outside is the gap of a position that is ahead of what was counted, nil where nothing is, or below the floor.
func (c *Cursor) outside(p *plan.Plan, at change.Cursor, w *plan.Window, counted, floor []byte) error {
	if counted == nil || !plan.Later(w.At, counted) && !plan.Later(w.Head, counted) {
		return c.belowFloor(p, at, w, floor)
	}
	return fmt.Errorf("%w: %s: the position %s is ahead of %s, which is at version %s: the database was restored, or is "+
		"another one, and changes to come would not be seen. Read the whole table again: %s; or go on after the last change "+
		"that there is now: rowrelay state accept-gap %s", poller.ErrGap, c.name(), at, p.Table.Changes.Title(), counted,
		readAgain, poller.AnyDocument)
}

// rebuilt is said where the table itself was made anew or rebuilt. Changes are told by triggers all the same; but where
// TRUNCATE fires none, it rebuilds the table.
func (c *Cursor) rebuilt(p *plan.Plan, was, is string) (warning string, err error) {
	switch {
	case p.BuiltIn() != nil:
		return "", c.trackedAnew(p, was, is)
	case p.Syntax.Tracking.Exact:
		return "", nil
	}
	return fmt.Sprintf("%s: the table was rebuilt, or truncated (%s, now %s): a TRUNCATE fires no trigger, and the rows that it deleted "+
		"were not told of", c.name(), was, is), nil
}
