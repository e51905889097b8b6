package source

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

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
	err = c.byPlan(ctx, func(p *plan) error {
		warning, err = c.replaced(ctx, p, at, was, is)
		return err
	})
	return warning, err
}

func (c *Cursor) replaced(ctx context.Context, p *plan, at change.Cursor, was, is string) (warning string, err error) {
	counted := p.late.exact == exactSnapshots || p.sel.order[0].Value.Kind == engine.KindRowVersion
	if at.IsStart() || counted || p.syntax.OnlyRebuilt != nil && p.syntax.OnlyRebuilt(was, is) {
		return "", nil
	}
	pos, err := p.decode(at)
	if err != nil {
		return "", err
	}
	below, err := c.anyUpTo(ctx, p, pos)
	if err != nil || !below {
		return "", err
	}
	said := fmt.Sprintf("%s: the table is not the one that the position %s was read in (%s, now %s)", c.name(), at, was, is)
	if p.syntax.Rebuilds {
		return said + ": it was rebuilt, or made anew. If it was made anew and filled again, rows at or below the position were never seen: " +
			"start again with " + startAgain, nil
	}
	return "", fmt.Errorf("%w: %s: it was dropped and made anew, or another one took its name, and rows that stand at or below the position there "+
		"were never seen", poller.ErrGap, said)
}

// anyUpTo reports whether there is a row that would be delivered at a position or below it.
func (c *Cursor) anyUpTo(ctx context.Context, p *plan, pos position) (found bool, err error) {
	st := p.sel.page(1, span{upTo: len(pos)})
	args, err := p.args(st, nil, pos)
	if err != nil {
		return false, err
	}
	err = c.run(ctx, func(ctx context.Context, s *session) error {
		found = false
		return c.dialect.Read(ctx, s.conn, st.text, args, p.sel.columns, func(engine.Row) (bool, error) {
			found = true
			return false, nil
		})
	})
	if err != nil {
		return false, fmt.Errorf("look for a row below the position: %w", err)
	}
	return found, nil
}

// kinds names the columns of cursor and key with the kinds of their values.
func (p *plan) kinds() string {
	parts := make([]string, len(p.sel.order))
	for i := range p.sel.order {
		col := &p.sel.order[i]
		parts[i] = strconv.Quote(col.Name) + " " + col.Value.Kind.String()
	}
	return strings.Join(parts, ", ")
}
