package rows

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

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
