package source

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"strconv"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// now reads the present snapshot of a primary.
func (c *Cursor) now(ctx context.Context, s *session) (snapshot, error) {
	var heard [3]string
	if err := s.conn.QueryRowContext(ctx, "SELECT pg_current_snapshot()::text, pg_is_in_recovery()::text").Scan(&heard[0], &heard[2]); err != nil {
		return snapshot{}, fmt.Errorf("read the present snapshot: %w", err)
	}
	heard[1] = heard[0]
	now, _, err := hold(heard)
	return now, err
}

// present is now, and what of it lasts, whatever happens to the server: up to the last transaction that has a row in the
// table, whose id is on disk. In an empty table nothing is behind: every row is still to come.
func (c *Cursor) present(ctx context.Context, s *session, p *plan) (now, lasting snapshot, err error) {
	var heard [3]string
	var last sql.NullString
	if err := s.conn.QueryRowContext(ctx, present(&p.sel).text).Scan(&heard[0], &heard[2], &last); err != nil {
		return now, lasting, fmt.Errorf("read the present snapshot: %w", err)
	}
	heard[1] = heard[0]
	if now, _, err = hold(heard); err != nil {
		return now, lasting, err
	}
	xid := uint64(firstTransaction)
	if last.Valid {
		if xid, err = strconv.ParseUint(last.String, 10, 64); err != nil {
			return now, lasting, fmt.Errorf("read the last row's transaction: %w", err)
		}
		xid++
	}
	return now, now.below(xid).atMost(maxOpen), nil
}

// firstTransaction is the first id that a transaction of a user may have (FirstNormalTransactionId).
const firstTransaction = 3

// gap holds a position against the server's own counter of transactions.
func (ws windows) gap(ctx context.Context, at change.Cursor) (gap, err error) {
	c := ws.c
	w, err := ws.p.snapshots().decodeWindow(at)
	if err != nil {
		return nil, err
	}
	var now snapshot
	err = c.run(ctx, func(ctx context.Context, s *session) (err error) {
		now, err = c.now(ctx, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.windowGap(w, now), nil
}

// latest is the position after everything that is committed now.
func (ws windows) latest(ctx context.Context, s *session) (change.Cursor, error) {
	_, lasting, err := ws.c.present(ctx, s, ws.p)
	if err != nil {
		return nil, err
	}
	return behind(lasting), nil
}

// start: earliest is a scan of what is there now, latest everything
// from now on, and a value the transactions above it, with those that are open now.
func (ws windows) start(ctx context.Context, s *session) (change.Cursor, error) {
	c, p := ws.c, ws.p
	now, lasting, err := c.present(ctx, s, p)
	if err != nil {
		return nil, err
	}
	switch c.cfg.Start {
	case "", "earliest":
		return scanFrom(lasting), nil
	case "latest":
		return behind(lasting), nil
	}
	at, err := p.startAt(&c.cfg)
	if err != nil {
		return nil, err
	}
	wanted, err := p.snapshots().snapshotOfRow(at)
	if err != nil {
		return nil, fmt.Errorf("%w: source__start %q: %w", poller.ErrConfig, c.cfg.Start, err)
	}
	if wanted.xmax > now.xmax {
		return nil, fmt.Errorf("%w: source__start %q: the server has come to transaction %d only", poller.ErrConfig, c.cfg.Start, now.xmax)
	}
	return behind(lasting.below(wanted.xmax)), nil
}

func (ws windows) prove(ctx context.Context, s *session, after change.Cursor) error {
	p := ws.p
	w, err := p.snapshots().decodeWindow(after)
	if err != nil {
		return err
	}
	st, args, err := p.snapshots().snapshotStatement(1, w, "", nil)
	if err != nil {
		return err
	}
	n := len(p.sel.columns)
	return firstRow(ctx, s, p, st, args, append(p.sel.columns[:n:n], p.snapshots().snapshotColumns()...))
}

// count counts those that are behind the range's end, and not behind its begin. A
// row that was written again since then is where its new transaction is.
func (ws windows) count(ctx context.Context, r poller.Range) (n int64, err error) {
	c, p := ws.c, ws.p
	var ends [2]window
	var places [2][]any
	for i, at := range []change.Cursor{r.After, r.UpTo} {
		if ends[i], err = p.snapshots().decodeWindow(at); err != nil {
			return 0, err
		}
		if places[i], err = p.snapshots().windowArgs(&ends[i]); err != nil {
			return 0, err
		}
	}
	st := windowCount(&p.sel, ends[0], ends[1], places[0], places[1], pick(p.sel.columns, p.key))
	args, err := p.args(st, nil, nil)
	if err != nil {
		return 0, err
	}
	err = c.patiently(ctx, func(ctx context.Context, s *session) error {
		return s.conn.QueryRowContext(ctx, st.text, args...).Scan(&n)
	})
	return n, err
}

// explain is for the statement that runs most: a window that was opened just now.
func (ws windows) explain(ctx context.Context, s *session, batch int) (string, error) {
	c, p := ws.c, ws.p
	now, err := c.now(ctx, s)
	if err != nil {
		return "", err
	}
	st, args, err := p.snapshots().snapshotStatement(batch+1, window{begun: true, seen: now}, "", nil)
	if err != nil {
		return "", err
	}
	return c.dialect.Explain(ctx, s.conn, st.text, args)
}

func (ws windows) statements(limit int) (first, next statement) {
	p := ws.p
	key := pick(p.sel.columns, p.key)
	return scanPage(&p.sel, limit, key, "", nil, nil), windowPage(&p.sel, limit, "1:1:", "", nil, nil)
}

// position is before or after everything of a transaction: a row has no position of its own among the rows of snapshots.
func (ws windows) position(ctx context.Context, cursor string, key map[string]string, ties string) (change.Cursor, error) {
	c, p := ws.c, ws.p
	values, err := p.cursorValues("the cursor", cursor, &c.cfg)
	if err != nil {
		return nil, err
	}
	xid, err := cursorNumber(values[0])
	if err != nil || len(key) > 0 || ties != TiesBefore && ties != TiesAfter {
		return nil, fmt.Errorf("%w: source__late_commits=exact reads %q by snapshots, where a position is %s or %s all of a transaction: name one of them, and no key",
			poller.ErrConfig, p.sel.order[0].Name, TiesBefore, TiesAfter)
	}
	if ties == TiesBefore {
		xid.Sub(xid, big.NewInt(1))
	}
	wanted, err := p.snapshots().snapshotOfRow(p.appendCursor(nil, [][]byte{change.AppendIntegerText(nil, xid.String())}, nil))
	if err != nil {
		return nil, fmt.Errorf("%w: the cursor: %w", poller.ErrConfig, err)
	}
	var now, lasting snapshot
	err = c.run(ctx, func(ctx context.Context, s *session) (err error) {
		now, lasting, err = c.present(ctx, s, p)
		return err
	})
	if err == nil && wanted.xmax > now.xmax {
		err = fmt.Errorf("%w: the server has come to transaction %d only", poller.ErrConfig, now.xmax)
	}
	if err != nil {
		return nil, err
	}
	return behind(lasting.below(wanted.xmax)), nil
}
