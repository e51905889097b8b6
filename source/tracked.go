package source

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/counter"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/tracked"
	"github.com/rowrelay/rowrelay/tracking"
)

// tracked is the table of a plan whose changes are tracked.
func (c *Cursor) tracked(p *plan.Plan) tracked.Table {
	return tracked.Table{Plan: p, Cfg: &c.cfg, Source: c.name()}
}

// wantedPage is a page of the changes that source__where, source__operations, source__changed and
// source__ignore_context leave. What is left out of live rows moves the position all the same: what happens to a row
// later is told from there.
func (c *Cursor) wantedPage(ctx context.Context, p *plan.Plan, r change.Range, limit poller.Limit,
	also ...keyset.Condition) (change.Page, error) {
	if p.Whole != nil && plan.InTable(r.After) {
		return c.wholePage(ctx, p, r, limit)
	}
	if r.UpTo.IsStart() {
		p = p.Live()
	}
	wanted := c.cfg.Operations
	if !p.Sel.Marked && (p.Tracked == nil || len(wanted) == 0 && !c.cfg.LeavesWrites()) {
		return c.strategy(p).page(ctx, r, limit, also...)
	}
	if !r.UpTo.IsStart() {
		told, err := c.tracked(p).ToldArg(r)
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
	last, updates := page.Events[n-1].Position(), c.cfg.OnlyUpdates()
	page.Events = slices.DeleteFunc(page.Events, func(e change.Event) bool {
		page.Counts = page.Counts || updates && e.Op == change.Insert
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

// latest is where the recording began, if nothing was recorded since. What is older is below the floor.
func (w changePages) latest(ctx context.Context, s *pool.Session) (change.Cursor, error) {
	at, err := w.rowPages.latest(ctx, s)
	if err != nil {
		return nil, err
	}
	_, floor, err := w.c.tracked(w.p).Floor(ctx, s.Conn)
	if err != nil {
		return nil, err
	}
	within, err := w.p.Within(at)
	if err != nil || plan.Later(within.Since, floor) {
		return at, err
	}
	return w.p.AppendCursor(nil, [][]byte{floor}, nil), nil
}

// builtInPages reads what the engine tracks by itself, in windows as changePages does. Each page is one round trip and
// one snapshot, which also says how far the engine has come and from where its changes are complete. So every page is
// held against a gap, the end of a window is known with its last page, and a poll for which nothing was committed reads
// no changes at all.
//
// The position also moves with polls that find nothing, up to where the engine had come. A table that nobody writes to
// would else have its position below what is retained, and a gap could not be told from that.
type builtInPages struct{ rowPages }

func (w builtInPages) latest(ctx context.Context, s *pool.Session) (change.Cursor, error) {
	t, err := w.c.tracked(w.p).Tell(ctx, s.Conn)
	if err != nil {
		return nil, err
	}
	return w.p.AppendCursor(nil, [][]byte{t.Head}, nil), nil
}

// before counts: versions have no index that a row could be looked for by.
func (w builtInPages) before(_ context.Context, row change.Cursor) (change.Cursor, error) {
	pos, err := w.p.Decode(row)
	if err != nil {
		return nil, err
	}
	version, err := counter.Number(pos[0])
	if err != nil {
		return nil, fmt.Errorf("%w: the stored cursor %s: %w", poller.ErrConfig, row, err)
	}
	version.Sub(version, big.NewInt(1))
	return w.p.AppendCursor(nil, [][]byte{change.AppendIntegerText(nil, version.String())}, nil), nil
}

func (w builtInPages) statements(limit int) (first, next keyset.Statement) {
	p := w.p
	sel, also := w.c.tracked(p).FromBeginning().Selection(p, nil)
	return sel.Page(limit, keyset.Span{Also: also}), sel.Page(limit, keyset.Span{After: len(sel.Order), Also: also})
}

// count reads the changes after the position alone, in the transaction of a page: it waits for no writer. A range with
// an end is counted as any other.
func (w builtInPages) count(r change.Range, most int) (st keyset.Statement, args []any, err error) {
	if !r.UpTo.IsStart() {
		return w.rowPages.count(r, most)
	}
	sel, also, err := w.c.tracked(w.p).After(r.After)
	if err != nil {
		return st, nil, err
	}
	return countOf(w.p, sel, r, most, also)
}

// explain has nothing to tell: the changes have no index that one could make.
func (w builtInPages) explain(context.Context, *pool.Session, int) (string, error) { return "", nil }

// Readers writes, for what a poller's output needs, which rows of the change table were delivered before it: conditions
// on the change table, by its own name.
func (c *Cursor) Readers(ctx context.Context, needs *tracked.Needs) (readers []tracking.Reader, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		readers, err = tracked.Readers(p, needs)
		return err
	})
	return readers, err
}

// ChangeTable is the name of the change table, with its schema where there are schemas.
func (c *Cursor) ChangeTable(ctx context.Context) (name string, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		if p.BuiltIn() != nil {
			return fmt.Errorf("%w: there is no change table on %s: what is older than its retention goes by itself",
				poller.ErrConfig, p.Syntax.Name)
		}
		kept := p.ChangeTable()
		name = kept.In(p.Syntax.Quote, kept.Name)
		return nil
	})
	return name, err
}

// Retained is for how long the engine's own change tracking keeps changes, in the database's words; "" where the user
// may not see it, and where triggers keep them.
func (c *Cursor) Retained(ctx context.Context) (text string, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		own := p.BuiltIn()
		if own == nil {
			return nil
		}
		return c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
			text, err = own.Retained(ctx, s.Conn)
			return err
		})
	})
	return text, err
}
