package source

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// windowPage reads a page of a source that reads by snapshots. Page.To is the position after it where the page ends a scan
// or a window; Page.More may then say that the next window holds rows already. There is no Page.Safe: what a snapshot does
// not see is not committed, and no committed row waits for another.
//
// A crash between two pages repeats the rest of the window: its snapshots are in the position, so that the same rows come
// with the same ids, but for those that were written again since; these come with a later window.
//
// A position must outlive a crash of the server, too. A transaction that was rolled back has an id that no disk knows for
// a moment (up to three times wal_writer_delay): after a crash another transaction gets it, and its rows would be behind a
// position that counts it. The id of a committed row is on disk, and so are all below it. So a window ends at the last
// row that was read of it, a scan's snapshot at the last row there is (present), and an idle position moves only to
// where the server was a minute ago (idling). This takes the server's word for commits: synchronous_commit=off, and a
// failover to a standby that is not synchronous, lose rows and give their ids again (docs/late-commits.md).
//
// A range with an end ends with the snapshot of that position (a window's own end, where one is open there): it may bring
// rows that are behind the position's row. From the beginning it is a scan of what that snapshot saw.
func (c *Cursor) windowPage(ctx context.Context, p *plan, r poller.Range, limit poller.Limit, also ...condition) (poller.Page, error) {
	w, end, err := p.decodeWindows(r)
	if err != nil {
		return poller.Page{}, err
	}
	if w, err = c.beginWindow(ctx, p, w, end); err != nil {
		return poller.Page{}, err
	}
	if end != "" && w.begun && !w.scanning && !w.open && w.seen.String() == end {
		return poller.Page{NullCursors: -1}, nil
	}
	page, after, err := c.snapshotPage(ctx, p, w, end, end == "", limit, also)
	if err != nil || page.More {
		return page, err
	}
	page.To = behind(after)
	switch whole := w.begun && !w.open && !w.scanning; { // a window whose end was taken now
	case !whole && len(page.Events) > 0:
		page.More = true
	case !whole:
		return c.nextWindow(ctx, p, poller.Range{After: page.To, UpTo: r.UpTo}, limit, also)
	case len(page.Events) == 0 && end != "":
		page.To = nil
	case len(page.Events) == 0:
		page.To = c.idling.due(r.After, w.seen, after)
	}
	if page.To == nil && w.ofRow {
		page.To = behind(w.seen) // what was open at this moment is news later, and must not be asked for again
	}
	return page, nil
}

// beginWindow completes a position that holds no snapshot: the beginning, of which a scan begins (of what the range's end
// saw, where it has one), and that of a row, of which the transactions below it are behind but for those that are open.
func (c *Cursor) beginWindow(ctx context.Context, p *plan, w window, end string) (window, error) {
	switch {
	case w.begun && !w.ofRow:
		return w, nil
	case !w.begun && end != "":
		w.scanning = true
		w.seen, _ = parseSnapshot(end) // it was read from a position
		return w, nil
	}
	var now, lasting snapshot
	err := c.run(ctx, func(ctx context.Context, s *session) (err error) {
		now, lasting, err = c.present(ctx, s, p)
		return err
	})
	switch {
	case err != nil:
		return w, err
	case !w.begun:
		w.begun, w.scanning, w.seen = true, true, lasting
	case w.seen.xmax <= now.xmax: // else it is a gap
		w.seen = now.below(w.seen.xmax).atMost(maxOpen)
	}
	return w, nil
}

// lasting is what of a window's end a crash of the server cannot take back: up to the transaction of the last row.
func (w *window) lasting(end snapshot, last *change.Event) (snapshot, error) {
	var s storedCursor
	if err := json.Unmarshal(last.Cursor, &s); err != nil {
		return end, fmt.Errorf("read a row's transaction: %w", err)
	}
	xid, err := transactionOf(s.Value)
	if err != nil {
		return end, fmt.Errorf("read a row's transaction: %w", err)
	}
	return end.below(max(w.seen.xmax, xid+1)), nil
}

