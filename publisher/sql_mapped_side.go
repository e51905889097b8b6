package publisher

import "strconv"

// shown writes a time of the side table as text.
func (q *mappedSQL) shown(expr string) string {
	switch q.engine {
	case "postgres":
		return "to_char(" + expr + " AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
	case "mysql":
		return "DATE_FORMAT(" + expr + ", '%Y-%m-%d %H:%i:%s.%f')"
	case "sqlserver":
		return "CONVERT(varchar(33), " + expr + ", 121)"
	default:
		return expr
	}
}

// mark is the one statement that makes rows published, or deletes them. Rows that are not pending any more are left alone.
func (q *mappedSQL) mark(ids []string) *statement {
	if q.deletes {
		return q.oneOf(q.statement("DELETE FROM ", q.table, " WHERE "), q.table, ids).add(" AND ", q.pending(q.table))
	}
	s := q.statement("UPDATE ", q.table, " SET ")
	separator := ""
	for _, c := range []struct {
		column *mappedColumn
		value  func(*mappedColumn) string
	}{
		{q.state, func(c *mappedColumn) string { return q.literal(c, q.done) }},
		{q.published, func(c *mappedColumn) string { return q.boolean(c, true) }},
		{q.publishedAt, func(c *mappedColumn) string { return q.now(c, "") }},
	} {
		if c.column != nil {
			s.add(separator, q.d.quote(c.column.name), " = ", c.value(c.column))
			separator = ", "
		}
	}
	return q.oneOf(s.add(" WHERE "), q.table, ids).add(" AND ", q.pending(q.table))
}

// countAttempt is one failed attempt more in the user's table.
func (q *mappedSQL) countAttempt(id string) *statement {
	name := q.d.quote(q.attempts.name)
	s := q.statement("UPDATE ", q.table, " SET ", name, " = COALESCE(", name, ", 0) + 1 WHERE ")
	return s.add(q.d.quote(q.id.name), " = ", q.typed(&q.id, s.arg(id)))
}

// failAgain changes the entry of an event that failed before, unless an operator did in the meantime. A misplaced event's attempts
// stop short of the last one: they need not grow.
func (q *mappedSQL) failAgain(f *failure) *statement {
	s := q.statement("UPDATE ", q.side, " SET ")
	return s.add("state = ", s.arg(string(f.state())), ", attempts = ", s.arg(f.attempts), ", next_attempt_at = ", q.next(s, f),
		", last_error = ", s.arg(f.reason)).
		add(" WHERE outbox = ", s.arg(q.outbox), " AND event = ", s.arg(f.ref.id), " AND state = '", string(Failed), "' AND attempts IN (", s.arg(f.attempts-1), ", ", s.arg(f.attempts), ")")
}

// failFirst makes the entry of an event that did not fail before, if it is still to be published.
func (q *mappedSQL) failFirst(f *failure) *statement {
	s := q.statement()
	typ, id := q.aggregateExpr()
	return s.add("INSERT INTO ", q.side, " (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ",
		s.arg(q.outbox), ", ", q.text(&q.id), ", ", typ, ", ", id, ", ", q.position("o"), ", ", s.arg(string(f.state())), ", ", strconv.Itoa(f.attempts), ", ").
		add(q.next(s, f), ", ", s.arg(f.reason), " FROM ", q.table, " o WHERE ").
		add(q.column(&q.id, "o"), " = ", q.typed(&q.id, s.arg(f.ref.id)), " AND ", q.pending("o")).
		add(" AND NOT ", q.settled(s))
}

// next is when a failed event is tried again.
func (q *mappedSQL) next(s *statement, f *failure) string {
	if f.dead {
		return "NULL"
	}
	return q.d.later(s.arg(f.delay.Milliseconds()))
}

func (f *failure) state() State {
	if f.dead {
		return Dead
	}
	return Failed
}

// forget removes the entries of events that are not to be published any more: what waits behind them may go on.
func (q *mappedSQL) forget(ids []string) *statement {
	s := q.statement("DELETE FROM ", q.side, " WHERE outbox = ")
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
	s := q.statement("SELECT MIN(-(", q.d.age("s.next_attempt_at"), ")) FROM ", q.side, " s WHERE s.outbox = ")
	return s.add(s.arg(q.outbox), " AND s.state = '", string(Failed), "' AND ").add(q.head(s))
}

// dueIDs reads the ids and attempts of failed events whose time has come, in order. The rows are read by these: a join would
// compare columns of two collations, which SQL Server refuses and MySQL uses no index for.
func (q *mappedSQL) dueIDs(limit int) *statement {
	s := q.statement("SELECT s.event, s.attempts FROM ", q.side, " s WHERE s.outbox = ")
	s.add(s.arg(q.outbox), " AND s.state = '", string(Failed), "' AND s.next_attempt_at <= ", q.d.now(), " AND ").add(q.head(s))
	return s.add(" ORDER BY s.position, s.event", q.d.limit(s.arg(limit)))
}

// byID reads rows that are to be published, in order, whatever the side table says of them.
func (q *mappedSQL) byID(ids []string) *statement {
	s := q.statement("SELECT ", q.projection(), " FROM ", q.table, " o WHERE ", q.pending("o"), " AND ")
	return q.oneOf(s, "o", ids).add(" ORDER BY ", q.ordered())
}

// stillPending reads which of ids are to be published.
func (q *mappedSQL) stillPending(ids []string) *statement {
	s := q.statement("SELECT ", q.text(&q.id), " FROM ", q.table, " o WHERE ", q.pending("o"), " AND ")
	return q.oneOf(s, "o", ids)
}

// entries reads the ids in the side table behind an id.
func (q *mappedSQL) entries(after string, limit int) *statement {
	s := q.statement("SELECT s.event FROM ", q.side, " s WHERE s.outbox = ")
	return s.add(s.arg(q.outbox), " AND s.event > ", s.arg(after), " ORDER BY s.event", q.d.limit(s.arg(limit)))
}

// oneOf adds the condition that a row of the user's table is one of ids.
func (q *mappedSQL) oneOf(s *statement, alias string, ids []string) *statement {
	s.add(q.column(&q.id, alias), " IN (")
	for i, id := range ids {
		if i > 0 {
			s.add(", ")
		}
		s.add(q.typed(&q.id, s.arg(id)))
	}
	return s.add(")")
}
