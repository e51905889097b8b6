package source

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// A page of a table with source__where goes through so many rows at most, whether they are chosen or not: more while
// none are, fewer while many are.
const (
	reachLeast = 1 << 12
	reachMost  = 1 << 18
)

// isSparse reports whether the rows of a range may be so far apart that a page of them takes too long, or that what was
// left out would be gone through again with each poll.
func (w rowPages) isSparse(r change.Range) bool {
	looks := r.Unsafe && r.UpTo.IsStart() // at what is held back: it moves no position
	return w.p.Marked != nil && w.p.Tracked == nil && !looks
}

// sparsePage reads a page up to a position that the table has reached before. The rows up to there that it does not
// show are left out for good, but for those that commit late, as after any row.
func (w rowPages) sparsePage(ctx context.Context, r change.Range, limit poller.Limit, settled,
	also []keyset.Condition) (change.Page, error) {
	rows := w.c.stretch()
	end, err := w.reached(ctx, r, rows, settled)
	if err != nil {
		return change.Page{}, fmt.Errorf("look how far the table reaches: %w", err)
	}
	if end == nil {
		return w.densePage(ctx, r, limit, also)
	}
	to := r.UpTo
	r.UpTo = end
	page, err := w.densePage(ctx, r, limit, also)
	if err != nil {
		w.c.setStretch(reachLeast)
		return change.Page{}, err
	}
	if page.More || page.AgainMore {
		w.c.setStretch(rows / 4)
		return page, nil
	}
	w.c.setStretch(rows * 4)
	page.To = end
	if !end.Equal(to) {
		n, err := w.leftBehind(ctx, r, rows)
		if err != nil {
			return change.Page{}, fmt.Errorf("count the rows that were left out: %w", err)
		}
		page.More = n == rows
	}
	return page, nil
}

// reached is the position of the last of the next rows of a range of the table, so many at most; nil where there are
// none. Where there is a watermark it stays below: what is written above may come to lie before the position.
func (w rowPages) reached(ctx context.Context, r change.Range, rows int, settled []keyset.Condition) (end change.Cursor,
	err error) {
	st, args, err := w.reach(r, rows, settled)
	if err != nil {
		return nil, err
	}
	err = w.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		end = nil
		return w.c.dialect.Read(ctx, s.Conn, st.Text, args, w.p.Sel.Order, func(r engine.Row) (more bool, err error) {
			end, err = collect.CursorOf(w.p, r)
			return false, err
		})
	})
	return end, err
}

func (w rowPages) reach(r change.Range, rows int, settled []keyset.Condition) (st keyset.Statement, args []any,
	err error) {
	pos, err := w.p.Decode(r.After)
	if err != nil {
		return st, nil, err
	}
	to, err := w.p.Decode(r.UpTo)
	if err != nil {
		return st, nil, err
	}
	in := keyset.Span{After: len(pos), UpTo: len(to), Common: keyset.Common(pos, to), Also: settled}
	if w.p.Late.Exact == plan.ExactWatermark {
		in.Also = append(in.Also, new(plan.Watermark).Below)
	}
	st = w.p.Sel.Reach(rows, in)
	args, err = w.p.Args(st, pos, to)
	return st, args, err
}

// leftBehind counts the rows of a range of the table, up to most.
func (w rowPages) leftBehind(ctx context.Context, r change.Range, most int) (n int, err error) {
	all := w.p.Sel
	all.Where = ""
	st, args, err := countOf(w.p, &all, r, most)
	if err != nil {
		return 0, err
	}
	err = w.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		return engine.EachRow(ctx, s.Conn, st.Text, args, func(scan func(...any) error) error { return scan(&n) })
	})
	return n, err
}

// stretch is how many rows the next sparse page goes through.
func (c *Cursor) stretch() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.reach, reachLeast)
}

func (c *Cursor) setStretch(rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reach = min(rows, reachMost)
}
