package source

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/snapshot"
	"github.com/rowrelay/rowrelay/source/tracked"
)

// windows reads a table of PostgreSQL by the snapshots that transactions have of it. It implements strategy.
type windows struct {
	c *Cursor
	p *plan.Plan
}

// page reads a page of a source that reads by snapshots. Page.To is the position after it where the page ends a scan
// or a window; Page.More may then say that the next window holds rows already. There is no Page.Safe: what a snapshot
// does not see is not committed, and no committed row waits for another.
//
// A crash between two pages repeats the rest of the window: its snapshots are in the position, so that the same rows
// come with the same ids, but for those that were written again since; these come with a later window.
//
// A position must outlive a crash of the server, too. A transaction that was rolled back has an id that no disk knows
// for a moment (up to three times wal_writer_delay): after a crash another transaction gets it, and its rows would
// stand before a position that counts it. The id of a committed row is on disk, and so are all below it. So a window
// ends at the last row that was read of it, a scan's snapshot at the last row there is (present), and an idle position
// moves only to where the server was a minute ago (idling). This takes the server's word for commits:
// synchronous_commit=off, and a failover to a standby that is not synchronous, lose rows and give their ids again
// (docs/late-commits.md).
//
// A range with an end ends with the snapshot of that position (a window's own end, where one is open there), and holds
// no row that comes after the position's. From the beginning it is a scan of what that snapshot saw.
func (ws windows) page(ctx context.Context, r change.Range, limit poller.Limit, also ...keyset.Condition) (change.Page,
	error) {
	c, p := ws.c, ws.p
	w, end, err := p.Snapshots().DecodeRange(r)
	if err != nil {
		return change.Page{}, err
	}
	if w, err = c.beginWindow(ctx, p, w, end); err != nil {
		return change.Page{}, err
	}
	if end != "" && w.Begun && !w.Scanning && !w.Open && w.Seen.String() == end {
		return change.Page{NullCursors: -1}, nil
	}
	within := also
	if until, err := p.Snapshots().Until(r.UpTo); err != nil {
		return change.Page{}, err
	} else if until != nil {
		within = append(also[:len(also):len(also)], until)
	}
	page, after, err := c.snapshotPage(ctx, p, w, end, end == "", limit, within)
	if err != nil || page.More {
		return page, err
	}
	page.To = snapshot.After(after)
	whole := w.Begun && !w.Open && !w.Scanning // a window whose end was taken now
	if p.Tracked != nil && !whole {
		page.To = w.Continued(after)
	}
	switch {
	case !whole && len(page.Events) > 0:
		page.More = true
	case !whole:
		return ws.next(ctx, change.Range{After: page.To, UpTo: r.UpTo}, limit, also)
	case len(page.Events) == 0 && end != "":
		page.To = nil
	case len(page.Events) == 0:
		page.To = c.idling.Due(r.After, w.Seen, after)
	}
	if page.To == nil && (w.OfRow || w.Told > 0) {
		page.To = snapshot.After(w.Seen) // what was open at this moment is news later, and must not be asked for again
	}
	return page, nil
}

// beginWindow completes a position that holds no snapshot: the beginning, of which a scan begins (of what the range's
// end saw, where it has one), and that of a row, of which the transactions below it are covered, but for those that are
// open.
func (c *Cursor) beginWindow(ctx context.Context, p *plan.Plan, w snapshot.Window, end string) (snapshot.Window,
	error) {
	switch {
	case w.Begun && !w.OfRow:
		return w, nil
	case !w.Begun && end != "":
		w.Scanning = true
		w.Seen, _ = snapshot.Parse(end) // it was read from a position
		return w, nil
	}
	var now, lasting snapshot.Snapshot
	err := c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) (err error) {
		now, lasting, err = c.present(ctx, s, p)
		return err
	})
	switch {
	case err != nil:
		return w, err
	case !w.Begun:
		w.Begun, w.Scanning, w.Seen = true, true, lasting
	case w.Seen.XMax <= now.XMax: // else it is a gap
		w.Seen = now.Below(w.Seen.XMax).AtMost(snapshot.MaxOpen)
	}
	return w, nil
}

