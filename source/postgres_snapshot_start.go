package source

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
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
	if err := s.conn.QueryRowContext(ctx, p.sel.present().text).Scan(&heard[0], &heard[2], &last); err != nil {
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

// windowGap is Gap for a source that reads by snapshots.
func (c *Cursor) windowGap(ctx context.Context, p *plan, at change.Cursor) error {
	w, err := p.decodeWindow(at)
	if err != nil {
		return err
	}
	var now snapshot
	err = c.run(ctx, func(ctx context.Context, s *session) (err error) {
		now, err = c.now(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	return c.gap(w, now)
}

// presentWindow is the position behind everything that is committed now.
func (c *Cursor) presentWindow(ctx context.Context, s *session, p *plan) (change.Cursor, error) {
	_, lasting, err := c.present(ctx, s, p)
	if err != nil {
		return nil, err
	}
	return behind(lasting), nil
}

// startWindow is Start for a source that reads by snapshots: earliest is a scan of what is there now, latest everything
// from now on, and a value the transactions above it, with those that are open now.
func (c *Cursor) startWindow(ctx context.Context, s *session, p *plan) (change.Cursor, error) {
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
	wanted, err := p.snapshotOfRow(at)
	if err != nil {
		return nil, fmt.Errorf("%w: source__start %q: %w", poller.ErrConfig, c.cfg.Start, err)
	}
	if wanted.xmax > now.xmax {
		return nil, fmt.Errorf("%w: source__start %q: the server has come to transaction %d only", poller.ErrConfig, c.cfg.Start, now.xmax)
	}
	return behind(lasting.below(wanted.xmax)), nil
}

// proveWindow reads one row of a window by the poller's own statement, and throws it away.
func (c *Cursor) proveWindow(ctx context.Context, s *session, p *plan, start change.Cursor) error {
	w, err := p.decodeWindow(start)
	if err != nil {
		return err
	}
	st, args, err := p.snapshotStatement(1, w, "", nil)
	if err != nil {
		return err
	}
	n := len(p.sel.columns)
	err = c.dialect.Read(ctx, s.conn, st.text, args, append(p.sel.columns[:n:n], p.snapshotColumns()...), func(engine.Row) (bool, error) { return false, nil })
	if err != nil {
		return fmt.Errorf("read the first row: %w", err)
	}
	return nil
}

// windowCount counts the rows of a range for operators: those that are behind the range's end, and not behind its begin. A
// row that was written again since then is where its new transaction is.
func (c *Cursor) windowCount(ctx context.Context, p *plan, r poller.Range) (n int64, err error) {
	var ends [2]window
	var places [2][]any
	for i, at := range []change.Cursor{r.After, r.UpTo} {
		if ends[i], err = p.decodeWindow(at); err != nil {
			return 0, err
		}
		if places[i], err = p.windowArgs(&ends[i]); err != nil {
			return 0, err
		}
	}
	st := p.sel.windowCount(ends[0], ends[1], places[0], places[1], pick(p.sel.columns, p.key))
	args, err := p.args(st, nil, nil)
	if err != nil {
		return 0, err
	}
	err = c.patiently(ctx, func(ctx context.Context, s *session) error {
		return s.conn.QueryRowContext(ctx, st.text, args...).Scan(&n)
	})
	return n, err
}

// explainWindow is the plan of the statement that runs most: a window that was opened just now.
func (c *Cursor) explainWindow(ctx context.Context, s *session, p *plan, batch int) (string, error) {
	now, err := c.now(ctx, s)
	if err != nil {
		return "", err
	}
	st, args, err := p.snapshotStatement(batch+1, window{begun: true, seen: now}, "", nil)
	if err != nil {
		return "", err
	}
	return c.dialect.Explain(ctx, s.conn, st.text, args)
}
