package source

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// Compare says how the database that answered is related to the one that a position was read in, by their incarnations,
// and what is to be recorded of both: what is not shown any more stays.
func (c *Cursor) Compare(was, is string) (checkpointed.Relation, string) {
	found, record := engine.Compare(c.dialect, was, is)
	switch found {
	case engine.SameDatabase:
		return checkpointed.SameDatabase, record
	case engine.FailedOver:
		return checkpointed.FailedOver, record
	default:
		return checkpointed.AnotherDatabase, record
	}
}

// Replaced is asked when the table's identity is not the one that a position was read in. What stands after the
// position is delivered all the same; only rows at or below it, which came with the new table, would never be seen.
//
//   - PostgreSQL's oid and SQL Server's object_id stay through TRUNCATE, VACUUM FULL, ALTER TABLE and whatever rewrites a table; they
//     change when it is dropped and made again, or another one takes its name. With rows at or below the position that is a gap.
//   - MySQL's CREATE_TIME changes with every rebuild as well (ALTER TABLE, OPTIMIZE, TRUNCATE), and SQLite's schema version with every
//     change of the schema. That must not stop a poller: it is a warning. VACUUM alone raises the version by one, and a table that is
//     dropped and made again by two at least: less is nothing to tell.
//
// Where positions are of transactions or row versions, what a new table holds was written after them, and is seen.
func (c *Cursor) Replaced(ctx context.Context, at change.Cursor, was, is string) (warning string, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		warning, err = c.replaced(ctx, p, at, was, is)
		return err
	})
	return warning, err
}

func (c *Cursor) replaced(ctx context.Context, p *plan.Plan, at change.Cursor, was, is string) (warning string,
	err error) {
	if p.Tracked != nil {
		return c.rebuilt(p, was, is)
	}
	counted := p.ByWindows() || p.Sel.Order[0].Value.Kind == engine.KindRowVersion
	if at.IsStart() || counted || p.Syntax.OnlyRebuilt != nil && p.Syntax.OnlyRebuilt(was, is) {
		return "", nil
	}
	pos, err := p.Decode(at)
	if err != nil {
		return "", err
	}
	below, err := c.anyUpTo(ctx, p, pos)
	if err != nil || !below {
		return "", err
	}
	said := fmt.Sprintf("%s: the table is not the one that the position %s was read in (%s, now %s)", c.name(), at, was,
		is)
	if p.Syntax.Rebuilds {
		return said + ": it was rebuilt, or made anew. If it was made anew and filled again, rows at or below the position were never seen: " +
			"start again with " + keyset.StartAgain, nil
	}
	return "", fmt.Errorf("%w: %s: it was dropped and made anew, or another one took its name, and rows that stand at or below the position there "+
		"were never seen", poller.ErrGap, said)
}

// anyUpTo reports whether there is a row that would be delivered at a position or below it.
func (c *Cursor) anyUpTo(ctx context.Context, p *plan.Plan, pos keyset.Position) (found bool, err error) {
	st := p.Sel.Page(1, keyset.Span{UpTo: len(pos)})
	args, err := p.Args(st, nil, pos)
	if err != nil {
		return false, err
	}
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		found = false
		return c.dialect.Read(ctx, s.Conn, st.Text, args, p.Sel.Columns, func(engine.Row) (bool, error) {
			found = true
			return false, nil
		})
	})
	if err != nil {
		return false, fmt.Errorf("look for a row below the position: %w", err)
	}
	return found, nil
}