// next reads on where a scan or a window turned out to have no more rows: only what the next one shows is news. Its
// begin is the position in any case, or the old one would be read to its end with every poll.
func (ws windows) next(ctx context.Context, r change.Range, limit poller.Limit, also []keyset.Condition) (change.Page,
	error) {
	page, err := ws.page(ctx, r, limit, also...)
	if err == nil && len(page.Events) == 0 && page.To == nil {
		page.To = r.After
	}
	return page, err
}

// snapshotPage reads a page by one statement, and returns the snapshot after the scan or window that it belongs to. end
// is the snapshot that a new window ends with; "" is the present. fresh says that it is the server's of this moment,
// and no position's, which lasts.
func (c *Cursor) snapshotPage(ctx context.Context, p *plan.Plan, w snapshot.Window, end string, fresh bool,
	limit poller.Limit, also []keyset.Condition) (page change.Page, after snapshot.Snapshot, err error) {
	if w.Open {
		end = w.UpTo.String()
	}
	ask := c.ask(limit.Rows)
	st, args, err := p.Snapshots().Statement(ask+1, w, end, also)
	if err != nil {
		return page, after, err
	}
	var col collect.Collector
	var said string
	var verdict, foreign error // on the table, not on the connection
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		col = collect.Collector{Plan: p, Cfg: &c.cfg, Limit: poller.Limit{Rows: ask, Bytes: limit.Bytes}, Fetched: time.Now()}
		if w.Scanning {
			col.Scan = &w
		}
		if p.Tracked != nil && fresh {
			col.Since = tracked.InsertedIn(&w)
		}
		if p.Tracked != nil {
			col.Untold, col.Touched = c.tracked(p).UntoldBetween(&w, fresh), c.tracked(p).TouchedBetween(&w, fresh)
		}
		page = change.Page{NullCursors: -1}
		if said, err = c.readSnapshot(ctx, s, st.Text, args, &col); err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		if err := c.witness(ctx, s, p, &page, len(col.Events) > 0); err != nil {
			return err
		}
		if col.Tied != nil && !s.Broken {
			if err := c.untie(ctx, s, &col); err != nil {
				return err
			}
		}
		verdict = c.probe(ctx, s, p, nil, &page)
		foreign = c.seek(ctx, s, p, &c.ahead, &page,
			func(ctx context.Context) (verdict, err error) { return c.findAhead(ctx, s, p) })
		return nil
	})
	if err != nil {
		return page, after, err
	}
	heard, err := snapshot.ParseHeard(said)
	if err != nil {
		return page, after, fmt.Errorf("%s: %w", c.name(), err)
	}
	page.Table = heard.Table
	if err := c.same(p, heard.Table); err != nil {
		return page, after, err
	}
	switch {
	case w.Scanning:
		after = w.Seen
	case end != "":
		after, _ = snapshot.Parse(end) // it was read from a position
	default:
		after = heard.Now
	}
	if err := c.windowGap(p, w, heard.Now); err != nil {
		return page, after, err
	}
	if p.Tracked != nil && fresh {
		if gap, err := c.tracked(p).BetweenSnapshots(&w, heard.Floor); gap != nil || err != nil {
			return page, after, errors.Join(gap, err)
		}
	}
	if small := after.AtMost(snapshot.MaxOpen); end == "" && len(small.XIP) < len(after.XIP) {
		// More transactions are open than a position can name: once more, up to the first that it cannot.
		return c.snapshotPage(ctx, p, w, small.String(), fresh, limit, also)
	}
	if foreign != nil {
		return page, after, foreign
	}
	if verdict != nil {
		return page, after, fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), verdict)
	}
	c.learn(max(len(col.Events), len(col.Tied)), ask, limit.Rows, col.Full)
	if col.Tied != nil && !col.Full && ask < limit.Rows {
		return c.snapshotPage(ctx, p, w, end, fresh, limit, also)
	}
	page.Events, page.More = col.Events, col.More || col.Bad != nil
	if col.Bad != nil && len(col.Events) == 0 {
		return change.Page{}, after, fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), col.Bad)
	}
	if n := len(page.Events); n > 0 && fresh && !w.Scanning && !w.Open {
		if after, err = w.Lasting(after, &page.Events[n-1], heard.Head); err != nil {
			return change.Page{}, after, fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	w.With(after).Place(page.Events)
	return page, after, nil
}

// windowGap reports a window that is ahead of the server's own counter of transactions: it was taken from another
// server, or before a restore. What of the changes is retained is not every row.
func (c *Cursor) windowGap(p *plan.Plan, w snapshot.Window, now snapshot.Snapshot) error {
	ahead := w.Seen.XMax
	if w.Open {
		ahead = max(ahead, w.UpTo.XMax)
	}
	if ahead <= now.XMax {
		return nil
	}
	remedy := tracked.Remedy
	if p.Tracked == nil {
		remedy = "Deliver every row again: " + keyset.StartAgain + "; or go on with what is committed from now on: rowrelay state " +
			"accept-gap " + poller.AnyDocument
	}
	return fmt.Errorf("%w: %s: the position is at transaction %d, and the server has come to %d only: it was restored, or is another server. %s",
		poller.ErrAhead, c.name(), ahead, now.XMax, remedy)
}

// readSnapshot runs a page's statement as read does, and returns what is heard beside the rows: each says the same.
func (c *Cursor) readSnapshot(ctx context.Context, s *pool.Session, text string, args []any, col *collect.Collector) (
	heard string, err error) {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	n := len(col.Plan.Sel.Columns)
	columns := append(col.Plan.Sel.Columns[:n:n], col.Plan.Snapshots().Columns()...)
	read := c.dialect.Read
	if ordered, is := c.dialect.(engine.OrderedReader); is {
		read = ordered.ReadInOrder
	}
	var cell []byte
	err = read(ctx, s.Conn, text, args, columns, func(r engine.Row) (bool, error) {
		var err error
		if heard == "" {
			if cell, err = r.AppendJSON(nil, n); err != nil {
				return false, err
			}
			heard = string(cell[1 : len(cell)-1])
		}
		if cell, err = r.AppendJSON(cell[:0], n+1); err != nil || !bytes.Equal(cell, keyset.Null) {
			return true, err
		}
		more := col.Add(r)
		if !more && col.Unread() > 4*col.Limit.Bytes {
			s.Broken = true
			abandon()
		}
		return more, nil
	})
	if s.Broken {
		return heard, nil
	}
	return heard, err
}

// findAhead finds rows that no window would hold before the server has come to their numbers, which may take years:
// after a dump and restore into a younger cluster. The range is the index's end.
func (c *Cursor) findAhead(ctx context.Context, s *pool.Session, p *plan.Plan) (verdict, err error) {
	var xid, now string
	switch err := s.Conn.QueryRowContext(ctx, snapshot.Ahead(&p.Sel).Text).Scan(&xid, &now); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for rows that are ahead of the server: %w", err)
	}
	remedy := "where the rows come from, write them again"
	if p.Tracked != nil {
		remedy = "rowrelay track uninstall " + poller.AnyDocument + ", then rowrelay track install " + poller.AnyDocument
	} else if from := p.Table.From; from != "" {
		column := p.Syntax.Quote(p.Sel.Order[0].Name)
		key := p.Syntax.Quote(p.Sel.Columns[p.Key[0]].Name)
		remedy = fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s >= pg_snapshot_xmax(pg_current_snapshot())", from, key, key,
			column)
	}
	return fmt.Errorf("%w: %s: a row carries transaction %s, and the server has come to %s only: it was restored from another server's dump, "+
		"and would not be delivered before the server has come that far. Give these rows numbers of this server (with the trigger that sets them): %s",
		poller.ErrGap, c.name(), xid, now, remedy), nil
}
