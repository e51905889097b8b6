package source

import (
	"context"
	"database/sql"
	"fmt"
	"math/big"
	"strconv"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/counter"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/snapshot"
)

// now reads what a primary says of its present snapshot.
func (c *Cursor) now(ctx context.Context, s *pool.Session, p *plan.Plan) (snapshot.Heard, error) {
	var said string
	if err := s.Conn.QueryRowContext(ctx, "SELECT "+p.Snapshots().Heard()).Scan(&said); err != nil {
		return snapshot.Heard{}, fmt.Errorf("read the present snapshot: %w", err)
	}
	return snapshot.ParseHeard(said)
}

// present is now, and what of it lasts, whatever happens to the server: up to the last transaction that has a row in
// the table, whose id is on disk. In an empty table nothing is covered: every row is still to come.
func (c *Cursor) present(ctx context.Context, s *pool.Session, p *plan.Plan) (now, lasting snapshot.Snapshot,
	err error) {
	var said string
	var last sql.NullString
	if err := s.Conn.QueryRowContext(ctx, p.Snapshots().Present().Text).Scan(&said, &last); err != nil {
		return now, lasting, fmt.Errorf("read the present snapshot: %w", err)
	}
	heard, err := snapshot.ParseHeard(said)
	if err != nil {
		return now, lasting, err
	}
	xid := uint64(firstTransaction)
	if last.Valid {
		if xid, err = strconv.ParseUint(last.String, 10, 64); err != nil {
			return now, lasting, fmt.Errorf("read the last row's transaction: %w", err)
		}
		xid = snapshot.Following(xid)
	}
	if p.Tracked != nil { // it is on disk, too
		least, purged, err := c.tracked(p).FloorOf(heard.Floor)
		if err != nil {
			return now, lasting, err
		}
		xid = max(xid, least+1, purged+1)
	}
	return heard.Now, heard.Now.Below(xid).AtMost(snapshot.MaxOpen), nil
}

// firstTransaction is the first id that a transaction of a user may have (FirstNormalTransactionId).
const firstTransaction = 3

// gap holds a position against the server's own counter of transactions.
func (ws windows) gap(ctx context.Context, at change.Cursor) (gap, err error) {
	c := ws.c
	w, err := ws.p.Snapshots().Decode(at)
	if err != nil {
		return nil, err
	}
	var heard snapshot.Heard
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) (err error) {
		heard, err = c.now(ctx, s, ws.p)
		return err
	})
	if err == nil && ws.p.Tracked != nil {
		gap, err = c.tracked(ws.p).BetweenSnapshots(&w, heard.Floor)
	}
	if err != nil || gap != nil {
		return gap, err
	}
	return c.windowGap(ws.p, w, heard.Now), nil
}

// latest is the position after everything that is committed now.
func (ws windows) latest(ctx context.Context, s *pool.Session) (change.Cursor, error) {
	_, lasting, err := ws.c.present(ctx, s, ws.p)
	if err != nil {
		return nil, err
	}
	return snapshot.After(lasting), nil
}

// start: earliest is a scan of what is there now, and a value the transactions above it, with those that are open now.
func (ws windows) start(ctx context.Context, s *pool.Session) (change.Cursor, error) {
	c, p := ws.c, ws.p
	now, lasting, err := c.present(ctx, s, p)
	if err != nil {
		return nil, err
	}
	if c.cfg.Start == "" || c.cfg.Start == "earliest" {
		return snapshot.ScanFrom(lasting), nil
	}
	at, err := p.StartAt(&c.cfg)
	if err != nil {
		return nil, err
	}
	wanted, err := p.Snapshots().OfRow(at)
	if err != nil {
		return nil, fmt.Errorf("%w: source__start %q: %w", poller.ErrConfig, c.cfg.Start, err)
	}
	if wanted.XMax > now.XMax {
		return nil, fmt.Errorf("%w: source__start %q: the server has come to transaction %d only", poller.ErrConfig,
			c.cfg.Start, now.XMax)
	}
	return snapshot.After(lasting.Below(wanted.XMax)), nil
}

