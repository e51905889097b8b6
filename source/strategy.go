package source

import (
	"context"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// strategy is how the rows of a plan are read, and what its positions mean. There are two: positions of rows, in the
// order of cursor and key (rowPages, and for recorded changes changePages and builtInPages: tracked.go; historyPages),
// and windows between two snapshots (windows), which PostgreSQL alone has.
type strategy interface {
	// page reads one page as source__late_commits says, under further conditions.
	page(ctx context.Context, r change.Range, limit poller.Limit, also ...keyset.Condition) (change.Page, error)
	// start returns the position that source__start means, where that is not the latest.
	start(ctx context.Context, s *pool.Session) (change.Cursor, error)
	// prove reads one row after a position by the poller's own statement, and throws it away.
	prove(ctx context.Context, s *pool.Session, after change.Cursor) error
	// latest is the position after every row that there is.
	latest(ctx context.Context, s *pool.Session) (change.Cursor, error)
	// position is what a person typed: a value of the cursor, and a key, or ties.
	position(ctx context.Context, cursor string, key map[string]string, ties string) (change.Cursor, error)
	// before is the position of the last row below one's cursor: from there the row comes again.
	before(ctx context.Context, row change.Cursor) (change.Cursor, error)
	// count is the statement that counts the rows of a range, up to most (0: all), and its arguments.
	count(r change.Range, most int) (keyset.Statement, []any, error)
	// gap wraps poller.ErrGap where a position is ahead of what the engine counts; nil where it is not, or that cannot be
	// known.
	gap(ctx context.Context, at change.Cursor) (gap, err error)
	// statements read the first page and every other, and explain is the engine's own account of the latter: for people.
	statements(limit int) (first, next keyset.Statement)
	explain(ctx context.Context, s *pool.Session, batch int) (string, error)
}

func (c *Cursor) strategy(p *plan.Plan) strategy {
	switch {
	case p.ByWindows():
		return windows{c, p}
	case p.BuiltIn() != nil:
		return builtInPages{rowPages{c, p}}
	case p.Tracked != nil:
		return changePages{rowPages{c, p}}
	case p.History != nil:
		return historyPages{rowPages{c, p}}
	}
	return rowPages{c, p}
}

// rowPages reads pages whose positions are those of rows. It implements strategy.
type rowPages struct {
	c *Cursor
	p *plan.Plan
}
