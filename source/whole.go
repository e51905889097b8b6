package source

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/collect"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/source/tracked"
)

// This file reads the whole of a tracked table, for source__start=snapshot and source__on_gap=resync.
//
// It is a backfill (checkpointed/backfill.go) whose range lies in the table itself: chunks in the order of the primary
// key, between the pages of live changes. First the position among the changes is noted (Snapshot), then the first
// chunk is read. So a row that is written after its chunk comes again as a change, and one that is written before it is
// in the chunk. Each event carries its row as it is when it is read, chunk or change, and a tick delivers the events of
// a key in the order in which they were read: no key ends on an older state, and no watermark has to tell which came
// first. A change of a history carries its row as it was written, which may be older than the row's chunk: all that
// follow come after it, up to the last.
//
// The live position moves meanwhile, so that a purge, or the engine's own retention, waits for no chunk. The range ends
// with the highest key that there was at the begin: rows with higher keys are changes. A row that is deleted before its
// chunk comes as a delete of a key that was never told of; that is harmless, and nobody can tell it from any other.
//
// A chunk says of each row that it was inserted. Its id is that of the row's last change, where that is known, so that
// both are one event; else it is made of the row's content (collect).

// Snapshot returns where changes are read from beside the rows that the table has now, and the range of these rows,
// which Fetch reads. Changes that are committed from now on come after the position, those that commit late included.
func (c *Cursor) Snapshot(ctx context.Context) (snapshot checkpointed.Snapshot, err error) {
	err = c.byPlan(ctx, func(p *plan.Plan) error {
		if p.Whole == nil {
			return fmt.Errorf("%w: a snapshot of the table goes with source__mode=changetracking", poller.ErrConfig)
		}
		snapshot, err = c.snapshot(ctx, p)
		return err
	})
	if err != nil {
		return snapshot, fmt.Errorf("begin a snapshot of the table: %w", err)
	}
	return snapshot, nil
}

func (c *Cursor) snapshot(ctx context.Context, p *plan.Plan) (snapshot checkpointed.Snapshot, err error) {
	how := c.strategy(p)
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		if snapshot.After, err = how.latest(ctx, s); err != nil {
			return err
		}
		if err = c.prove(ctx, s, p, snapshot.After); err != nil { // before a document holds the fingerprint
			return err
		}
		err = c.dialect.Refresh(ctx, s.Conn, &s.Server)
		snapshot.Incarnation = s.Server.Incarnation
		return err
	})
	if err == nil && p.Late.Mode == late.Overlap {
		snapshot.After, err = c.beforeOpen(ctx, p, how)
	}
	if err != nil {
		return snapshot, err
	}
	var read []byte
	if p.History != nil {
		pos, err := p.Decode(snapshot.After)
		if err != nil {
			return snapshot, err
		}
		read = pos[0]
	}
	snapshot.Rows.After = plan.AfterRow(nil, read)
	last, err := c.lastRow(ctx, p)
	if err != nil || last == nil {
		return snapshot, err
	}
	snapshot.Rows.UpTo = plan.AfterRow(last, read)
	snapshot.Count = c.countRows(ctx, p)
	return snapshot, nil
}

// beforeOpen is the position before all that transactions which are open now may have written, of versions that are
// times, and of numbers whose times are known: as long ago as source__late_window, or as the oldest transaction that is
// shown.
func (c *Cursor) beforeOpen(ctx context.Context, p *plan.Plan, how strategy) (at change.Cursor, err error) {
	asked := time.Now()
	h, err := c.Horizon(ctx)
	if err != nil {
		return nil, err
	}
	since := h.Now
	if !h.Replayed.IsZero() && h.Replayed.Before(since) {
		since = h.Replayed
	}
	since = since.Add(-c.cfg.LateWindow)
	old := h.Shown && !h.Oldest.IsZero() && h.Oldest.Before(since)
	if old {
		since = h.Oldest
	}
	since = since.Add(-time.Second) // as late commits are looked for
	if w, is := how.(historyPages); is {
		return w.beforeOpen(ctx, &h, since, asked)
	}
	if at, err = how.position(ctx, since.UTC().Format(time.DateTime), nil, TiesAfter); err != nil {
		return nil, err
	}
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		_, floor, err := c.tracked(p).Floor(ctx, s.Conn)
		if err != nil {
			return err
		}
		w, err := p.Within(at)
		switch {
		case err != nil || !plan.Later(floor, w.At):
			return err
		case old:
			// What it wrote before the floor would be behind the position, and its rows behind the chunks.
			if unended, err := p.Syntax.Tracking.Unended(ctx, s.Conn, p.Table.Changes, since); unended || err != nil {
				return cmp.Or(err, errOpen(&h, "from before the last purge by age, or before the triggers: what it wrote would be missed"))
			}
		}
		at = p.AppendCursor(nil, [][]byte{floor}, nil) // nothing that is read was written before the triggers
		return nil
	})
	return at, err
}

