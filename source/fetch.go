package source

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Fetch returns the rows after a position, in one round trip (and, at most once a minute, one more that counts NULL
// cursors, where the cursor's column can be NULL at all).
//
// A row that cannot become an event ends the page before it: what came before is returned, and the fetch that begins
// with the bad row fails with ErrNormalize. So good rows are delivered as far as order allows, and the tick still fails.
func (c *Cursor) Fetch(ctx context.Context, after change.Cursor, limit poller.Limit) (poller.Page, error) {
	limit.Rows, limit.Bytes = max(limit.Rows, 1), max(limit.Bytes, 1)
	page, err := c.fetch(ctx, after, limit)
	if err != nil {
		return poller.Page{}, fmt.Errorf("fetch: %w", err)
	}
	return page, nil
}

func (c *Cursor) fetch(ctx context.Context, after change.Cursor, limit poller.Limit) (poller.Page, error) {
	for changed := false; ; changed = true {
		p, _, err := c.current(ctx)
		if err != nil {
			return poller.Page{}, err
		}
		page, err := c.page(ctx, p, after, limit)
		// The catalog may have changed since the plan was made: once, read it again and try with what it says now.
		if err != nil && !changed && (errors.Is(err, errSchemaChanged) || c.dialect.classify(err) == faultSchema) {
			c.forget(p)
			continue
		}
		return page, err
	}
}

// page reads one page by a plan.
func (c *Cursor) page(ctx context.Context, p *plan, after change.Cursor, limit poller.Limit) (poller.Page, error) {
	pos, err := p.decode(after)
	if err != nil {
		return poller.Page{}, err
	}
	ask := c.ask(limit.Rows)
	// One row more than wanted: whether there is more is then known without another round trip, and in a query a second
	// row with the last row's cursor and key is seen.
	st := p.sel.page(ask+1, len(pos))
	args, err := p.args(st, pos)
	if err != nil {
		return poller.Page{}, err
	}
	var col collector
	var page poller.Page
	err = c.run(ctx, func(ctx context.Context, s *session) error {
		col = collector{plan: p, cfg: &c.cfg, limit: poller.Limit{Rows: ask, Bytes: limit.Bytes}, fetched: time.Now()}
		page = poller.Page{Incarnation: s.life.incarnation, NullCursors: -1}
		if err := c.read(ctx, s, st.text, args, &col); err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		if s.broken {
			return nil
		}
		return c.probe(ctx, s, p, &page)
	})
	if err != nil {
		return poller.Page{}, err
	}
	c.learn(len(col.events), ask, limit.Rows, col.full)
	page.Events, page.More = col.events, col.more
	if col.bad != nil {
		if len(col.events) == 0 {
			return poller.Page{}, fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), col.bad)
		}
		page.More = true
	}
	return page, nil
}

// read runs a page's statement. A page that is full of bytes leaves rows unread, which most drivers fetch from the server
// to throw them away before the connection can be used again: a few are cheaper than a new connection, but a table of
// large rows could take longer than the timeout for that, on every tick anew. Then the connection is given up instead.
func (c *Cursor) read(ctx context.Context, s *session, text string, args []any, col *collector) error {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	err := c.dialect.read(ctx, s.conn, text, args, col.plan.sel.columns, func(r row) (bool, error) {
		more := col.add(r)
		if !more && col.unread() > 4*col.limit.Bytes {
			s.broken = true
			abandon()
		}
		return more, nil
	})
	if s.broken {
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
	case !full && n == asked && c.rows > 0:
		c.rows = asked * 2
		if c.rows >= limit {
			c.rows = 0
		}
	}
}

// How often NULL cursors are counted: where no index is known to serve the order, the count may read the whole table.
const (
	probeEvery     = time.Minute
	probeUnindexed = 10 * time.Minute
)

// probeTimeout bounds the count: it is a courtesy, and must not cost a page.
const probeTimeout = 5 * time.Second

// probe counts the rows that paging cannot show. Its failure is a warning: the page itself is good.
func (c *Cursor) probe(ctx context.Context, s *session, p *plan, page *poller.Page) error {
	cursors, keys := p.sel.nulls(true), p.sel.nulls(false)
	if (cursors.text == "" && keys.text == "") || !c.probeDue(p) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, c.cfg.Timeout))
	defer cancel()
	nulls, err := count(ctx, s, cursors)
	var nullKeys int64
	if err == nil {
		nullKeys, err = count(ctx, s, keys)
	}
	switch {
	case err != nil:
		page.Warnings = append(page.Warnings, "rows with a NULL cursor could not be counted: "+err.Error())
		return nil
	case nullKeys > 0:
		return fmt.Errorf("%w: %d row(s) with a NULL key: source__key must name columns that are never NULL", poller.ErrNormalize, nullKeys)
	case cursors.text == "":
		return nil
	}
	page.NullCursors = nulls
	if nulls == 0 {
		return nil
	}
	if c.cfg.NullCursor == "fail" {
		return fmt.Errorf("%w: %d row(s) with a NULL cursor cannot be delivered: give them one, or set source__null_cursor=report", poller.ErrNormalize, nulls)
	}
	page.Warnings = append(page.Warnings, fmt.Sprintf("%d row(s) with a NULL cursor are not delivered: "+
		"make the column NOT NULL with a default, or exclude them by source__where", nulls))
	return nil
}

func (c *Cursor) probeDue(p *plan) bool {
	every := probeEvery
	if p.indexName == "" {
		every = probeUnindexed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.probed.IsZero() && time.Since(c.probed) < every {
		return false
	}
	c.probed = time.Now()
	return true
}

func count(ctx context.Context, s *session, st statement) (n int64, err error) {
	if st.text == "" {
		return 0, nil
	}
	if err := s.conn.QueryRowContext(ctx, st.text).Scan(&n); err != nil {
		return 0, fmt.Errorf("count rows with NULL: %w", err)
	}
	return n, nil
}
