package mapping

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// done is the condition that the user's table says of a row that was published; rows in states of somebody else's
// (CAP's Delayed) are neither that nor pending, and are none of ours.
func (q *writer) isDone(alias string) string {
	switch {
	case q.deletes:
		return "1 = 0"
	case q.state != nil:
		return q.column(q.state, alias) + " = " + q.syntax.Literal(q.state, q.done)
	case q.published != nil:
		return q.column(q.published, alias) + " = " + q.syntax.Boolean(q.published, true)
	default:
		return q.column(q.publishedAt, alias) + " IS NOT NULL"
	}
}

// stateExpr is the state of o, whose entry is s.
func (q *writer) stateExpr(s *statement.Statement) {
	s.Add("CASE WHEN NOT (", q.pending("o"), ") THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state")
	if blocked := q.blocked(s); blocked != "" {
		s.Add(" WHEN ", blocked, " THEN 'WAITING'")
	}
	s.Add(" ELSE 'PENDING' END")
}

// inStates adds the condition that o, whose entry is s, is in one of the states.
func (q *writer) inStates(s *statement.Statement, states []event.State) {
	if len(states) == 0 {
		s.Add("(", q.pending("o"), " OR ", q.isDone("o"), ")")
		return
	}
	s.Add("(1 = 0")
	for _, state := range states {
		switch state {
		case event.Published:
			s.Add(" OR ", q.isDone("o"))
		case event.Pending, event.Waiting:
			s.Add(" OR ", q.pending("o"), " AND s.state IS NULL AND ")
			switch blocked := q.blocked(s); {
			case blocked != "" && state == event.Waiting:
				s.Add(blocked)
			case blocked != "":
				s.Add("NOT ", blocked)
			case state == event.Waiting:
				s.Add("1 = 0")
			default:
				s.Add("1 = 1")
			}
		default:
			s.Add(" OR ", q.pending("o"), " AND s.state = '", string(state), "'")
		}
	}
	s.Add(")")
}

// chosen adds FROM, and the condition that o is one of the events that f chooses.
func (q *writer) chosen(s *statement.Statement, f *event.Filter) {
	s.Add(" FROM ", q.table, " o LEFT JOIN ", q.side, " s ON s.outbox = ", s.Arg(q.outbox), " AND s.event = ",
		q.text(&q.id), " WHERE ")
	q.inStates(s, f.States)
	if len(f.IDs)+len(f.Keys) > 0 {
		s.Add(" AND (1 = 0")
		q.equals(s, &q.id, f.IDs)
		key := q.key
		if key == nil {
			key = &q.id // the id is the idempotency key then
		}
		q.equals(s, key, f.Keys)
		s.Add(")")
	}
	typ, id := q.aggregateExpr()
	for _, c := range []struct{ expr, value string }{{typ, f.AggregateType}, {id, f.Aggregate}} {
		if c.value != "" {
			s.Add(" AND ", c.expr, " = ", s.Arg(c.value))
		}
	}
	if f.EventType != "" {
		s.Add(" AND ", q.orNull(q.eventType), " = ", s.Arg(f.EventType))
	}
	if f.OlderThan > 0 {
		s.Add(" AND ", q.column(q.createdAt, "o"), " <= ", q.syntax.Now(q.createdAt, s.Arg(f.OlderThan.Milliseconds())))
	}
	if f.YoungerThan > 0 {
		s.Add(" AND ", q.column(q.createdAt, "o"), " > ", q.syntax.Now(q.createdAt,
			s.Arg(f.YoungerThan.Milliseconds())))
	}
}

// equals adds OR for each of the values that the column can have.
func (q *writer) equals(s *statement.Statement, c *column.Column, values []string) {
	for _, v := range values {
		if q.couldBe(c, v) {
			s.Add(" OR ", q.column(c, "o"), " = ", q.syntax.Typed(c, s.Arg(v)))
		}
	}
}

var (
	uuidText = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	hexText  = regexp.MustCompile(`^([0-9a-fA-F]{2})+$`)
)

// couldBe reports whether a text can be a value of the column: engines fail where it cannot.
func (q *writer) couldBe(c *column.Column, value string) bool {
	switch c.Kind {
	case column.Integer:
		return isInteger(value)
	case column.UUID:
		return uuidText.MatchString(value)
	case column.Bytes:
		return hexText.MatchString(value)
	default:
		return true
	}
}