// nextWindow reads on where a scan or a window turned out to have no more rows: only what the next one shows is news. Its
// begin is the position in any case, or the old one would be read to its end with every poll.
func (c *Cursor) nextWindow(ctx context.Context, p *plan, r poller.Range, limit poller.Limit, also []condition) (poller.Page, error) {
	page, err := c.windowPage(ctx, p, r, limit, also...)
	if err == nil && len(page.Events) == 0 && page.To == nil {
		page.To = r.After
	}
	return page, err
}

// decodeWindows reads a range's begin, and the snapshot that it ends with: "" where it has no end.
func (p *plan) decodeWindows(r poller.Range) (w window, end string, err error) {
	if w, err = p.decodeWindow(r.After); err != nil {
		return w, "", err
	}
	last, err := p.decodeWindow(r.UpTo)
	switch {
	case err != nil || !last.begun:
		return w, "", err
	case last.open:
		return w, last.upTo.String(), nil
	default:
		return w, last.seen.String(), nil
	}
}

// snapshotPage reads a page by one statement, and returns the snapshot behind the scan or window that it belongs to. end is
// the snapshot that a new window ends with; "" is the present. fresh says that it is the server's of this moment, and no
// position's, which lasts.
func (c *Cursor) snapshotPage(ctx context.Context, p *plan, w window, end string, fresh bool, limit poller.Limit, also []condition) (page poller.Page, after snapshot, err error) {
	if w.open {
		end = w.upTo.String()
	}
	ask := c.ask(limit.Rows)
	st, args, err := p.snapshotStatement(ask+1, w, end, also)
	if err != nil {
		return page, after, err
	}
	var col collector
	var heard [3]string        // s2, now, standby
	var verdict, foreign error // on the table, not on the connection
	err = c.run(ctx, func(ctx context.Context, s *session) error {
		col = collector{plan: p, cfg: &c.cfg, limit: poller.Limit{Rows: ask, Bytes: limit.Bytes}, fetched: time.Now()}
		if w.scanning {
			col.scan = &w
		}
		page = poller.Page{NullCursors: -1}
		if err := c.readSnapshot(ctx, s, st.text, args, &col, &heard); err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		if err := c.witness(ctx, s, p, &page, len(col.events) > 0); err != nil {
			return err
		}
		if col.tied != nil && !s.broken {
			if err := c.untie(ctx, s, &col); err != nil {
				return err
			}
		}
		verdict = c.probe(ctx, s, p, nil, &page)
		foreign = c.seek(ctx, s, p, &c.ahead, &page, func(ctx context.Context) (verdict, err error) { return c.findAhead(ctx, s, p) })
		return nil
	})
	if err != nil {
		return page, after, err
	}
	after, now, err := hold(heard)
	if err != nil {
		return page, after, fmt.Errorf("%s: %w", c.name(), err)
	}
	if err := c.gap(w, now); err != nil {
		return page, after, err
	}
	if small := after.atMost(maxOpen); end == "" && len(small.xip) < len(after.xip) {
		// More transactions are open than a position can name: once more, up to the first that it cannot.
		return c.snapshotPage(ctx, p, w, small.String(), fresh, limit, also)
	}
	if foreign != nil {
		return page, after, foreign
	}
	if verdict != nil {
		return page, after, fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), verdict)
	}
	c.learn(max(len(col.events), len(col.tied)), ask, limit.Rows, col.full)
	if col.tied != nil && !col.full && ask < limit.Rows {
		return c.snapshotPage(ctx, p, w, end, fresh, limit, also)
	}
	page.Events, page.More = col.events, col.more || col.bad != nil
	if col.bad != nil && len(col.events) == 0 {
		return poller.Page{}, after, fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), col.bad)
	}
	if n := len(page.Events); n > 0 && fresh && !w.scanning && !w.open {
		if after, err = w.lasting(after, &page.Events[n-1]); err != nil {
			return poller.Page{}, after, fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	at := w.with(after).places()
	for i := range page.Events {
		page.Events[i].At = at(&page.Events[i])
	}
	return page, after, nil
}

// with is the window as it is once its snapshot is taken.
func (w window) with(upTo snapshot) *window {
	if !w.scanning {
		w.open, w.upTo = true, upTo
	}
	return &w
}

// hold reads what the server said of its snapshots.
func hold(heard [3]string) (upTo, now snapshot, err error) {
	if heard[2] != "false" {
		return upTo, now, fmt.Errorf("%w: source__late_commits=exact: the server that answered is a standby, whose snapshots leave out open transactions, so that rows would be lost: "+
			"connect to the primary (target_session_attrs=read-write), or use overlap", poller.ErrConfig)
	}
	if upTo, err = parseSnapshot(heard[0]); err != nil {
		return upTo, now, fmt.Errorf("read the snapshot: %w", err)
	}
	if now, err = parseSnapshot(heard[1]); err != nil {
		return upTo, now, fmt.Errorf("read the present snapshot: %w", err)
	}
	return upTo, now, nil
}

// gap reports a window that is ahead of the server's own counter of transactions: it was taken from another server, or
// before a restore.
func (c *Cursor) gap(w window, now snapshot) error {
	ahead := w.seen.xmax
	if w.open {
		ahead = max(ahead, w.upTo.xmax)
	}
	if ahead <= now.xmax {
		return nil
	}
	return fmt.Errorf("%w: %s: the position is at transaction %d, and the server has come to %d only: it was restored, or is another server. "+
		"Deliver every row again: %s; or go on with what is committed from now on: rowrelay state accept-gap %s",
		poller.ErrGap, c.name(), ahead, now.xmax, startAgain, poller.AnyDocument)
}

// windowArgs are the driver's arguments of a position's place; nil for none.
func (p *plan) windowArgs(w *window) (place []any, err error) {
	columns := p.sel.order
	if w.scanning {
		columns = pick(p.sel.columns, p.key)
	}
	for i, scalar := range w.after {
		v, err := p.dialect.Arg(&columns[i], scalar)
		if err != nil {
			return nil, fmt.Errorf("%w: the stored cursor has %s for %q of type %s: %w; start again with: %s",
				poller.ErrConfig, scalar, columns[i].Name, columns[i].Type, err, startAgain)
		}
		place = append(place, v)
	}
	return place, nil
}

// snapshotStatement is the statement of a page with its arguments.
func (p *plan) snapshotStatement(limit int, w window, end string, also []condition) (st statement, args []any, err error) {
	columns := pick(p.sel.columns, p.key)
	place, err := p.windowArgs(&w)
	if err != nil {
		return st, nil, err
	}
	switch {
	case !w.begun:
		st = p.sel.scanPage(limit, columns, end, nil, also)
	case w.scanning:
		st = p.sel.scanPage(limit, columns, w.seen.String(), place, also)
	default:
		st = p.sel.windowPage(limit, w.seen.String(), end, place, also)
	}
	args, err = p.args(st, nil, nil)
	return st, args, err
}

// readSnapshot runs a page's statement as read does, and takes what stands behind the row's columns.
func (c *Cursor) readSnapshot(ctx context.Context, s *session, text string, args []any, col *collector, heard *[3]string) error {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	n := len(col.plan.sel.columns)
	columns := append(col.plan.sel.columns[:n:n], col.plan.snapshotColumns()...)
	err := c.dialect.Read(ctx, s.conn, text, args, columns, func(r engine.Row) (bool, error) {
		for i := range heard {
			v, err := r.AppendJSON(nil, n+i)
			if err != nil {
				return false, err
			}
			heard[i] = string(v[1 : len(v)-1])
		}
		none, err := r.AppendJSON(nil, n+len(heard))
		if err != nil || string(none) == `"true"` {
			return false, err
		}
		more := col.add(r)
		if !more && col.unread() > 4*col.limit.Bytes {
			s.broken = true
			abandon()
		}
		return more, nil
	})
	if s.broken {
		return nil
	}
	return err
}
