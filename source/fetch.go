package source

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// Fetch returns the rows of a range, in one round trip where there are none (with source__where in two: sparse.go). SQL
// Server and MySQL are asked which table the rows were of. At most once a minute one more round trip counts NULL
// cursors, where the cursor's column can be NULL at all, and on an idle table one or two hold the position against the
// engine's counter.
//
// A row that can never be sent comes as an event with Broken set; so does the delete of a key without a form
// (engine.Placer). One that has no place (its key or cursor is NULL where it must not be, has no form, or sorts after
// everything to come) ends the page before it: what came before is returned, and the fetch that begins with the bad row
// fails with ErrNormalize. So good rows are delivered as far as order allows, and the tick still fails.
func (c *Cursor) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	limit.Rows, limit.Bytes = max(limit.Rows, 1), max(limit.Bytes, 1)
	var page change.Page
	err := c.byPlan(ctx, func(p *plan.Plan) (err error) {
		page, err = c.wantedPage(ctx, p, r, limit)
		return err
	})
	if err != nil {
		return change.Page{}, fmt.Errorf("fetch: %w", err)
	}
	return page, nil
}

// witness notes which database and table answered. Where the catalog has to be asked for the table, it is asked after a
// page that moves the position: what the catalog said minutes ago may be said of another table, whose rows would be
// held against the position after them later.
func (c *Cursor) witness(ctx context.Context, s *pool.Session, p *plan.Plan, page *change.Page, moves bool) error {
	if !s.Broken { // one that was given up in the middle of a page cannot be asked: it is as it was opened
		if err := c.dialect.Refresh(ctx, s.Conn, &s.Server); err != nil {
			return err
		}
	}
	page.Incarnation = s.Server.Incarnation
	switch {
	case p.Sel.Query != "" || p.Table.View: // it is made anew without its rows being others
	case s.Server.Table != "" && !s.Broken && p.History == nil: // else another source's, or the history's
		page.Table = s.Server.Table
		c.mu.Lock()
		c.tableSeen = page.Table
		c.mu.Unlock()
		if p.Tracked != nil {
			return c.same(p, page.Table)
		}
	case p.Table.Identify == nil:
		page.Table = p.Table.Identity
	case moves && !s.Broken:
		id, err := p.Table.Identify(ctx, s.Conn)
		if err != nil {
			return fmt.Errorf("read which table it is: %w", err)
		}
		page.Table = id
		c.mu.Lock()
		c.tableSeen = id
		c.mu.Unlock()
		return c.same(p, id)
	default:
		c.mu.Lock()
		page.Table = c.tableSeen
		c.mu.Unlock()
	}
	return nil
}

// same refuses a plan of a table that was altered since, or made anew: its rows may have been read by types that they
// do not have any more, and triggers fall with the table that they are on: nothing is recorded then, and no update
// sets an xid8.
func (c *Cursor) same(p *plan.Plan, table string) error {
	c.mu.Lock()
	justNow := time.Since(c.planned) < time.Second // then it is the newest plan that there can be
	c.mu.Unlock()
	if table == "" || table == p.Table.Identity || justNow {
		return nil
	}
	return fmt.Errorf("%w: the table is %s, and was %s", engine.ErrSchemaChanged, table, p.Table.Identity)
}

// read runs a page's statement. A page that is full of bytes leaves rows unread, which most drivers fetch from the
// server to throw them away before the connection can be used again: a few are cheaper than a new connection, but a
// table of large rows could take longer than the timeout for that, on every tick anew. Then the connection is given up
// instead.
func (c *Cursor) read(ctx context.Context, s *pool.Session, text string, args []any, col *collect.Collector) error {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	err := c.dialect.Read(ctx, s.Conn, text, args, col.Plan.Sel.Columns, func(r engine.Row) (bool, error) {
		more := col.Add(r)
		if !more && col.Unread() > 4*col.Limit.Bytes {
			s.Broken = true
			abandon()
		}
		// The statement's last row: what the engine tells of its tracking stands after it.
		return more || col.Plan.BuiltIn() != nil && col.Unread() == 0, nil
	})
	if s.Broken {
		return nil // the page is whole, however the reading ended
	}
	return err
}

// ask is how many rows a statement asks for: the limit, or what the last pages showed to fit into the limit of bytes.
func (c *Cursor) ask(limit int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows > 0 {
		return min(c.rows, limit)
	}
	return limit
}

// learn adapts ask: a page that was full of bytes after n rows halves what the next statement asks for, to about twice
// as many; a page that held all it asked for doubles it. Powers of two keep the number of different statements small.
func (c *Cursor) learn(n, asked, limit int, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case full && 4*n < asked:
		c.rows = 1 << bits.Len(uint(2*n-1))
	case !full && n == asked && c.rows > 0 && asked >= c.rows: // fewer, because the limit was lower, teach nothing
		c.rows = asked * 2
		if c.rows >= limit {
			c.rows = 0
		}
	}
}

// How many of a tied page's ends untie tries, and how many rows it reads at each.
const (
	untieEnds = 4
	untieRows = 16
)

// untie ends a tied page where the database itself tells two keys apart: when it gives the one as a row after the
// other. That costs a round trip, which only a page pays that is tied as a whole.
func (c *Cursor) untie(ctx context.Context, s *pool.Session, col *collect.Collector) error {
	p, next := col.Plan, col.Next
	sel := p.Sel
	sel.Columns = p.Sel.Order
	for n := len(col.Tied); n > max(0, len(col.Tied)-untieEnds); n-- {
		at, err := p.Decode(col.Tied[n-1].Cursor)
		if err != nil {
			return err
		}
		st := sel.Page(untieRows, keyset.Span{After: len(at)})
		if col.Scan != nil {
			if st, err = p.Snapshots().ScanAfter(&sel, &col.Tied[n-1], col.Scan, untieRows); err != nil {
				return err
			}
		}
		args, err := p.Args(st, at, nil)
		if err != nil {
			return err
		}
		apart := false
		err = c.dialect.Read(ctx, s.Conn, st.Text, args, sel.Columns, func(r engine.Row) (bool, error) {
			apart = next.Is(r)
			return !apart, nil
		})
		if err != nil {
			return fmt.Errorf("compare two keys: %w", err)
		}
		if apart {
			col.Events, col.Tied, col.Bad = col.Tied[:n], nil, nil
			return nil
		}
		next = at
	}
	return nil
}
