package publisher

import "strconv"

// mark is the one statement that makes rows published, or deletes them. Rows that are not pending any more are left alone.
func (q *mappedSQL) mark(ids []string) *statement {
	if q.deletes {
		return q.oneOf(q.db.statement("DELETE FROM ", q.table, " WHERE "), q.table, ids).add(" AND ", q.pending(q.table))
	}
	s := q.db.statement("UPDATE ", q.table, " SET ")
	separator := ""
	for _, c := range []struct {
		column *tableColumn
		value  func(*tableColumn) string
	}{
		{q.state, func(c *tableColumn) string { return q.syntax.literal(c, q.done) }},
		{q.published, func(c *tableColumn) string { return q.syntax.boolean(c, true) }},
		{q.publishedAt, func(c *tableColumn) string { return q.syntax.now(c, "") }},
	} {
		if c.column != nil {
			s.add(separator, q.db.quote(c.column.name), " = ", c.value(c.column))
			separator = ", "
		}
	}
	return q.oneOf(s.add(" WHERE "), q.table, ids).add(" AND ", q.pending(q.table))
}

// countAttempt is one failed attempt more in the user's table.
func (q *mappedSQL) countAttempt(id string) *statement {
	name := q.db.quote(q.attempts.name)
	s := q.db.statement("UPDATE ", q.table, " SET ", name, " = COALESCE(", name, ", 0) + 1 WHERE ")
	return s.add(q.db.quote(q.id.name), " = ", q.syntax.typed(&q.id, s.arg(id)))
}

// failAgain changes the entry of an event that failed before, unless an operator did in the meantime. A misplaced event's attempts
// stop short of the last one: they need not grow.
func (q *mappedSQL) failAgain(f *failure) *statement {
	s := q.db.statement("UPDATE ", q.side, " SET ")
	return s.add("state = ", s.arg(string(f.state())), ", attempts = ", s.arg(f.attempts), ", next_attempt_at = ", q.next(s, f),
		", last_error = ", s.arg(f.reason)).
		add(" WHERE outbox = ", s.arg(q.outbox), " AND event = ", s.arg(f.ref.id), " AND state = '", string(Failed), "' AND attempts IN (", s.arg(f.attempts-1), ", ", s.arg(f.attempts), ")")
}

// failFirst makes the entry of an event that did not fail before, if it is still to be published.
func (q *mappedSQL) failFirst(f *failure) *statement {
	s := q.db.statement()
	typ, id := q.aggregateExpr()
	return s.add("INSERT INTO ", q.side, " (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ",
		s.arg(q.outbox), ", ", q.text(&q.id), ", ", typ, ", ", id, ", ", q.position("o"), ", ", s.arg(string(f.state())), ", ", strconv.Itoa(f.attempts), ", ").
		add(q.next(s, f), ", ", s.arg(f.reason), " FROM ", q.table, " o WHERE ").
		add(q.column(&q.id, "o"), " = ", q.syntax.typed(&q.id, s.arg(f.ref.id)), " AND ", q.pending("o")).
		add(" AND NOT ", q.settled(s))
}

// next is when a failed event is tried again.
func (q *mappedSQL) next(s *statement, f *failure) string {
	if f.dead {
		return "NULL"
	}
	return q.db.later(s.arg(f.delay.Milliseconds()))
}

// forget removes the entries of events that are not to be published any more: what waits behind them may go on.
func (q *mappedSQL) forget(ids []string) *statement {
	s := q.db.statement("DELETE FROM ", q.side, " WHERE outbox = ")
	s.add(s.arg(q.outbox), " AND event IN (")
	for i, id := range ids {
		if i > 0 {
			s.add(", ")
		}
		s.add(s.arg(id))
	}
	return s.add(")")
}

// head is the condition that no earlier event of an entry's aggregate failed: only the first is tried again.
func (q *mappedSQL) head(s *statement) string {
	if !q.byAggregate && !q.everything {
		return "1 = 1"
	}
	cond := "NOT EXISTS (SELECT 1 FROM " + q.side + " e WHERE e.outbox = " + s.arg(q.outbox)
	if q.byAggregate {
		cond += " AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> ''"
	}
	return cond + " AND e.state IN (" + quoted(q.blocks) + ") AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))"
}

// nextDue is how long it is until the first of the failed events is due; NULL where there is none.
func (q *mappedSQL) nextDue() *statement {
	s := q.db.statement("SELECT MIN(-(", q.db.age("s.next_attempt_at"), ")) FROM ", q.side, " s WHERE s.outbox = ")
	return s.add(s.arg(q.outbox), " AND s.state = '", string(Failed), "' AND ").add(q.head(s))
}

// dueIDs reads the ids and attempts of failed events whose time has come, in order. The rows are read by these: a join would
// compare columns of two collations, which SQL Server refuses and MySQL uses no index for.
func (q *mappedSQL) dueIDs(limit int) *statement {
	s := q.db.statement("SELECT s.event, s.attempts FROM ", q.side, " s WHERE s.outbox = ")
	s.add(s.arg(q.outbox), " AND s.state = '", string(Failed), "' AND s.next_attempt_at <= ", q.db.now(), " AND ").add(q.head(s))
	return s.add(" ORDER BY s.position, s.event", q.db.limit(s.arg(limit), 0))
}

// byID reads rows that are to be published, in order, whatever the side table says of them.
func (q *mappedSQL) byID(ids []string) *statement {
	s := q.db.statement("SELECT ", q.projection(), " FROM ", q.table, " o WHERE ", q.pending("o"), " AND ")
	return q.oneOf(s, "o", ids).add(" ORDER BY ", q.ordered())
}

// stillPending reads which of ids are to be published.
func (q *mappedSQL) stillPending(ids []string) *statement {
	s := q.db.statement("SELECT ", q.text(&q.id), " FROM ", q.table, " o WHERE ", q.pending("o"), " AND ")
	return q.oneOf(s, "o", ids)
}

// entries reads the ids in the side table behind an id.
func (q *mappedSQL) entries(after string, limit int) *statement {
	s := q.db.statement("SELECT s.event FROM ", q.side, " s WHERE s.outbox = ")
	return s.add(s.arg(q.outbox), " AND s.event > ", s.arg(after), " ORDER BY s.event", q.db.limit(s.arg(limit), 0))
}

// oneOf adds the condition that a row of the user's table is one of ids.
func (q *mappedSQL) oneOf(s *statement, alias string, ids []string) *statement {
	s.add(q.column(&q.id, alias), " IN (")
	for i, id := range ids {
		if i > 0 {
			s.add(", ")
		}
		s.add(q.syntax.typed(&q.id, s.arg(id)))
	}
	return s.add(")")
}
