package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// longest is how long a statement of an operator may take: as good as without a bound, and still one that every server
// takes for its own limits. The context ends it before.
const longest = 24 * time.Hour

// Count returns how many rows a range holds, for operators: it reads all of them, is bounded by ctx and not by
// source__timeout, and does not repeat itself. Range.Unsafe has no effect: all rows count that are visible.
func (c *Cursor) Count(ctx context.Context, r poller.Range) (n int64, err error) {
	err = c.byPlan(ctx, func(p *plan) error {
		n, err = c.count(ctx, p, r)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count rows: %w", err)
	}
	return n, nil
}

func (c *Cursor) count(ctx context.Context, p *plan, r poller.Range) (n int64, err error) {
	if p.late.exact == exactSnapshots {
		return c.windowCount(ctx, p, r)
	}
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

// patiently does work on a connection of its own, which the server gives as much time as ctx does. It is closed afterwards.
func (c *Cursor) patiently(ctx context.Context, work func(context.Context, *session) error) error {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return c.explain(ctx, engine.FaultBusy, fmt.Errorf("%w: %w", errBusy, context.Cause(ctx)))
	}
	defer func() { <-c.slots }()
	if idle := c.pop(); idle != nil {
		idle.discard() // a kept session counts against the pool's limit, which the new one must find room in
	}
	s, err := c.openWith(ctx, longest)
	if err == nil {
		defer s.discard()
		err = work(ctx, s)
	}
	if err != nil && !errors.Is(err, poller.ErrConfig) {
		return c.explain(ctx, c.classify(ctx, ctx, err), err)
	}
	return err
}
