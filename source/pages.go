package source

import (
	"context"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// rowPages reads pages whose positions are those of rows. It implements strategy.
type rowPages struct {
	c *Cursor
	p *plan
}

// page reads below the safe point where the source keeps one, unless the range asks for what is above it too.
func (w rowPages) page(ctx context.Context, r poller.Range, limit poller.Limit, also ...condition) (poller.Page, error) {
	c, p := w.c, w.p
	switch {
	case r.Unsafe && p.table.Locking:
		above, none := aboveLocks(p)
		return c.page(ctx, above, r, limit, append(also[:len(also):len(also)], none...)...)
	case r.Unsafe:
	case p.late.exact == exactWatermark:
		return c.watermarkPage(ctx, p, r, limit, also...)
	case p.late.mode == poller.LateSettle:
		return c.settledPage(ctx, p, r, limit, also...)
	}
	return c.page(ctx, p, r, limit, also...)
}

// aboveLocks is the plan for rows above the safe point where reads wait for locks. Rows that are locked are passed over: what holds the
// safe point back would hold up the look past it, too. They come when they are below it. (Live rows must never be read so: a row
// whose change is undone would be lost.) In a view or a query no hint says so for certain, and nothing is read.
func aboveLocks(p *plan) (*plan, []condition) {
	if p.sel.query != "" || p.table.View {
		return p, []condition{func(b *builder, _ *selection) { b.add("1 = 0") }}
	}
	above := *p
	above.sel.hint = p.syntax.SkipLocked
	return &above, nil
}

// start is the beginning (earliest), the last row there is (latest), or after every row of a value.
func (w rowPages) start(ctx context.Context, s *session) (change.Cursor, error) {
	c, p := w.c, w.p
	switch c.cfg.Start {
	case "", "earliest":
		return nil, nil
	case "latest":
		return c.latest(ctx, s, p)
	}
	at, err := p.startAt(&c.cfg)
	if err != nil {
		return nil, err
	}
	return c.inForm(ctx, s, p, at)
}

func (w rowPages) prove(ctx context.Context, s *session, after change.Cursor) error {
	p := w.p
	pos, err := p.decode(after)
	if err != nil {
		return err
	}
	st := p.sel.page(1, span{after: len(pos)})
	args, err := p.args(st, pos, nil)
	if err != nil {
		return err
	}
	return firstRow(ctx, s, p, st, args, p.sel.columns)
}

// firstRow reads a statement's first row, and throws it away.
func firstRow(ctx context.Context, s *session, p *plan, st statement, args []any, columns []engine.Column) error {
	err := p.dialect.Read(ctx, s.conn, st.text, args, columns, func(engine.Row) (bool, error) { return false, nil })
	if err != nil {
		return fmt.Errorf("read the first row: %w", err)
	}
	return nil
}

func (w rowPages) latest(ctx context.Context, s *session) (change.Cursor, error) {
	return w.c.latest(ctx, s, w.p)
}

// latest is the position of the last row, but for those that are dated beyond the database's clock.
func (c *Cursor) latest(ctx context.Context, s *session, p *plan) (last change.Cursor, err error) {
	err = c.dialect.Read(ctx, s.conn, p.sel.latest().text, nil, p.sel.order, func(r engine.Row) (bool, error) {
		last, err = cursorOf(p, r)
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

// position is after a row, or before or after all rows of a value.
func (w rowPages) position(ctx context.Context, cursor string, key map[string]string, ties string) (change.Cursor, error) {
	c, p := w.c, w.p
	values, err := p.cursorValues("the cursor", cursor, &c.cfg)
	if err != nil {
		return nil, err
	}
	keyColumns := columnNames(pick(p.sel.columns, p.key))
	switch {
	case ties != "" && ties != TiesBefore && ties != TiesAfter:
		return nil, fmt.Errorf("%w: ties are %q: they are %s or %s", poller.ErrConfig, ties, TiesBefore, TiesAfter)
	case ties != "" && len(key) > 0:
		return nil, fmt.Errorf("%w: a key names one row, and ties %s all of one value: give one of them", poller.ErrConfig, ties)
	case ties == TiesAfter, ties == "" && len(key) == 0 && p.uniqueCursor:
		return c.placed(ctx, p, p.appendCursor(nil, values, nil))
	case ties == TiesBefore:
		return c.lastBelow(ctx, p, values)
	case len(key) == 0 && len(p.sel.order) > p.sel.cursors:
		return nil, fmt.Errorf("%w: several rows may share the cursor %s: name the row by every column of its key (%s), or say whether the position is %s or %s all of them",
			poller.ErrConfig, cursor, strings.Join(keyColumns, ", "), TiesBefore, TiesAfter)
	}
	object, err := p.keyOf(key, values, &c.cfg)
	if err != nil {
		return nil, err
	}
	return c.placed(ctx, p, p.appendCursor(nil, values, object))
}

func (w rowPages) count(ctx context.Context, r poller.Range) (n int64, err error) {
	c, p := w.c, w.p
	pos, err := p.decode(r.After)
	if err != nil {
		return 0, err
	}
	end, err := p.decode(r.UpTo)
	if err != nil {
		return 0, err
	}
	st := p.sel.count(span{after: len(pos), upTo: len(end)})
	args, err := p.args(st, pos, end)
	if err != nil {
		return 0, err
	}
	err = c.patiently(ctx, func(ctx context.Context, s *session) error {
		return s.conn.QueryRowContext(ctx, st.text, args...).Scan(&n)
	})
	return n, err
}

// gap holds a position against the engine's own counter.
func (w rowPages) gap(ctx context.Context, at change.Cursor) (gap, err error) {
	c, p := w.c, w.p
	pos, err := p.decode(at)
	if err != nil || !p.counted(at) {
		return nil, err
	}
	err = c.run(ctx, func(ctx context.Context, s *session) (err error) {
		if !s.server.ReadOnly {
			gap, _, err = c.lookForGap(ctx, s, p, at, pos)
		}
		return err
	})
	return gap, err
}

func (w rowPages) statements(limit int) (first, next statement) {
	c, p := w.c, w.p
	var also []condition
	switch {
	case p.late.exact == exactWatermark:
		also = append(also, new(watermark).below)
	case p.late.mode == poller.LateSettle && p.settlesByClock():
		also = append(also, c.settled(p))
	}
	return p.sel.page(limit, span{also: also}), p.sel.page(limit, span{after: len(p.sel.order), also: also})
}

// explain is for the statement that runs most, for the last row there is: a plan without values would be another.
func (w rowPages) explain(ctx context.Context, s *session, batch int) (string, error) {
	c, p := w.c, w.p
	st, args := p.sel.first(batch+1), []any(nil)
	last, err := c.latest(ctx, s, p)
	if err != nil {
		return "", err
	}
	if !last.IsStart() {
		pos, err := p.decode(last)
		if err != nil {
			return "", err
		}
		st = p.sel.after(batch + 1)
		if args, err = p.args(st, pos, nil); err != nil {
			return "", err
		}
	}
	return p.dialect.Explain(ctx, s.conn, st.text, args)
}