// errOpen says why the whole table cannot be read yet.
func errOpen(h *change.Horizon, why string) error {
	return fmt.Errorf("a write transaction is open since %s (%s), %s. The whole table is read when it has ended: end it",
		h.Oldest.Format(time.RFC3339), h.By, why)
}

// lastRow is the highest key; nil where there is no row.
func (c *Cursor) lastRow(ctx context.Context, p *plan.Plan) (last []byte, err error) {
	sel := c.plainRows(p)
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		last = nil
		return c.dialect.Read(ctx, s.Conn, sel.Latest().Text, nil, sel.Order, func(r engine.Row) (bool, error) {
			last, err = collect.KeyOf(p.Whole, r)
			return false, err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the highest key: %w", err)
	}
	return last, nil
}

// countRows is about how many rows the table has, for people; 0 where that takes too long.
func (c *Cursor) countRows(ctx context.Context, p *plan.Plan) (n int64) {
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, c.cfg.Timeout))
	defer cancel()
	sel := c.plainRows(p)
	if err := c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		return s.Conn.QueryRowContext(ctx, sel.Count(keyset.Span{}, 0).Text).Scan(&n)
	}); err != nil {
		return 0
	}
	return n
}

// plainRows selects the table's rows without what is known of their changes.
func (c *Cursor) plainRows(p *plan.Plan) keyset.Selection {
	sel := p.Whole.Sel
	sel.From, sel.Where = p.Whole.Table.From, c.cfg.Where
	return sel
}

// wholePage reads a chunk of the table.
func (c *Cursor) wholePage(ctx context.Context, p *plan.Plan, r change.Range, limit poller.Limit) (change.Page, error) {
	ask := c.ask(limit.Rows)
	var told string // by the engine's own tracking
	chunk, err := chunkOf(p, r, ask+1, &told)
	if err != nil {
		return change.Page{}, err
	}
	var col collect.Collector
	page := change.Page{NullCursors: -1}
	err = c.sessions.Run(ctx, func(ctx context.Context, s *pool.Session) error {
		col = collect.Collector{Plan: chunk.plan, Cfg: &c.cfg, Limit: poller.Limit{Rows: ask, Bytes: limit.Bytes},
			Fetched: time.Now(), Whole: true}
		told = ""
		if err := c.read(ctx, s, chunk.text, chunk.args, &col); err != nil {
			return fmt.Errorf("read a chunk of the table: %w", err)
		}
		return c.witness(ctx, s, p, &page, len(col.Events) > 0)
	})
	if err != nil {
		return change.Page{}, err
	}
	if p.BuiltIn() != nil {
		if page.Table = ""; told != "" { // else the next page of changes says it
			t, err := tracked.ParseTold(told)
			if err != nil {
				return change.Page{}, err
			}
			page.Table = t.Table
		}
	}
	c.learn(len(col.Events), ask, limit.Rows, col.Full)
	if col.Bad != nil && len(col.Events) == 0 {
		return change.Page{}, fmt.Errorf("%w: %s: %w", poller.ErrNormalize, c.name(), col.Bad)
	}
	page.Events, page.More = col.Events, col.More || col.Bad != nil
	for i := range page.Events {
		page.Events[i].At = plan.AfterRow(page.Events[i].Key, chunk.beside)
	}
	return page, nil
}

// chunk is how a part of the table is read.
type chunk struct {
	plan *plan.Plan
	text string
	args []any
	// beside is the number of a history that changes are read after.
	beside []byte
}

func chunkOf(p *plan.Plan, r change.Range, limit int, told *string) (c chunk, err error) {
	pos, read, err := p.DecodeInTable(r.After)
	if err != nil {
		return c, err
	}
	end, _, err := p.DecodeInTable(r.UpTo)
	if err != nil {
		return c, err
	}
	c.plan, c.beside = p.Whole, read
	if read != nil {
		if c.plan, err = p.Reading(read); err != nil {
			return c, err
		}
	}
	st := c.plan.Sel.Page(limit, keyset.Span{After: len(pos), UpTo: len(end), Common: keyset.Common(pos, end),
		Also: tracked.InTransaction(c.plan, told)})
	c.text = st.Text
	c.args, err = c.plan.Args(st, pos, end)
	return c, err
}
