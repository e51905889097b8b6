package rows

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// seeksAtOnce bounds the parts of one statement: SQLite takes 500.
const seeksAtOnce = 256

// Work returns which of these partitions, of n, have events to publish now. It is one seek for each, by constants: a
// join with a list of ranges reads all that lies in them, where statistics mislead.
func (e *Table) Work(ctx context.Context, partitions []int, n int) (parts []int, err error) {
	err = e.db.Do(ctx, "look for partitions with work", func(ctx context.Context, q statement.Querier) error {
		has := map[int]bool{}
		for some := range slices.Chunk(partitions, seeksAtOnce) {
			buckets, err := e.workStatement(some, n).Ints(ctx, q)
			if err != nil {
				return err
			}
			for _, b := range buckets {
				has[claims.PartitionAt(int(b), n)] = true
			}
		}
		parts = slices.DeleteFunc(slices.Clone(partitions), func(i int) bool { return !has[i] })
		return nil
	})
	return parts, err
}

// mostDue bounds the failed events that are looked at: those of other partitions are found when these are settled.
const mostDue = 1000

func (e *Table) workStatement(partitions []int, n int) *statement.Statement {
	s := e.db.Statement("SELECT bucket FROM (SELECT o.bucket FROM ", e.outbox.String(),
		" o WHERE o.state = 'FAILED' AND o.next_attempt_at <= ", e.db.Now(), " ORDER BY o.next_attempt_at",
		e.db.Limit(strconv.Itoa(mostDue), 0), ") n")
	for _, i := range partitions {
		r := claims.BucketsOf(i, n)
		s.Add(" UNION ALL SELECT bucket FROM (SELECT o.bucket, ", e.seq("o"), " FROM ", e.outbox.String(), " o",
			e.forced(event.Pending), " WHERE o.state = 'PENDING' AND o.bucket >= ", strconv.Itoa(r.From), " AND o.bucket < ",
			strconv.Itoa(r.To), " ORDER BY o.bucket, ", e.seq("o"), e.db.Limit("1", 0), ") r", strconv.Itoa(i))
	}
	return s
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
	of := "o.bucket = r.b"
	if e.forced(event.Pending) == "" {
		// Of one bucket only, PostgreSQL would read the primary key from its low end, once for each bucket.
		of = "o.bucket >= r.b AND o.bucket <= r.b"
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
			" FROM ", e.outbox.String(), " o", e.forced(event.Pending),
			" WHERE o.state = 'PENDING' AND ", of, " ORDER BY o.bucket, ", e.seq("o"),
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
