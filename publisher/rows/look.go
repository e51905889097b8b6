package rows

import (
	"context"
	"database/sql"
	"slices"
	"strconv"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// inState adds the rows o that are in a state, with the order of the index that holds them: FROM, WHERE and ORDER BY
// without their first word. due restricts FAILED to those whose time has come.
func (t *Table) inState(s *statement.Statement, state event.State, due bool) *statement.Statement {
	shown := state
	if state == event.Delayed {
		state = event.Failed
	}
	if t.side != "" {
		return t.inStateBeside(s, shown, due)
	}
	hint, order := t.hints["pending"], "o.bucket, "+t.o.order
	switch {
	case state == event.Failed:
		hint, order = "", "o.next_attempt_at" // few, and found by either index
	case state != event.Pending && !t.syntax.ByState():
		order = "o.aggregate_type, o.aggregate_id, " + t.o.order
	}
	s.Add(t.outbox.String(), " o", hint, " WHERE ")
	if state == event.Waiting || state == event.Dead {
		s.Add("o.state IN (", blockedStates, ") AND ")
	}
	s.Add("o.state = '", string(state), "'")
	t.attempted(s, shown, due)
	return s.Add(" ORDER BY ", order)
}

// attempted tells FAILED entries o apart: those that are due, DELAYED ones, and the others.
func (t *Table) attempted(s *statement.Statement, shown event.State, due bool) {
	switch {
	case due:
		s.Add(" AND o.next_attempt_at <= ", t.db.Now())
	case shown == event.Delayed:
		s.Add(" AND ", t.delayed("o"))
	case shown == event.Failed:
		s.Add(" AND NOT (", t.delayed("o"), ")")
	}
}

// delayed is the condition that a FAILED entry is a DELAYED one.
func (t *Table) delayed(alias string) string {
	return alias + "." + t.attemptsColumn + " = 0 AND " + alias + ".next_attempt_at > " + t.db.Now()
}

func (t *Table) inStateBeside(s *statement.Statement, state event.State, due bool) *statement.Statement {
	switch state {
	case event.Pending:
		t.unhindered(s.Add(t.outbox.String(), " o", t.hints["pending"], " WHERE ", t.o.pending))
	case event.Waiting:
		s.Add(t.outbox.String(), " o", t.hints["pending"], " WHERE ", t.o.pending, " AND NOT ", t.hasEntry(s), " AND ")
		t.blocks(s, false)
	default:
		t.scope(s.Add(t.entries, " o WHERE "), "o").Add("o.state IN (", event.Quoted(event.Stored([]event.State{state})), ")")
		t.attempted(s, state, due)
	}
	return s.Add(t.values.Unordered())
}

// Served asks for the first pending event by the index that was named; an error says that it does not serve for that.
func (t *Table) Served(ctx context.Context, q statement.Querier) error {
	s := t.selectKeys(t.db.Statement(), t.hints["pending"]).Add(t.o.pending, " ORDER BY ", t.o.order, t.db.Limit("1", 0))
	return s.Each(ctx, q, func(func(...any) error) (bool, error) { return true, nil })
}

// Look asks for one row of each kind that is work, and for what is said of the whole outbox, in one statement.
func (t *Table) Look(ctx context.Context) (g event.Glance, err error) {
	err = t.db.Do(ctx, "look for work", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("SELECT COALESCE((SELECT 1 FROM ")
		t.inState(s, event.Pending, false).Add(t.db.Limit("1", 0), "), (SELECT 1 FROM ")
		t.inState(s, event.Failed, true).Add(t.db.Limit("1", 0), "), 0), COALESCE((SELECT 1 FROM ")
		t.reasons(s)
		s.Add(t.db.Limit("1", 0), "), 0), ")
		t.Claims.Paused(s, "p")
		t.Claims.Counter(s.Add(", "))
		// SQL Server evaluates a subquery in COALESCE twice, and what the first one saw may be gone: NULL says that
		// there was work.
		var work, waiting sql.NullInt64
		var by, info sql.NullString
		if err := s.Row(ctx, q, &work, &waiting, &by, &info); err != nil {
			return err
		}
		g = event.Glance{
			Work:    !work.Valid || work.Int64 != 0,
			Waiting: !waiting.Valid || waiting.Int64 != 0, Paused: by.Valid, By: by.String,
			Partitions: claims.PartitionsIn(info.String),
		}
		return nil
	})
	return g, err
}

