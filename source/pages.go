package source

import (
	"context"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/spelling"
)

func (w rowPages) page(ctx context.Context, r change.Range, limit poller.Limit, also ...keyset.Condition) (change.Page,
	error) {
	var settled []keyset.Condition
	if w.p.Late.Mode == late.Settle && !r.Unsafe {
		var err error
		if r, settled, err = w.c.settledRange(ctx, w.p, r); err != nil {
			return change.Page{}, err
		}
		also = append(also[:len(also):len(also)], settled...)
	}
	if w.isSparse(r) {
		return w.sparsePage(ctx, r, limit, settled, also)
	}
	return w.densePage(ctx, r, limit, also)
}

// densePage reads below the watermark where the source keeps one, unless the range asks for what is above it too.
func (w rowPages) densePage(ctx context.Context, r change.Range, limit poller.Limit, also []keyset.Condition) (
	change.Page, error) {
	c, p := w.c, w.p
	switch {
	case r.Known != nil && p.Numbered != nil:
		return c.orderedPage(ctx, p.Numbered, r, limit)
	case r.Known != nil:
		return c.orderedPage(ctx, p, r, limit)
	case r.Unsafe && p.Table.Locking:
		above, none := aboveLocks(p)
		return c.page(ctx, above, r, limit, append(also[:len(also):len(also)], none...)...)
	case r.Unsafe:
	case p.Late.Exact == plan.ExactWatermark:
		return c.watermarkPage(ctx, p, r, limit, also...)
	case r.Late && p.Numbered != nil:
		p = p.Numbered
	}
	return c.page(ctx, p, r, limit, also...)
}

// aboveLocks is the plan for rows above the safe point where reads wait for locks. Rows that are locked are passed
// over: what holds the safe point back would hold up the look past it, too. They come when they are below it. (Live
// rows must never be read so: a row whose change is undone would be lost.) In a view or a query no hint says so for
// certain, and nothing is read.
func aboveLocks(p *plan.Plan) (*plan.Plan, []keyset.Condition) {
	if p.Sel.Query != "" || p.Table.View {
		return p, []keyset.Condition{func(b *keyset.Builder, _ *keyset.Selection) { b.Add("1 = 0") }}
	}
	above := *p
	above.Sel.Hint = p.Syntax.SkipLocked
	return &above, nil
}

// start is the beginning (earliest), or after every row of a value.
func (w rowPages) start(ctx context.Context, s *pool.Session) (change.Cursor, error) {
	c, p := w.c, w.p
	if c.cfg.Start == "" || c.cfg.Start == "earliest" {
		return nil, nil
	}
	at, err := p.StartAt(&c.cfg)
	if err != nil {
		return nil, err
	}
	return spelling.Adopt(ctx, s.Conn, p, c.cfg.TimeZone, at)
}

func (w rowPages) prove(ctx context.Context, s *pool.Session, after change.Cursor) error {
	p := w.p
	pos, err := p.Decode(after)
	if err != nil {
		return err
	}
	st := p.Sel.Page(1, keyset.Span{After: len(pos)})
	args, err := p.Args(st, pos, nil)
	if err != nil {
		return err
	}
	return firstRow(ctx, s, p, st, args, p.Sel.Columns)
}

// firstRow reads a statement's first row, and throws it away.
func firstRow(ctx context.Context, s *pool.Session, p *plan.Plan, st keyset.Statement, args []any,
	columns []engine.Column) error {
	err := p.Dialect.Read(ctx, s.Conn, st.Text, args, columns, func(engine.Row) (bool, error) { return false, nil })
	if err != nil {
		return fmt.Errorf("read the first row: %w", err)
	}
	return nil
}

func (w rowPages) latest(ctx context.Context, s *pool.Session) (change.Cursor, error) {
	return w.c.latest(ctx, s, w.p)
}

