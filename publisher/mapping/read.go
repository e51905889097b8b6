package mapping

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// visible adds the conditions of a row that may be published now.
func (q *writer) visible(s *statement.Statement) {
	s.Add(q.pending("o"), " AND NOT ", q.settled(s))
	if blocked := q.blocked(s); blocked != "" {
		s.Add(" AND NOT ", blocked)
	}
}

// publishable reads rows that may be published now, in order, of no aggregate in avoid.
func (q *writer) publishable(columns string, limit int, avoid []event.Aggregate) *statement.Statement {
	s := q.db.Statement("SELECT ", columns, " FROM ", q.table, " o WHERE ")
	typ, id := q.aggregateExpr()
	for _, a := range avoid { // first: what the side table says costs more
		if a.ID != "" {
			s.Add("NOT (", typ, " = ", s.Arg(a.Type), " AND ", id, " = ", s.Arg(a.ID), ") AND ")
		}
	}
	q.visible(s)
	return s.Add(" ORDER BY ", q.ordered(), q.db.Limit(s.Arg(limit), 0))
}

// again reads those of some rows that may be published now, in order.
func (q *writer) again(ids []string) *statement.Statement {
	s := q.db.Statement("SELECT ", q.projection(), " FROM ", q.table, " o WHERE ")
	q.oneOf(s, "o", ids).Add(" AND ")
	q.visible(s)
	return s.Add(" ORDER BY ", q.ordered())
}

// scan reads one row of projection.
func (m *mapped) scan(scan func(...any) error) (event.Row, error) {
	var r event.Row
	var eventType, created, key, traceParent, traceState sql.NullString
	o := &r.Outbox
	var size int
	var payload []byte
	if err := scan(&r.Ref.ID, &o.AggregateType, &o.AggregateID, &eventType, &size, &payload, &created, &key,
		&traceParent, &traceState,
		&r.Attempts); err != nil {
		return event.Row{}, err
	}
	o.EventType, o.TraceParent, o.TraceState = eventType.String, traceParent.String, traceState.String
	o.IdempotencyKey = key.String
	if !key.Valid || key.String == "" {
		o.IdempotencyKey = r.Ref.ID
	}
	o.CreatedAt = event.ParseInstant(created.String)
	r.SetPayload(payload, size, m.cfg.MaxRowBytes)
	return r, nil
}

// Look is one round trip: whether the outbox is paused, and whether there is anything to publish, now or again.
func (m *mapped) Look(ctx context.Context) (g event.Glance, err error) {
	err = m.db.Do(ctx, "look for work", func(ctx context.Context, c statement.Querier) error {
		var by sql.NullString
		if err := m.lookStatement().Row(ctx, c, &by, &g.Work, &g.Waiting); err != nil {
			return err
		}
		g.Paused, g.By = by.Valid, by.String
		return nil
	})
	return g, err
}

func (m *mapped) lookStatement() *statement.Statement {
	q := &m.sql
	s := q.db.Statement("SELECT ")
	m.claims.Paused(s, "c")
	s.Add(", CASE WHEN EXISTS (SELECT 1 FROM ", q.table, " o WHERE ")
	q.visible(s)
	s.Add(") THEN 1 WHEN EXISTS (SELECT 1 FROM ", q.side, " s WHERE s.outbox = ")
	s.Add(s.Arg(q.outbox), " AND s.state = '", string(event.Failed), "' AND s.next_attempt_at <= ", q.db.Now(),
		" AND ").Add(q.head(s))
	// What waits is not stored: mend looks at the entries that it waits for.
	s.Add(") THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM ", q.side, " s WHERE s.outbox = ")
	return s.Add(s.Arg(q.outbox), " AND s.state IN (", event.Quoted(q.blocks), ")) THEN 1 ELSE 0 END")
}

// Figures counts up to a bound: of a table that has no index for it, every pending row is read.
func (m *mapped) Figures(ctx context.Context) (poller.OutboxFigures, error) {
	f := poller.OutboxFigures{Bound: figuresBound}
	err := m.db.Do(ctx, "count", func(ctx context.Context, c statement.Querier) error {
		var err error
		if f.Pending, err = m.count(ctx, c, m.sql.countVisible()); err != nil {
			return err
		}
		if f.Waiting, err = m.count(ctx, c, m.sql.countWaiting()); err != nil {
			return err
		}
		if f.Failed, err = m.count(ctx, c, m.sql.countEntries(event.Failed)); err != nil {
			return err
		}
		if f.Dead, err = m.count(ctx, c, m.sql.countEntries(event.Dead)); err != nil {
			return err
		}
		f.OldestPending, err = m.oldest(ctx, c)
		return err
	})
	if err == nil && max(f.Pending, f.Waiting, f.Failed, f.Dead) < figuresBound {
		f.Bound = 0
	}
	return f, err
}

// figuresBound is where counting stops.
const figuresBound = 100_000

func (m *mapped) count(ctx context.Context, c statement.Querier, s *statement.Statement) (n int64, err error) {
	err = s.Row(ctx, c, &n)
	return n, err
}

// bounded counts the rows of a query up to figuresBound.
func (q *writer) bounded(from func(s *statement.Statement)) *statement.Statement {
	s := q.db.Statement("SELECT COUNT(*) FROM (SELECT 1 AS one FROM ")
	from(s)
	return s.Add(q.syntax.Unordered(), q.db.Limit(s.Arg(figuresBound), 0), ") counted")
}

func (q *writer) countVisible() *statement.Statement {
	return q.bounded(func(s *statement.Statement) { q.visible(s.Add(q.table, " o WHERE ")) })
}

func (q *writer) countWaiting() *statement.Statement {
	return q.bounded(func(s *statement.Statement) {
		s.Add(q.table, " o WHERE ", q.pending("o"), " AND NOT ", q.settled(s))
		if blocked := q.blocked(s); blocked != "" {
			s.Add(" AND ", blocked)
			return
		}
		s.Add(" AND 1 = 0")
	})
}

func (q *writer) countEntries(state event.State) *statement.Statement {
	return q.bounded(func(s *statement.Statement) {
		s.Add(q.side, " s WHERE s.outbox = ", s.Arg(q.outbox), " AND s.state = ", s.Arg(string(state)))
	})
}

// oldest is the age of the first pending event, by the database's clock.
func (m *mapped) oldest(ctx context.Context, c statement.Querier) (time.Duration, error) {
	if m.sql.createdAt == nil {
		return 0, nil
	}
	s := m.sql.publishable(m.sql.instant(m.sql.createdAt, "o")+", "+m.sql.syntax.Clock(), 1, nil)
	var age time.Duration
	err := s.Each(ctx, c, func(scan func(...any) error) (bool, error) {
		var created, now sql.NullString
		if err := scan(&created, &now); err != nil {
			return false, err
		}
		if at := event.ParseInstant(created.String); !at.IsZero() {
			age = max(event.ParseInstant(now.String).Sub(at), 0)
		}
		return false, nil
	})
	return age, err
}