// answerable says of a filter what the table cannot tell.
func (m *mapped) answerable(f *event.Filter) error {
	if m.sql.createdAt == nil && f.OlderThan+f.YoungerThan > 0 {
		return fmt.Errorf("%w: the age of events is asked for, and the mapped table has no time of writing: set %s",
			poller.ErrConfig, roleCreatedAt.setting())
	}
	return nil
}

// place is where a row stands in the order, as text that follows takes.
func (q *writer) place() string {
	if q.seq != nil {
		return q.text(q.seq)
	}
	return q.instant(q.createdAt, "o")
}

// follows adds the condition that o comes after a place and, of those at one instant, after an id.
func (q *writer) follows(s *statement.Statement, place, id string) {
	if q.seq != nil {
		s.Add(" AND ", q.column(q.seq, "o"), " > ", q.syntax.Typed(q.seq, s.Arg(place)))
		return
	}
	created := q.column(q.createdAt, "o")
	s.Add(" AND ", created, " >= ", q.syntax.AtInstant(q.createdAt, s.Arg(place)))
	s.Add(" AND (", created, " > ", q.syntax.AtInstant(q.createdAt, s.Arg(place)), " OR ", q.text(&q.id), " > ",
		s.Arg(id), ")")
}

// entriesOf reads the events that f chooses after a position, or those of some ids.
func (q *writer) entriesOf(f *event.Filter, ids []string, place, id string, limit int) *statement.Statement {
	s := q.db.Statement("SELECT ", q.text(&q.id), ", ")
	typ, aggregateID := q.aggregateExpr()
	created := "NULL"
	if q.createdAt != nil {
		created = q.instant(q.createdAt, "o")
	}
	s.Add(typ, ", ", aggregateID, ", ", q.orNull(q.eventType), ", ", q.orNull(q.key), ", ")
	q.stateExpr(s)
	s.Add(", COALESCE(s.attempts, ", q.stored(), "), ", created, ", ", q.syntax.Shown("s.next_attempt_at"),
		", s.last_error, ", q.place())
	q.chosen(s, f)
	switch {
	case ids != nil:
		q.oneOf(s.Add(" AND "), "o", ids)
	case place != "":
		q.follows(s, place, id)
	}
	return s.Add(" ORDER BY ", q.ordered(), q.db.Limit(s.Arg(limit), 0))
}

// positionBreak stands between the two parts of a position: neither holds it.
const positionBreak = "\x00"

// inSide says that only events with an entry are asked for: then the side table leads, and what was published is not
// read.
func inSide(states []event.State) bool {
	return len(states) > 0 && !slices.ContainsFunc(states,
		func(s event.State) bool { return s != event.Failed && s != event.Dead && s != event.Discarded })
}

func (m *mapped) Page(ctx context.Context, f *event.Filter, after string, limit int) (entries []event.Entry,
	last string, err error) {
	if err := m.answerable(f); err != nil {
		return nil, "", err
	}
	place, id, _ := strings.Cut(after, positionBreak)
	err = m.db.Do(ctx, "list events", func(ctx context.Context, q statement.Querier) error {
		var ids []string
		last = ""
		if inSide(f.States) {
			limit = min(limit, m.chunk)
			if ids, last, err = m.sidePage(ctx, q, f.States, place, id, limit); err != nil || len(ids) == 0 {
				return err
			}
		}
		var end string
		if entries, end, err = m.readEntries(ctx, q, m.sql.entriesOf(f, ids, place, id, limit)); err != nil {
			return err
		}
		if ids == nil && len(entries) == limit {
			last = end
		}
		return nil
	})
	return entries, last, err
}

// sidePage reads the ids of the next entries, and the position of the last; "" where there are no more.
func (m *mapped) sidePage(ctx context.Context, q statement.Querier, states []event.State, position, id string,
	limit int) (ids []string, last string, err error) {
	err = m.sql.sideIDs(states, position, id, limit).Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var event, at string
		if err := scan(&event, &at); err != nil {
			return false, err
		}
		ids, last = append(ids, event), at+positionBreak+event
		return true, nil
	})
	if len(ids) < limit {
		last = ""
	}
	return ids, last, err
}

func (q *writer) sideIDs(states []event.State, position, id string, limit int) *statement.Statement {
	s := q.db.Statement("SELECT s.event, s.position FROM ", q.side, " s WHERE s.outbox = ")
	s.Add(s.Arg(q.outbox), " AND s.state IN (", event.Quoted(states), ")")
	if position != "" {
		s.Add(" AND (s.position > ", s.Arg(position), " OR (s.position = ", s.Arg(position), " AND s.event > ",
			s.Arg(id), "))")
	}
	return s.Add(" ORDER BY s.position, s.event", q.db.Limit(s.Arg(limit), 0))
}

