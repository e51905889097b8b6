package publisher

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// visible adds the conditions of a row that may be published now.
func (q *mappedSQL) visible(s *statement) {
	s.add(q.pending("o"), " AND NOT ", q.settled(s))
	if blocked := q.blocked(s); blocked != "" {
		s.add(" AND NOT ", blocked)
	}
}

// publishable reads rows that may be published now, in order, of no aggregate in avoid.
func (q *mappedSQL) publishable(columns string, limit int, avoid []aggregate) *statement {
	s := q.db.statement("SELECT ", columns, " FROM ", q.table, " o WHERE ")
	q.visible(s)
	typ, id := q.aggregateExpr()
	for _, a := range avoid {
		if a.id != "" {
			s.add(" AND NOT (", typ, " = ", s.arg(a.typ), " AND ", id, " = ", s.arg(a.id), ")")
		}
	}
	return s.add(" ORDER BY ", q.ordered(), q.db.limit(s.arg(limit), 0))
}

// scan reads one row of projection.
func (m *mapped) scan(scan func(...any) error) (row, error) {
	var r row
	var eventType, created, key, traceParent, traceState sql.NullString
	o := &r.outbox
	var size int
	var payload []byte
	if err := scan(&r.ref.id, &o.AggregateType, &o.AggregateID, &eventType, &size, &payload, &created, &key, &traceParent, &traceState,
		&r.attempts); err != nil {
		return row{}, err
	}
	o.EventType, o.TraceParent, o.TraceState = eventType.String, traceParent.String, traceState.String
	o.IdempotencyKey = key.String
	if !key.Valid || key.String == "" {
		o.IdempotencyKey = r.ref.id
	}
	o.CreatedAt = parseInstant(created.String)
	r.setPayload(payload, size, m.cfg.MaxRowBytes)
	return r, nil
}

// look is one round trip: whether the outbox is paused, and whether there is anything to publish, now or again.
func (m *mapped) look(ctx context.Context) (g glance, err error) {
	err = m.db.do(ctx, "look for work", func(ctx context.Context, c querier) error {
		var by sql.NullString
		if err := m.lookStatement().row(ctx, c, &by, &g.work, &g.waiting); err != nil {
			return err
		}
		g.paused, g.by = by.Valid, by.String
		return nil
	})
	return g, err
}

func (m *mapped) lookStatement() *statement {
	q := &m.sql
	s := q.db.statement("SELECT ")
	m.claims.paused(s, "c")
	s.add(", CASE WHEN EXISTS (SELECT 1 FROM ", q.table, " o WHERE ")
	q.visible(s)
	s.add(") THEN 1 WHEN EXISTS (SELECT 1 FROM ", q.side, " s WHERE s.outbox = ")
	s.add(s.arg(q.outbox), " AND s.state = '", string(Failed), "' AND s.next_attempt_at <= ", q.db.now(), " AND ").add(q.head(s))
	// What waits is not stored: mend looks at the entries that it waits behind.
	s.add(") THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM ", q.side, " s WHERE s.outbox = ")
	return s.add(s.arg(q.outbox), " AND s.state IN (", quoted(q.blocks), ")) THEN 1 ELSE 0 END")
}

// figures counts up to a bound: of a table that has no index for it, every pending row is read.
func (m *mapped) figures(ctx context.Context) (poller.OutboxFigures, error) {
	f := poller.OutboxFigures{Bound: figuresBound}
	err := m.db.do(ctx, "count", func(ctx context.Context, c querier) error {
		var err error
		if f.Pending, err = m.count(ctx, c, m.sql.countVisible()); err != nil {
			return err
		}
		if f.Waiting, err = m.count(ctx, c, m.sql.countWaiting()); err != nil {
			return err
		}
		if f.Failed, err = m.count(ctx, c, m.sql.countEntries(Failed)); err != nil {
			return err
		}
		if f.Dead, err = m.count(ctx, c, m.sql.countEntries(Dead)); err != nil {
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

func (m *mapped) count(ctx context.Context, c querier, s *statement) (n int64, err error) {
	err = s.row(ctx, c, &n)
	return n, err
}

// bounded counts the rows of a query up to figuresBound.
func (q *mappedSQL) bounded(from func(s *statement)) *statement {
	s := q.db.statement("SELECT COUNT(*) FROM (SELECT 1 AS one FROM ")
	from(s)
	return s.add(q.syntax.unordered(), q.db.limit(s.arg(figuresBound), 0), ") counted")
}

func (q *mappedSQL) countVisible() *statement {
	return q.bounded(func(s *statement) { q.visible(s.add(q.table, " o WHERE ")) })
}

func (q *mappedSQL) countWaiting() *statement {
	return q.bounded(func(s *statement) {
		s.add(q.table, " o WHERE ", q.pending("o"), " AND NOT ", q.settled(s))
		if blocked := q.blocked(s); blocked != "" {
			s.add(" AND ", blocked)
			return
		}
		s.add(" AND 1 = 0")
	})
}

func (q *mappedSQL) countEntries(state State) *statement {
	return q.bounded(func(s *statement) {
		s.add(q.side, " s WHERE s.outbox = ", s.arg(q.outbox), " AND s.state = ", s.arg(string(state)))
	})
}

// oldest is the age of the first pending event, by the database's clock.
func (m *mapped) oldest(ctx context.Context, c querier) (time.Duration, error) {
	if m.sql.createdAt == nil {
		return 0, nil
	}
	s := m.sql.publishable(m.sql.instant(m.sql.createdAt, "o")+", "+m.sql.syntax.clock(), 1, nil)
	var age time.Duration
	err := s.each(ctx, c, func(scan func(...any) error) (bool, error) {
		var created, now sql.NullString
		if err := scan(&created, &now); err != nil {
			return false, err
		}
		if at := parseInstant(created.String); !at.IsZero() {
			age = max(parseInstant(now.String).Sub(at), 0)
		}
		return false, nil
	})
	return age, err
}
