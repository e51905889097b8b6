package publisher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// mapped is an outbox that is not ours: the seed's own table, or another framework's (mapping.go). Nothing is written there
// but the mark of publishing, and the count of failed attempts where the table has one; failures stand in the side table.
// Its only strategy is leader.
type mapped struct {
	t   *sqlTable
	sql mappedSQL
	// chunk bounds the ids in one statement.
	chunk int
}

// mappedChunk stays below the parameters that every engine takes (SQL Server: 2,100).
const mappedChunk = 1000

// newMapped proves source__map__… against the catalog.
func newMapped(ctx context.Context, q querier, t *sqlTable, c *catalog) (eventSQL, error) {
	if t.cfg.Strategy != "" && t.cfg.Strategy != Leader {
		return nil, fmt.Errorf("%w: source__strategy=%s needs the columns of `rowrelay outbox init`, and %s is mapped: leave source__strategy out, or "+
			"write leader", poller.ErrConfig, t.cfg.Strategy, c.description.Table)
	}
	m, err := parseMapping(t.cfg.Map)
	if err != nil {
		return nil, err
	}
	m.engine = t.d.engine()
	columns, err := mappedColumns(ctx, q, t.outbox)
	if err != nil {
		return nil, err
	}
	l, err := m.resolve(c.description.Table, columns)
	if err != nil {
		return nil, err
	}
	side := t.side()
	found, err := t.d.resolve(ctx, q, side.parts)
	if err != nil {
		return nil, fmt.Errorf("look for %s: %w", side, err)
	}
	if found == "" {
		return nil, fmt.Errorf("%w: there is no table %s, where the failed events of the mapped table %s are kept: run `rowrelay outbox init %s --beside --apply`",
			poller.ErrConfig, side, c.description.Table, t.cfg.Poller)
	}
	c.description.own, c.description.buckets, c.description.skips = false, false, false
	c.description.warnings = append(c.description.warnings[:len(c.description.warnings):len(c.description.warnings)], l.warnings...)
	return &mapped{t: t, sql: t.mappedSQL(l, c.name), chunk: mappedChunk}, nil
}

// mappedSQL makes the statements for a layout.
func (t *sqlTable) mappedSQL(l layout, outbox string) mappedSQL {
	q := mappedSQL{layout: l, d: t.d, engine: t.d.engine(), outbox: outbox, table: t.outbox.String(), side: t.side().String(), blocks: []State{Failed},
		maxBytes: t.cfg.MaxRowBytes}
	if t.cfg.Policy.Block {
		q.blocks = append(q.blocks, Dead)
	}
	switch t.cfg.Ordering {
	case poller.OrderSource:
		q.everything = true
	case poller.OrderNone:
	default:
		q.byAggregate = l.aggregateID != nil
	}
	return q
}

// side is the table of failed events, beside the claims.
func (t *sqlTable) side() name { return sideOf(t.claims) }

func sideOf(claims name) name {
	parts := append([]string(nil), claims.parts...)
	parts[len(parts)-1] += "_events"
	return name{claims.d, parts}
}

// fetch shows what is pending and waits for nothing, always from the top: the ranges and the position are those of a table
// with buckets. The session leaves out what it has in flight.
func (m *mapped) fetch(ctx context.Context, _ []bucketRange, _ position, limit poller.Limit) ([]row, bool, error) {
	var rows []row
	var more bool
	s := m.sql.publishable(m.sql.projection(), limit.Rows+1, nil)
	err := m.t.do(ctx, "fetch", func(ctx context.Context, q querier) (err error) {
		rows, more, err = s.read(ctx, q, limit, m.scan)
		return err
	})
	return rows, more, err
}

// due shows the first failed event of each aggregate whose time has come. One round trip while nothing has failed.
func (m *mapped) due(ctx context.Context, _ []bucketRange, limit poller.Limit, _ claim) (rows []row, next time.Duration, err error) {
	err = m.t.do(ctx, "look for events that are due", func(ctx context.Context, q querier) error {
		rows, next = nil, -1
		var ms *int64
		if err := m.sql.nextDue().row(ctx, q, &ms); err != nil || ms == nil {
			return err
		}
		next = max(time.Duration(*ms)*time.Millisecond, 0)
		if *ms > 0 {
			return nil
		}
		attempts, ids := make(map[string]int), []string(nil)
		err := m.sql.dueIDs(min(limit.Rows, m.chunk)).each(ctx, q, func(scan func(...any) error) (bool, error) {
			var id string
			var n int
			if err := scan(&id, &n); err != nil {
				return false, err
			}
			attempts[id], ids = n, append(ids, id)
			return true, nil
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		if rows, _, err = m.sql.byID(ids).read(ctx, q, limit, m.scan); err != nil {
			return err
		}
		for i := range rows {
			rows[i].attempts = attempts[rows[i].ref.id]
		}
		return nil
	})
	return rows, next, err
}

// other shows one publishable row of an aggregate that is none of avoid.
func (m *mapped) other(ctx context.Context, _ []bucketRange, avoid []aggregate) (*row, error) {
	var rows []row
	s := m.sql.publishable(m.sql.projection(), 1, avoid)
	err := m.t.do(ctx, "look for a probe", func(ctx context.Context, q querier) (err error) {
		rows, _, err = s.read(ctx, q, poller.Limit{Rows: 1}, m.scan)
		return err
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// pick and restore belong to skip_locked, which mapped tables do not have.
func (m *mapped) pick(context.Context, string, uint64, time.Duration, poller.Limit) ([]row, bool, error) {
	return nil, false, fmt.Errorf("%w: a mapped table has no strategy skip_locked", poller.ErrConfig)
}

func (m *mapped) restore(context.Context, querier, string, []string) error { return nil }

// work is partition 0 of 1, if there is anything to publish.
func (m *mapped) work(ctx context.Context, _ int) ([]int, error) {
	g, err := m.look(ctx)
	if err != nil || !g.work {
		return nil, err
	}
	return []int{0}, nil
}

// mend removes entries of events that somebody published or deleted by hand: what waits behind them goes on. Waiting itself
// is not stored, so that nothing else can be left over.
func (m *mapped) mend(ctx context.Context) (mended int, err error) {
	for after, more := "", true; more; {
		err := m.t.tx(ctx, "mend", func(ctx context.Context, q querier) error {
			ids, err := texts(ctx, q, m.sql.entries(after, m.chunk))
			if err != nil || len(ids) == 0 {
				more = false
				return err
			}
			pending, err := texts(ctx, q, m.sql.stillPending(ids))
			if err != nil {
				return err
			}
			after, more = ids[len(ids)-1], len(ids) == m.chunk
			gone := slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(pending, id) })
			if len(gone) == 0 {
				return nil
			}
			n, err := m.sql.forget(gone).exec(ctx, q)
			mended += int(n)
			return err
		})
		if err != nil {
			return mended, err
		}
	}
	return mended, nil
}

// texts collects a result of one column.
func texts(ctx context.Context, q querier, s *statement) (list []string, err error) {
	err = s.each(ctx, q, func(scan func(...any) error) (bool, error) {
		var v string
		if err := scan(&v); err != nil {
			return false, err
		}
		list = append(list, v)
		return true, nil
	})
	return list, err
}
