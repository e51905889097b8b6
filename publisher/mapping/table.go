// Package mapping publishes from tables of other frameworks (source__map__…). Settings name what each column is for
// (settings.go); the catalog proves that (resolve.go). Failed events are kept in a side table beside the claims.
package mapping

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// mapped is an outbox that is not ours: another framework's table (mapping.go). Nothing is written
// there but the mark of publishing, and the count of failed attempts where the table has one; failures stand in the
// side table. It has no buckets, and so its only strategy is leader.
type mapped struct {
	db     *statement.DB
	claims *claims.Table
	cfg    Config
	sql    writer
	// chunk bounds the ids in one statement.
	chunk int
}

// Config is how events are published, and what is kept of them.
type Config struct {
	Poller string
	// Map is source__map__<role>: role → column, or an option's value.
	Map      map[string]string
	Ordering poller.Ordering
	// Block says that a dead letter holds up the later events of its aggregate.
	Block bool
	// MaxRowBytes bounds a payload; 0: no bound.
	MaxRowBytes int
	// Retention is how long published events are kept.
	Retention time.Duration
}

// ID is the column that identifies an event.
func (m *mapped) ID() string { return m.sql.id.Name }

// idsAtOnce stays below the parameters that every engine takes (SQL Server: 2,100).
const idsAtOnce = 1000

// SideOf is the name of the side table, which lies beside the claims.
func SideOf(claims statement.Name) statement.Name { return claims.Suffixed("_events") }

// Open proves source__map__… against the catalog. table is the user's, and qualified its name for people. Beside the
// table it returns what is to be warned of.
func Open(ctx context.Context, q statement.Querier, db *statement.DB, d Syntax, claims *claims.Table, table,
	side statement.Name, qualified string, cfg Config) (
	*mapped, []string, error) {
	m, err := parseMapping(cfg.Map)
	if err != nil {
		return nil, nil, err
	}
	m.textTimes = d.TextTimes()
	columns, err := d.Columns(ctx, q, table)
	if err != nil {
		return nil, nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	l, err := m.resolve(qualified, columns)
	if err != nil {
		return nil, nil, err
	}
	found, err := d.Resolve(ctx, q, side)
	if err != nil {
		return nil, nil, fmt.Errorf("look for %s: %w", side, err)
	}
	if found == "" {
		return nil, nil, fmt.Errorf("%w: there is no table %s, where the failed events of the mapped table %s are kept: run `rowrelay outbox init %s --beside --apply`",
			poller.ErrConfig, side, qualified, cfg.Poller)
	}
	return newTable(db, d, claims, table, side, l, cfg), l.warnings, nil
}

func newTable(db *statement.DB, d Syntax, claims *claims.Table, table, side statement.Name, l layout,
	cfg Config) *mapped {
	q := writer{layout: l, db: db, syntax: d, outbox: claims.Place.Outbox, table: table.String(),
		side: side.String(), blocks: []event.State{event.Failed},
		maxBytes: cfg.MaxRowBytes}
	if cfg.Block {
		q.blocks = append(q.blocks, event.Dead)
	}
	switch cfg.Ordering {
	case poller.OrderSource:
		q.everything = true
	case poller.OrderNone:
	default:
		q.byAggregate = l.aggregateID != nil
	}
	return &mapped{db: db, claims: claims, cfg: cfg, sql: q, chunk: idsAtOnce}
}

// Fetch shows what is pending and waits for nothing, always from the top: the ranges and the position are those of a
// table with buckets. The session leaves out what it has in flight.
func (m *mapped) Fetch(ctx context.Context, _ []claims.Range, _ event.Position, limit poller.Limit) ([]event.Row,
	bool, error) {
	var rows []event.Row
	var more bool
	s := m.sql.publishable(m.sql.projection(), limit.Rows+1, nil)
	err := m.db.Do(ctx, "fetch", func(ctx context.Context, q statement.Querier) (err error) {
		rows, more, err = event.Read(ctx, s, q, limit, m.scan)
		return err
	})
	return rows, more, err
}

// Others shows what Fetch does, of aggregates that are not avoided.
func (m *mapped) Others(ctx context.Context, _ []claims.Range, avoid []event.Aggregate, limit poller.Limit) ([]event.Row,
	error) {
	return m.rows(ctx, "fetch events of other aggregates", limit, m.sql.publishable(m.sql.projection(), limit.Rows, avoid))
}

// Again asks for no more rows than one statement can name.
func (m *mapped) Again(ctx context.Context, refs []event.Ref) ([]event.Row, error) {
	return m.rows(ctx, "read events again", poller.Limit{Rows: len(refs)}, m.sql.again(refIDs(refs[:min(len(refs), m.chunk)])))
}

func (m *mapped) rows(ctx context.Context, what string, limit poller.Limit, s *statement.Statement) (rows []event.Row,
	err error) {
	err = m.db.Do(ctx, what, func(ctx context.Context, q statement.Querier) error {
		rows, _, err = event.Read(ctx, s, q, limit, m.scan)
		return err
	})
	return rows, err
}

// Due shows the first failed event of each aggregate whose time has come. One round trip while nothing has failed.
func (m *mapped) Due(ctx context.Context, _ []claims.Range, limit poller.Limit) (rows []event.Row,
	next time.Duration, err error) {
	err = m.db.Do(ctx, "look for events that are due", func(ctx context.Context, q statement.Querier) error {
		rows, next = nil, -1
		var ms *int64
		if err := m.sql.nextDue().Row(ctx, q, &ms); err != nil || ms == nil {
			return err
		}
		next = max(time.Duration(*ms)*time.Millisecond, 0)
		if *ms > 0 {
			return nil
		}
		attempts, ids := make(map[string]int), []string(nil)
		err := m.sql.dueIDs(min(limit.Rows, m.chunk)).Each(ctx, q, func(scan func(...any) error) (bool, error) {
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
		if rows, _, err = event.Read(ctx, m.sql.byID(ids), q, limit, m.scan); err != nil {
			return err
		}
		for i := range rows {
			rows[i].Attempts = attempts[rows[i].Ref.ID]
		}
		return nil
	})
	return rows, next, err
}

// Work is partition 0 of 1, if there is anything to publish.
func (m *mapped) Work(ctx context.Context, _ []int, _ int) ([]int, error) {
	g, err := m.Look(ctx)
	if err != nil || !g.Work {
		return nil, err
	}
	return []int{0}, nil
}

// Mend removes entries of events that somebody published or deleted by hand: what waits for them goes on. Waiting
// itself is not stored, so that nothing else can be left over.
func (m *mapped) Mend(ctx context.Context) (mended int, err error) {
	for after, more := "", true; more; {
		err := m.db.Tx(ctx, "mend", func(ctx context.Context, q statement.Querier) error {
			ids, err := m.sql.entries(after, m.chunk).Texts(ctx, q)
			if err != nil || len(ids) == 0 {
				more = false
				return err
			}
			pending, err := m.sql.stillPending(ids).Texts(ctx, q)
			if err != nil {
				return err
			}
			after, more = ids[len(ids)-1], len(ids) == m.chunk
			gone := slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(pending, id) })
			if len(gone) == 0 {
				return nil
			}
			n, err := m.sql.forget(gone).Exec(ctx, q)
			mended += int(n)
			return err
		})
		if err != nil {
			return mended, err
		}
	}
	return mended, nil
}