func (m *mapped) readEntries(ctx context.Context, q statement.Querier, s *statement.Statement) (entries []event.Entry,
	last string, err error) {
	err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var e event.Entry
		var state, place string
		var eventType, key, created, next, lastError sql.NullString
		if err := scan(&e.ID, &e.AggregateType, &e.AggregateID, &eventType, &key, &state, &e.Attempts, &created,
			&next, &lastError, &place); err != nil {
			return false, err
		}
		e.EventType, e.IdempotencyKey, e.State, e.LastError = eventType.String, key.String, event.State(state),
			lastError.String
		if e.IdempotencyKey == "" {
			e.IdempotencyKey = e.ID
		}
		e.CreatedAt, e.NextAttempt = event.ParseInstant(created.String), event.ParseInstant(next.String)
		entries, last = append(entries, e), place+positionBreak+e.ID
		return true, nil
	})
	return entries, last, err
}

func (m *mapped) CountOf(ctx context.Context, f *event.Filter) (n int64, err error) {
	if err := m.answerable(f); err != nil {
		return 0, err
	}
	err = m.db.Do(ctx, "count events", func(ctx context.Context, q statement.Querier) error {
		s := m.db.Statement("SELECT COUNT(*)")
		m.sql.chosen(s, f)
		return s.Row(ctx, q, &n)
	})
	return n, err
}

func (m *mapped) RequeueThese(ctx context.Context, entries []event.Entry) (n int64, err error) {
	err = m.db.Do(ctx, "requeue events", func(ctx context.Context, q statement.Querier) error {
		n, err = m.sql.requeueStatement(entryIDs(entries)).Exec(ctx, q)
		return err
	})
	return n, err
}

func (q *writer) requeueStatement(ids []string) *statement.Statement {
	s := q.db.Statement("UPDATE ", q.side, " SET state = '", string(event.Failed),
		"', attempts = 0, next_attempt_at = ", q.db.Now(), " WHERE outbox = ")
	s.Add(s.Arg(q.outbox), " AND state IN ('", string(event.Dead), "', '", string(event.Failed), "') AND ")
	return s.Add(q.db.AnyText(s, "event", ids))
}

// DiscardThese changes the entries of events that failed, and makes entries for those that only wait. What waited
// for them is pending from then on, because nothing of it is stored.
func (m *mapped) DiscardThese(ctx context.Context, entries []event.Entry, reason string) (n int64, err error) {
	err = m.db.Tx(ctx, "discard events", func(ctx context.Context, q statement.Querier) error {
		if n, err = m.sql.discardStatement(entryIDs(entries), reason).Exec(ctx, q); err != nil {
			return err
		}
		var waiting []string
		for i := range entries {
			if entries[i].State == event.Waiting {
				waiting = append(waiting, entries[i].ID)
			}
		}
		if len(waiting) == 0 {
			return nil
		}
		more, err := m.sql.discardWaiting(waiting, reason).Exec(ctx, q)
		n += more
		return err
	})
	return n, err
}

func (q *writer) discardStatement(ids []string, reason string) *statement.Statement {
	s := q.db.Statement("UPDATE ", q.side, " SET state = '", string(event.Discarded),
		"', next_attempt_at = NULL, last_error = ")
	s.Add(s.Arg(reason), " WHERE outbox = ", s.Arg(q.outbox), " AND state IN ('", string(event.Dead), "', '",
		string(event.Failed), "') AND ")
	return s.Add(q.db.AnyText(s, "event", ids))
}

// discardWaiting does nothing to events that do not wait any more. It does not ask again whether they wait: what is
// discarded with them may have been what they waited for.
func (q *writer) discardWaiting(ids []string, reason string) *statement.Statement {
	s := q.db.Statement()
	typ, id := q.aggregateKey()
	s.Add("INSERT INTO ", q.side, " (outbox, event, aggregate_type, aggregate_id, position, state, attempts, last_error) SELECT ", s.Arg(q.outbox), ", ",
		q.text(&q.id), ", ", typ, ", ", id, ", ", q.position("o"), ", '", string(event.Discarded), "', 0, ", s.Arg(reason),
		" FROM ", q.table, " o WHERE ",
		q.pending("o"), " AND ")
	q.oneOf(s, "o", ids)
	return s.Add(" AND NOT ", q.settled(s))
}

func entryIDs(entries []event.Entry) []string {
	list := make([]string, len(entries))
	for i := range entries {
		list[i] = entries[i].ID
	}
	return list
}
