package rows

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Due returns failed events whose time has come, and which are the first of their aggregate: where an operator made
// several due at once, they go out one after the other.
func (e *Table) Due(ctx context.Context, ranges []claims.Range, limit poller.Limit) (rows []event.Row,
	next time.Duration, err error) {
	limit.Rows = max(limit.Rows, 1)
	err = e.db.Do(ctx, "look for due events", func(ctx context.Context, q statement.Querier) error {
		s := e.db.Statement()
		s.Add("SELECT ")
		e.columns(s)
		s.Add(", 0 FROM ", e.outbox.String(), " o WHERE o.state = 'FAILED' AND o.next_attempt_at <= ", e.db.Now())
		e.inRanges(s, ranges)
		e.first(s)
		s.Add(" ORDER BY o.next_attempt_at, ", e.seq("o"), e.db.Limit(s.Arg(limit.Rows), 0))
		if rows, _, err = event.Read(ctx, s, q, limit, e.scan); err != nil {
			return err
		}
		next, err = e.nextDue(ctx, q, ranges)
		return err
	})
	if err != nil {
		return nil, -1, err
	}
	return rows, next, nil
}

// first adds the condition that o, a failed event, is the first of its aggregate that is in the way. It seeks that
// one: to ask for one before o reads all that wait for it on MariaDB.
func (e *Table) first(s *statement.Statement) {
	if e.cfg.Ordering == poller.OrderNone {
		return
	}
	s.Add(" AND (")
	if !e.bySource() {
		s.Add("NOT ", e.ordered(), " OR ")
	}
	s.Add("(SELECT ", e.seq("b"), " FROM ", e.outbox.String(), " b", e.syntax.Force(e.blockedIndex()), " WHERE ")
	if e.bySource() {
		s.Add("1 = 1")
	} else {
		s.Add(e.syntax.Seek("b", "o.aggregate_id"), e.syntax.Same("b.aggregate_type", "b.aggregate_id",
			"o.aggregate_type", "o.aggregate_id"))
	}
	s.Add(e.inTheWay("b", true), " ORDER BY ", e.seq("b"), e.db.Limit("1", 0), ") = ", e.seq("o"), ")")
}

func (e *Table) inRanges(s *statement.Statement, ranges []claims.Range) {
	if ranges == nil {
		return
	}
	s.Add(" AND (1 = 0")
	for _, r := range ranges {
		s.Add(" OR o.bucket >= ", s.Arg(r.From), " AND o.bucket < ", s.Arg(r.To))
	}
	s.Add(")")
}

// nextDue is how long until a failed event is due that is not yet; -1 where there is none.
func (e *Table) nextDue(ctx context.Context, q statement.Querier, ranges []claims.Range) (time.Duration, error) {
	s := e.db.Statement()
	s.Add("SELECT COALESCE(-MAX(", e.db.Age("n.due"), "), -1) FROM (SELECT o.next_attempt_at AS due FROM ",
		e.outbox.String(),
		" o WHERE o.state = 'FAILED' AND o.next_attempt_at > ", e.db.Now())
	e.inRanges(s, ranges)
	s.Add(" ORDER BY o.next_attempt_at", e.db.Limit("1", 0), ") n")
	var ms int64
	if err := s.Row(ctx, q, &ms); err != nil {
		return -1, fmt.Errorf("find the next one: %w", err)
	}
	if ms < 0 {
		return -1, nil
	}
	return time.Duration(ms+1) * time.Millisecond, nil // rounded up: to ask sooner would be in vain
}