// reasons adds the rows for which mend is to look: those that wait. Where these have no index of their own, there may
// be such as soon as there is anything that others wait for: to look for WAITING would read every dead letter. Of a
// mapped table they are all entries: each may outlive its row.
func (t *Table) reasons(s *statement.Statement) {
	switch {
	case t.side != "":
		t.scope(s.Add(t.entries, " o WHERE "), "o").Add("1 = 1", t.values.Unordered())
	case t.syntax.ByState():
		t.inState(s, event.Waiting, false)
	default:
		s.Add(t.outbox.String(), " o WHERE o.state IN (", blockedStates, ") ORDER BY o.aggregate_type, o.aggregate_id, ",
			t.o.order)
	}
}

// seeksAtOnce bounds the parts of one statement: SQLite takes 500.
const seeksAtOnce = 256

// Work returns which of these partitions, of n, have events to publish now. It is one seek for each, by constants: a
// join with a list of ranges reads all that lies in them, where statistics mislead.
func (t *Table) Work(ctx context.Context, partitions []int, n int) (parts []int, err error) {
	err = t.db.Do(ctx, "look for partitions with work", func(ctx context.Context, q statement.Querier) error {
		has := map[int]bool{}
		for some := range slices.Chunk(partitions, seeksAtOnce) {
			buckets, err := t.workStatement(some, n).Ints(ctx, q)
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

func (t *Table) workStatement(partitions []int, n int) *statement.Statement {
	s := t.db.Statement("SELECT bucket FROM (SELECT o.bucket FROM ")
	t.inState(s, event.Failed, true).Add(t.db.Limit(strconv.Itoa(mostDue), 0), ") n")
	for _, i := range partitions {
		r := claims.BucketsOf(i, n)
		s.Add(" UNION ALL SELECT bucket FROM (SELECT o.bucket, ", t.o.order, " FROM ", t.outbox.String(), " o",
			t.hints["pending"], " WHERE o.state = 'PENDING' AND o.bucket >= ", strconv.Itoa(r.From), " AND o.bucket < ",
			strconv.Itoa(r.To), " ORDER BY o.bucket, ", t.o.order, t.db.Limit("1", 0), ") r", strconv.Itoa(i))
	}
	return s
}

// bound is where counting stops.
const bound = 100_000

// Figures counts each state up to the bound.
func (t *Table) Figures(ctx context.Context) (f poller.OutboxFigures, err error) {
	err = t.db.Do(ctx, "count events", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("SELECT ")
		for _, state := range []event.State{event.Pending, event.Delayed, event.Failed, event.Waiting, event.Dead} {
			t.inState(s.Add("(SELECT COUNT(*) FROM (SELECT 1 AS one FROM "), state, false)
			s.Add(t.db.Limit(s.Arg(bound+1), 0), ") n), ")
		}
		t.oldest(s)
		s.Add(", ", t.db.Now())
		f = poller.OutboxFigures{}
		var oldest, now any
		if err := s.Row(ctx, q, &f.Pending, &f.Delayed, &f.Failed, &f.Waiting, &f.Dead, &oldest, &now); err != nil {
			return err
		}
		if at := event.AsTime(oldest); !at.IsZero() {
			f.OldestPending = max(event.AsTime(now).Sub(at), 0)
		}
		for _, n := range []*int64{&f.Pending, &f.Delayed, &f.Failed, &f.Waiting, &f.Dead} {
			if *n > bound {
				*n, f.Bound = bound, bound
			}
		}
		return nil
	})
	return f, err
}

// oldest adds a subquery for when the oldest pending event was written: the one with the smallest seq, which is one
// seek for each bucket, where the table keeps no index by time.
func (t *Table) oldest(s *statement.Statement) {
	switch {
	case t.side != "" && t.CreatedAt == nil:
		s.Add("NULL")
		return
	case t.side != "":
		s.Add("(SELECT ", t.o.created, " FROM ", t.outbox.String(), " o", t.hints["pending"], " WHERE ", t.o.pending)
		t.unhindered(s)
		s.Add(" ORDER BY ", t.o.order, t.db.Limit("1", 0), ")")
		return
	}
	buckets := make([]struct {
		B int `json:"b"`
	}, claims.Buckets)
	for i := range buckets {
		buckets[i].B = i
	}
	of := "o.bucket = r.b"
	if t.hints["pending"] == "" {
		// Of one bucket only, PostgreSQL would read the primary key from its low end, once for each bucket.
		of = "o.bucket >= r.b AND o.bucket <= r.b"
	}
	s.Add("(SELECT a.created_at FROM ", t.outbox.String(), " a WHERE a.", t.key,
		" = (SELECT MIN(h.seq) FROM (SELECT (SELECT ", t.o.order, " FROM ", t.outbox.String(), " o", t.hints["pending"],
		" WHERE o.state = 'PENDING' AND ", of,
		" ORDER BY o.bucket, ", t.o.order, t.db.Limit("1", 0), ") AS seq FROM ",
		s.Rows("r", []statement.Field{statement.Int("b")}, buckets), ") h))")
}
