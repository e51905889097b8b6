package rows

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Due returns failed events whose time has come, and which are the first of their aggregate: where an operator made
// several due at once, they go out one after the other. For skip_locked their aggregates are claimed; the events stay
// FAILED, so that a crash leaves them due.
func (e *Table) Due(ctx context.Context, ranges []claims.Range, limit poller.Limit,
	by claims.Claim) (rows []event.Row, next time.Duration, err error) {
	limit.Rows = max(limit.Rows, 1)
	work := func(ctx context.Context, q statement.Querier) error {
		s := e.db.Statement()
		s.Add("SELECT ")
		e.columns(s)
		s.Add(", 0 FROM ", e.outbox.String(), " o WHERE o.state = 'FAILED' AND o.next_attempt_at <= ", e.db.Now())
		e.inRanges(s, ranges)
		e.first(s)
		if by.Owner != "" {
			s.Add(" AND NOT ")
			e.claimed(s)
		}
		s.Add(" ORDER BY o.next_attempt_at, ", e.seq("o"), e.db.Limit(s.Arg(limit.Rows), 0))
		if rows, _, err = event.Read(ctx, s, q, limit, e.scan); err != nil {
			return err
		}
		if by.Owner != "" && len(rows) > 0 {
			if rows, err = e.claimRows(ctx, q, by, rows); err != nil {
				return err
			}
		}
		next, err = e.nextDue(ctx, q, ranges)
		return err
	}
	if by.Owner != "" {
		err = e.db.Tx(ctx, "look for due events", work)
	} else {
		err = e.db.Do(ctx, "look for due events", work)
	}
	if err != nil {
		return nil, -1, err
	}
	return rows, next, nil
}

// first adds the condition that o, a failed event, is the first of its aggregate that is in the way. It seeks that
// one: to ask for one before o reads all that wait behind it on MariaDB.
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

// claimRows is steps 2 and 3 of pick for failed events: a row that is not FAILED any more when its aggregate is
// claimed was settled by another instance in between.
func (e *Table) claimRows(ctx context.Context, q statement.Querier, by claims.Claim, rows []event.Row) ([]event.Row,
	error) {
	found := make([]candidate, 0, len(rows))
	seen := map[string]bool{}
	for i := range rows {
		c := candidate{seq: rows[i].Ref.Seq, bucket: rows[i].At.Bucket, Aggregate: rows[i].Aggregate()}
		c.shard = e.syntax.ShardOf(c.Type, c.ID)
		if !seen[c.shard] { // events without an aggregate have one shard
			seen[c.shard] = true
			found = append(found, c)
		}
	}
	got, err := e.claimAggregates(ctx, q, by, found)
	if err != nil || len(got) == 0 {
		return nil, err
	}
	claimed := map[event.Aggregate]bool{}
	for i := range got {
		claimed[got[i].Aggregate] = true
	}
	var list []int64
	for i := range rows {
		if claimed[rows[i].Aggregate()] {
			list = append(list, rows[i].Ref.Seq)
		}
	}
	s := e.db.Statement()
	s.Add("SELECT ")
	e.columns(s)
	s.Add(", 0 FROM ", e.outbox.String(), " o WHERE ", e.db.AnyInt(s, e.seq("o"), list), " AND o.state = 'FAILED'")
	e.first(s)
	s.Add(" ORDER BY o.next_attempt_at, ", e.seq("o"))
	rows, _, err = event.Read(ctx, s, q, poller.Limit{Rows: len(list) + 1}, e.scan)
	if err != nil {
		return nil, err
	}
	return rows, e.dropUnused(ctx, q, by.Owner, got, rows)
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

// Mend looks for what no running session will ever touch.
func (e *Table) Mend(ctx context.Context) (int, error) {
	var left int
	err := e.db.Tx(ctx, "mend events left PUBLISHING", func(ctx context.Context, q statement.Querier) (err error) {
		left, err = e.orphans(ctx, q)
		return err
	})
	if err == nil {
		err = e.Claims.DropOld(ctx)
	}
	if err != nil {
		return 0, err
	}
	loose, err := e.loose(ctx)
	return left + loose, err
}

// mendAtOnce bounds what one transaction mends of each kind; the next one does more. SQL Server makes one lock of the
// table of 5000 locks of rows.
const mendAtOnce = 4_000

// orphans makes PUBLISHING events without a live claim PENDING. The rows are locked first, leaving out those that a
// pick is about to mark; then claims are looked at again, by a statement that sees what picks have committed until
// then. A pick that claims such an aggregate meanwhile has its events PENDING in flight, which nobody else finds as
// long as the claim lives.
func (e *Table) orphans(ctx context.Context, q statement.Querier) (int, error) {
	find := func(list []int64) ([]int64, error) {
		hint, suffix := e.db.Lock(true)
		s := e.db.Statement()
		if list != nil {
			hint, suffix = "", ""
		}
		s.Add("SELECT ", e.seq("o"), " FROM ", e.outbox.String(), " o", e.forced(event.Publishing), hint,
			" WHERE o.state = 'PUBLISHING'")
		if list != nil {
			s.Add(" AND ", e.db.AnyInt(s, e.seq("o"), list))
		}
		s.Add(" AND NOT ")
		e.claimed(s)
		s.Add(" ORDER BY ", e.order(event.Publishing), e.db.Limit(s.Arg(mendAtOnce), 0), suffix)
		return s.Ints(ctx, q)
	}
	list, err := find(nil)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	if list, err = find(list); err != nil {
		return 0, err
	}
	return len(list), e.set(ctx, q, "state = 'PENDING'", list, "'PUBLISHING'")
}

// loose makes WAITING events without a head PENDING, some aggregates at a time. An event can become loose and blocked
// again only by marks of its aggregate's owner: at worst it becomes PENDING here, and is absorbed once more.
func (e *Table) loose(ctx context.Context) (int, error) {
	var waiting []event.Aggregate
	err := e.db.Do(ctx, "look for waiting events", func(ctx context.Context, q statement.Querier) error {
		waiting = nil
		s := e.db.Statement()
		s.Add("SELECT DISTINCT o.aggregate_type, o.aggregate_id FROM ", e.outbox.String(), " o",
			e.forced(event.Waiting), " WHERE o.state IN (", blockedStates,
			") AND o.state = 'WAITING'")
		return s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
			var a event.Aggregate
			err := scan(&a.Type, &a.ID)
			waiting = append(waiting, a)
			return true, err
		})
	})
	if err != nil {
		return 0, err
	}
	var count int64
	for some := range slices.Chunk(waiting, 1000) {
		for len(some) > 0 {
			err := e.db.Do(ctx, "let waiting events go on", func(ctx context.Context, q statement.Querier) error {
				n, rest, err := e.LetGo(ctx, q, some)
				if count += n; err == nil {
					some = rest
				}
				return err
			})
			if err != nil {
				return int(count), err
			}
		}
	}
	return int(count), nil
}