// latest is the position of the last row, but for those that are dated beyond the database's clock.
func (c *Cursor) latest(ctx context.Context, s *pool.Session, p *plan.Plan) (last change.Cursor, err error) {
	err = c.dialect.Read(ctx, s.Conn, p.Sel.Latest().Text, nil, p.Sel.Order, func(r engine.Row) (bool, error) {
		last, err = collect.CursorOf(p, r)
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the latest row: %w", err)
	}
	if last, err = c.notAhead(ctx, s, p, last); err != nil {
		return nil, fmt.Errorf("read the latest row that is not dated ahead: %w", err)
	}
	return last, nil
}

// latestKept is how many of the newest rows are looked through for one that is not dated ahead.
const latestKept = 10_000

// notAhead returns the newest position that is not dated beyond the database's clock: the position to begin at, or to
// take for what was there at a moment. newest is the newest of all.
func (c *Cursor) notAhead(ctx context.Context, s *pool.Session, p *plan.Plan, newest change.Cursor) (last change.Cursor,
	err error) {
	d := p.Dates(&c.cfg)
	if d == nil || newest.IsStart() {
		return newest, nil
	}
	h, err := c.horizon(ctx, s, p)
	if err != nil {
		return nil, fmt.Errorf("read the database's clock: %w", err)
	}
	ahead := func(at change.Cursor) bool {
		first, _, ok := d.Span(at)
		return ok && first.After(h.Now.Add(c.cfg.LateWindow+d.Slack))
	}
	if !ahead(newest) {
		return newest, nil
	}
	seen := 0
	chosen := p.Sel.Newest(latestKept, false)
	err = c.dialect.Read(ctx, s.Conn, chosen.Text, nil, p.Sel.Order, func(r engine.Row) (bool, error) {
		at, err := collect.CursorOf(p, r)
		seen++
		if err == nil && !ahead(at) {
			last = at
		}
		return err == nil && last == nil, err
	})
	if err == nil && last == nil && seen == latestKept {
		err = fmt.Errorf("%w: the newest %d rows are all dated after the database's clock: correct them, exclude them by source__where, "+
			"or write the value to begin at into source__start", poller.ErrConfig, seen)
	}
	return last, err
}

// position is after a row, or before or after all rows of a value.
func (w rowPages) position(ctx context.Context, cursor string, key map[string]string, ties string) (change.Cursor,
	error) {
	c, p := w.c, w.p
	values, err := p.CursorValues("the cursor", cursor, &c.cfg)
	if err != nil {
		return nil, err
	}
	keyColumns := keyset.ColumnNames(keyset.Pick(p.Sel.Columns, p.Key))
	switch {
	case ties != "" && ties != TiesBefore && ties != TiesAfter:
		return nil, fmt.Errorf("%w: ties are %q: they are %s or %s", poller.ErrConfig, ties, TiesBefore, TiesAfter)
	case ties != "" && len(key) > 0:
		return nil, fmt.Errorf("%w: a key names one row, and ties %s all of one value: give one of them", poller.ErrConfig,
			ties)
	case ties == TiesAfter, ties == "" && len(key) == 0 && p.UniqueCursor:
		return c.placed(ctx, p, p.AppendCursor(nil, values, nil))
	case ties == TiesBefore:
		return c.lastBelow(ctx, p, values)
	case len(key) == 0 && len(p.Sel.Order) > p.Sel.Cursors:
		return nil, fmt.Errorf("%w: several rows may share the cursor %s: say --ties %s or --ties %s all of them, or name the row by a --key for "+
			"every column of its key (%s)", poller.ErrConfig, cursor, TiesBefore, TiesAfter, strings.Join(keyColumns, ", "))
	}
	object, err := p.KeyOf(key, values, &c.cfg)
	if err != nil {
		return nil, err
	}
	return c.placed(ctx, p, p.AppendCursor(nil, values, object))
}

func (w rowPages) before(ctx context.Context, row change.Cursor) (change.Cursor, error) {
	pos, err := w.p.Decode(row)
	if err != nil {
		return nil, err
	}
	return w.c.lastBelow(ctx, w.p, pos[:w.p.Sel.Cursors])
}

func (w rowPages) count(r change.Range, most int) (st keyset.Statement, args []any, err error) {
	return countOf(w.p, &w.p.Sel, r, most)
}

// countOf is the statement that counts the rows of a range in what is selected.
func countOf(p *plan.Plan, sel *keyset.Selection, r change.Range, most int,
	also ...keyset.Condition) (st keyset.Statement, args []any, err error) {
	pos, err := p.Decode(r.After)
	if err != nil {
		return st, nil, err
	}
	end, err := p.Decode(r.UpTo)
	if err != nil {
		return st, nil, err
	}
	st = sel.Count(keyset.Span{After: len(pos), UpTo: len(end), Also: also}, most)
	args, err = p.Args(st, pos, end)
	return st, args, err
}

// gap holds a position against the engine's own counter.
func (w rowPages) gap(ctx context.Context, at change.Cursor) (gap, err error) {
	c, p := w.c, w.p
	pos, err := p.Decode(at)
	if err != nil || !p.Counted(at) && p.ChangeTable() == nil || at.IsStart() {
		return nil, err
	}
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) (err error) {
		if !s.Server.ReadOnly || p.Tracked != nil {
			gap, _, err = c.holdAgainst(ctx, s, p, at, pos)
		}
		return err
	})
	return gap, err
}

func (w rowPages) statements(limit int) (first, next keyset.Statement) {
	c, p := w.c, w.p
	var also []keyset.Condition
	switch {
	case p.Late.Exact == plan.ExactWatermark:
		also = append(also, new(plan.Watermark).Below)
	case p.Late.Mode == late.Settle && p.SettlesByClock():
		also = append(also, c.settled(p))
	}
	return p.Sel.Page(limit, keyset.Span{Also: also}), p.Sel.Page(limit, keyset.Span{After: len(p.Sel.Order), Also: also})
}

// explain is for the statement that runs most, for the last row there is: a plan without values would be another.
func (w rowPages) explain(ctx context.Context, s *pool.Session, batch int) (string, error) {
	c, p := w.c, w.p
	st, args := p.Sel.First(batch+1), []any(nil)
	last, err := c.latest(ctx, s, p)
	if err != nil {
		return "", err
	}
	if !last.IsStart() {
		pos, err := p.Decode(last)
		if err != nil {
			return "", err
		}
		st = p.Sel.After(batch + 1)
		if args, err = p.Args(st, pos, nil); err != nil {
			return "", err
		}
	}
	return p.Dialect.Explain(ctx, s.Conn, st.Text, args)
}