func (ws windows) prove(ctx context.Context, s *pool.Session, after change.Cursor) error {
	p := ws.p
	w, err := p.Snapshots().Decode(after)
	if err != nil {
		return err
	}
	st, args, err := p.Snapshots().Statement(1, w, "", nil)
	if err != nil {
		return err
	}
	n := len(p.Sel.Columns)
	return firstRow(ctx, s, p, st, args, append(p.Sel.Columns[:n:n], p.Snapshots().Columns()...))
}

// count counts those that the range's end covers, and its begin does not. A
// row that was written again since then is where its new transaction is.
func (ws windows) count(r change.Range, most int) (st keyset.Statement, args []any, err error) {
	p := ws.p
	var ends [2]snapshot.Window
	var places [2][]any
	for i, at := range []change.Cursor{r.After, r.UpTo} {
		if ends[i], err = p.Snapshots().Decode(at); err != nil {
			return st, nil, err
		}
		if places[i], err = p.Snapshots().Args(&ends[i]); err != nil {
			return st, nil, err
		}
	}
	st = snapshot.Count(&p.Sel, ends[0], ends[1], places[0], places[1], keyset.Pick(p.Sel.Columns, p.Key), most)
	args, err = p.Args(st, nil, nil)
	return st, args, err
}

// explain is for the statement that runs most: a window that was opened just now.
func (ws windows) explain(ctx context.Context, s *pool.Session, batch int) (string, error) {
	c, p := ws.c, ws.p
	heard, err := c.now(ctx, s, p)
	if err != nil {
		return "", err
	}
	st, args, err := p.Snapshots().Statement(batch+1, snapshot.Window{Begun: true, Seen: heard.Now}, "", nil)
	if err != nil {
		return "", err
	}
	return c.dialect.Explain(ctx, s.Conn, st.Text, args)
}

func (ws windows) statements(limit int) (first, next keyset.Statement) {
	r := ws.p.Snapshots()
	begin := snapshot.Window{Begun: true, Seen: snapshot.Snapshot{XMin: 1, XMax: 1}}
	return r.ScanPage(limit, "", nil, nil), r.WindowPage(limit, &begin, "", nil, nil)
}

// position is before or after everything of a transaction: a row has no position of its own among the rows of
// snapshots.
func (ws windows) position(ctx context.Context, cursor string, key map[string]string, ties string) (change.Cursor,
	error) {
	c, p := ws.c, ws.p
	values, err := p.CursorValues("the cursor", cursor, &c.cfg)
	if err != nil {
		return nil, err
	}
	xid, err := counter.Number(values[0])
	if err != nil || len(key) > 0 || ties != TiesBefore && ties != TiesAfter {
		return nil, fmt.Errorf("%w: source__late_commits=exact reads %q by snapshots, where a position is %s or %s all of a transaction: name one of them, and no key",
			poller.ErrConfig, p.Sel.Order[0].Name, TiesBefore, TiesAfter)
	}
	if ties == TiesBefore {
		xid.Sub(xid, big.NewInt(1))
	}
	wanted, err := p.Snapshots().OfRow(p.AppendCursor(nil, [][]byte{change.AppendIntegerText(nil, xid.String())}, nil))
	if err != nil {
		return nil, fmt.Errorf("%w: the cursor: %w", poller.ErrConfig, err)
	}
	return ws.after(ctx, wanted)
}

// before is before everything of the transaction that wrote the row.
func (ws windows) before(ctx context.Context, row change.Cursor) (change.Cursor, error) {
	wanted, err := ws.p.Snapshots().OfRow(row)
	if err != nil {
		return nil, fmt.Errorf("%w: the stored cursor %s: %w", poller.ErrConfig, row, err)
	}
	return ws.after(ctx, wanted)
}

// after is after everything below a snapshot's end that is committed now.
func (ws windows) after(ctx context.Context, wanted snapshot.Snapshot) (change.Cursor, error) {
	var now, lasting snapshot.Snapshot
	err := ws.c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) (err error) {
		now, lasting, err = ws.c.present(ctx, s, ws.p)
		return err
	})
	if err == nil && wanted.XMax > now.XMax {
		err = fmt.Errorf("%w: the server has come to transaction %d only", poller.ErrConfig, now.XMax)
	}
	if err != nil {
		return nil, err
	}
	return snapshot.After(lasting.Below(wanted.XMax)), nil
}