var rangeColumns = []statement.Field{statement.Int("part"), statement.Int("low"), statement.Int("high")}

// Work returns which of n partitions have events to publish now.
func (e *Table) Work(ctx context.Context, n int) (parts []int, err error) {
	type object struct {
		Part int `json:"part"`
		Low  int `json:"low"`
		High int `json:"high"`
	}
	list := make([]object, n)
	for i := range list {
		r := claims.BucketsOf(i, n)
		list[i] = object{i, r.From, r.To}
	}
	err = e.db.Do(ctx, "look for partitions with work", func(ctx context.Context, q statement.Querier) error {
		parts = nil
		s := e.db.Statement()
		s.Add("SELECT r.part FROM ", s.Rows("r", rangeColumns, list), " WHERE (SELECT 1 FROM ", e.outbox.String(),
			" o WHERE o.state = 'PENDING' AND o.bucket >= r.low AND o.bucket < r.high ORDER BY o.bucket, ", e.seq("o"),
			e.db.Limit("1", 0), ") = 1",
			" OR EXISTS (SELECT 1 FROM ", e.outbox.String(), " d WHERE d.state = 'FAILED' AND d.next_attempt_at <= ", e.db.Now(),
			" AND d.bucket >= r.low AND d.bucket < r.high) ORDER BY r.part")
		found, err := s.Ints(ctx, q)
		for _, p := range found {
			parts = append(parts, int(p))
		}
		return err
	})
	return parts, err
}

// bound is where counting stops.
const bound = 100_000

// Figures counts each state up to the bound. The oldest pending event is the one with the smallest seq: one seek for
// each bucket, where the table keeps no index by time.
func (e *Table) Figures(ctx context.Context) (f poller.OutboxFigures, err error) {
	buckets := make([]struct {
		B int `json:"b"`
	}, claims.Buckets)
	for i := range buckets {
		buckets[i].B = i
	}
	err = e.db.Do(ctx, "count events", func(ctx context.Context, q statement.Querier) error {
		var oldest sql.NullInt64
		s := e.db.Statement()
		s.Add("SELECT ")
		for _, state := range []event.State{event.Pending, event.Failed, event.Waiting, event.Dead} {
			where := "o.state = '" + string(state) + "'"
			if state == event.Waiting || state == event.Dead {
				where = "o.state IN (" + blockedStates + ") AND " + where
			}
			s.Add("(SELECT COUNT(*) FROM (SELECT 1 AS one FROM ", e.outbox.String(), " o", e.forced(state), " WHERE ",
				where, " ORDER BY ", e.order(state),
				e.db.Limit(s.Arg(bound+1), 0), ") n), ")
		}
		s.Add("(SELECT ", e.db.Age("a.created_at"), " FROM ", e.outbox.String(), " a WHERE ", e.seq("a"),
			" = (SELECT MIN(h.seq) FROM (SELECT (SELECT ", e.seq("o"),
			" FROM ", e.outbox.String(), " o WHERE o.state = 'PENDING' AND o.bucket = r.b ORDER BY o.bucket, ", e.seq("o"),
			e.db.Limit("1", 0), ") AS seq FROM ",
			s.Rows("r", []statement.Field{statement.Int("b")}, buckets), ") h))")
		f = poller.OutboxFigures{}
		if err := s.Row(ctx, q, &f.Pending, &f.Failed, &f.Waiting, &f.Dead, &oldest); err != nil {
			return err
		}
		f.OldestPending = time.Duration(max(oldest.Int64, 0)) * time.Millisecond
		for _, n := range []*int64{&f.Pending, &f.Failed, &f.Waiting, &f.Dead} {
			if *n > bound {
				*n, f.Bound = bound, bound
			}
		}
		return nil
	})
	return f, err
}
