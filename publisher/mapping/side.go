package mapping

import (
	"strconv"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// mark is the one statement that makes rows published, or deletes them. Rows that are not pending any more are left
// alone.
func (q *writer) mark(ids []string) *statement.Statement {
	if q.deletes {
		return q.oneOf(q.db.Statement("DELETE FROM ", q.table, " WHERE "), q.table, ids).Add(" AND ",
			q.pending(q.table))
	}
	s := q.db.Statement("UPDATE ", q.table, " SET ")
	separator := ""
	for _, c := range []struct {
		column *column.Column
		value  func(*column.Column) string
	}{
		{q.state, func(c *column.Column) string { return q.syntax.Literal(c, q.done) }},
		{q.published, func(c *column.Column) string { return q.syntax.Boolean(c, true) }},
		{q.publishedAt, func(c *column.Column) string { return q.syntax.Now(c, "") }},
	} {
		if c.column != nil {
			s.Add(separator, q.db.Quote(c.column.Name), " = ", c.value(c.column))
			separator = ", "
		}
	}
	return q.oneOf(s.Add(" WHERE "), q.table, ids).Add(" AND ", q.pending(q.table))
}

// countAttempt is one failed attempt more in the user's table.
func (q *writer) countAttempt(id string) *statement.Statement {
	name := q.db.Quote(q.attempts.Name)
	s := q.db.Statement("UPDATE ", q.table, " SET ", name, " = COALESCE(", name, ", 0) + 1 WHERE ")
	return s.Add(q.db.Quote(q.id.Name), " = ", q.syntax.Typed(&q.id, s.Arg(id)))
}

// failAgain changes the entry of an event that failed before, unless an operator did in the meantime. A misplaced
// event's attempts stop short of the last one: they need not grow.
func (q *writer) failAgain(f *event.Failure) *statement.Statement {
	s := q.db.Statement("UPDATE ", q.side, " SET ")
	return s.Add("state = ", s.Arg(string(f.State())), ", attempts = ", s.Arg(f.Attempts), ", next_attempt_at = ",
		q.next(s, f),
		", last_error = ", s.Arg(f.Reason)).
		Add(" WHERE outbox = ", s.Arg(q.outbox), " AND event = ", s.Arg(f.Ref.ID), " AND state = '",
			string(event.Failed), "' AND attempts IN (", s.Arg(f.Attempts-1), ", ", s.Arg(f.Attempts), ")")
}

// failFirst makes the entry of an event that did not fail before, if it is still to be published.
func (q *writer) failFirst(f *event.Failure) *statement.Statement {
	s := q.db.Statement()
	typ, id := q.aggregateKey()
	return s.Add("INSERT INTO ", q.side,
		" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ",
		s.Arg(q.outbox), ", ", q.text(&q.id), ", ", typ, ", ", id, ", ", q.position("o"), ", ", s.Arg(string(f.State())),
		", ", strconv.Itoa(f.Attempts), ", ").
		Add(q.next(s, f), ", ", s.Arg(f.Reason), " FROM ", q.table, " o WHERE ").
		Add(q.column(&q.id, "o"), " = ", q.syntax.Typed(&q.id, s.Arg(f.Ref.ID)), " AND ", q.pending("o")).
		Add(" AND NOT ", q.settled(s))
}

// next is when a failed event is tried again.
func (q *writer) next(s *statement.Statement, f *event.Failure) string {
	if f.Dead {
		return "NULL"
	}
	return q.db.Later(s.Arg(f.Delay.Milliseconds()))
}

// forget removes the entries of events that are not to be published any more: what waits for them may go on.
func (q *writer) forget(ids []string) *statement.Statement {
	s := q.db.Statement("DELETE FROM ", q.side, " WHERE outbox = ")
	s.Add(s.Arg(q.outbox), " AND event IN (")
	for i, id := range ids {
		if i > 0 {
			s.Add(", ")
		}
		s.Add(s.Arg(id))
	}
	return s.Add(")")
}

// head is the condition that no earlier event of an entry's aggregate failed: only the first is tried again.
func (q *writer) head(s *statement.Statement) string {
	if !q.byAggregate && !q.everything {
		return "1 = 1"
	}
	cond := "NOT EXISTS (SELECT 1 FROM " + q.side + " e WHERE e.outbox = " + s.Arg(q.outbox)
	if q.byAggregate {
		cond += " AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> ''"
	}
	return cond + " AND e.state IN (" + event.Quoted(q.blocks) +
		") AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))"
}

// nextDue is how long it is until the first of the failed events is due; NULL where there is none.
func (q *writer) nextDue() *statement.Statement {
	s := q.db.Statement("SELECT MIN(-(", q.db.Age("s.next_attempt_at"), ")) FROM ", q.side, " s WHERE s.outbox = ")
	return s.Add(s.Arg(q.outbox), " AND s.state = '", string(event.Failed), "' AND ").Add(q.head(s))
}

// dueIDs reads the ids and attempts of failed events whose time has come, in order. The rows are read by these: a
// join would compare columns of two collations, which SQL Server refuses and MySQL uses no index for.
func (q *writer) dueIDs(limit int) *statement.Statement {
	s := q.db.Statement("SELECT s.event, s.attempts FROM ", q.side, " s WHERE s.outbox = ")
	s.Add(s.Arg(q.outbox), " AND s.state = '", string(event.Failed), "' AND s.next_attempt_at <= ", q.db.Now(),
		" AND ").Add(q.head(s))
	return s.Add(" ORDER BY s.position, s.event", q.db.Limit(s.Arg(limit), 0))
}

// byID reads rows that are to be published, in order, whatever the side table says of them.
func (q *writer) byID(ids []string) *statement.Statement {
	s := q.db.Statement("SELECT ", q.projection(), " FROM ", q.table, " o WHERE ", q.pending("o"), " AND ")
	return q.oneOf(s, "o", ids).Add(" ORDER BY ", q.ordered())
}

// stillPending reads which of ids are to be published.
func (q *writer) stillPending(ids []string) *statement.Statement {
	s := q.db.Statement("SELECT ", q.text(&q.id), " FROM ", q.table, " o WHERE ", q.pending("o"), " AND ")
	return q.oneOf(s, "o", ids)
}

// entries reads the ids in the side table after an id.
func (q *writer) entries(after string, limit int) *statement.Statement {
	s := q.db.Statement("SELECT s.event FROM ", q.side, " s WHERE s.outbox = ")
	return s.Add(s.Arg(q.outbox), " AND s.event > ", s.Arg(after), " ORDER BY s.event", q.db.Limit(s.Arg(limit), 0))
}

// oneOf adds the condition that a row of the user's table is one of ids.
func (q *writer) oneOf(s *statement.Statement, alias string, ids []string) *statement.Statement {
	s.Add(q.column(&q.id, alias), " IN (")
	for i, id := range ids {
		if i > 0 {
			s.Add(", ")
		}
		s.Add(q.syntax.Typed(&q.id, s.Arg(id)))
	}
	return s.Add(")")
}
