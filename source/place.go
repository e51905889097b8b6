package source

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/plan"
)

// Where a position stands that names a cursor's value and no key.
const (
	// TiesBefore: in front of every row of that value, which all come again.
	TiesBefore = "before"
	// TiesAfter: behind every row of that value, of which none comes.
	TiesAfter = "after"
)

// Latest returns the position of the last row there is now: the beginning where there is none.
func (c *Cursor) Latest(ctx context.Context) (last change.Cursor, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		return c.run(ctx, func(ctx context.Context, s *session) error {
			last, err = c.strategy(p).latest(ctx, s)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("find the latest position: %w", err)
	}
	return last, nil
}

// Position makes a position of what a person types: a cursor's value, written as source__start is (a JSON array for a
// composite cursor), and either the value of every key column (rows come after that row, which need not exist any more;
// a key column that is part of the cursor may be left out), or ties, TiesBefore or TiesAfter, for a value as a whole.
// Where the cursor holds the key, or is unique for every write, the value alone says it, and TiesAfter is meant.
//
// TiesBefore is the position of the last row below the value, as the table is now, or the beginning where there is none:
// positions come after something, and this one needs no form of its own. A row that is written later between that row and the
// value comes as well.
//
// Errors wrap poller.ErrConfig where the values are at fault.
func (c *Cursor) Position(ctx context.Context, cursor string, key map[string]string, ties string) (at change.Cursor, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		at, err = c.strategy(p).position(ctx, cursor, key, ties)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the position: %w", err)
	}
	return at, nil
}

// lastBelow finds the position of the last row whose cursor is below the values.
func (c *Cursor) lastBelow(ctx context.Context, p *plan.Plan, values [][]byte) (at change.Cursor, err error) {
	value, err := c.placed(ctx, p, p.AppendCursor(nil, values, nil))
	if err != nil {
		return nil, err
	}
	pos, err := p.Decode(value)
	if err != nil {
		return nil, err
	}
	st := p.Sel.Below()
	args, err := p.Args(st, pos, nil)
	if err != nil {
		return nil, err
	}
	err = c.run(ctx, func(ctx context.Context, s *session) error {
		at = nil
		return c.dialect.Read(ctx, s.conn, st.Text, args, p.Sel.Order, func(r engine.Row) (bool, error) {
			at, err = cursorOf(p, r)
			return false, err
		})
	})
	return at, err
}
