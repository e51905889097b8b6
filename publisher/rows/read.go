package rows

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// columns adds what scan reads, from o. The payload comes only where it is not too large.
func (t *Table) columns(s *statement.Statement) *statement.Statement {
	w := &t.o
	payload := w.payload
	if t.cfg.MaxRowBytes > 0 {
		payload = "CASE WHEN " + w.size + " <= " + s.Arg(t.cfg.MaxRowBytes) + " THEN " + payload + " END"
	}
	s.Add(w.id, ", ", w.bucket, ", ", w.typ, ", ", w.aggregate, ", ", w.eventType, ", ", w.idempotency, ", ")
	s.Add(w.created, ", ", w.attempts, ", ", w.traceParent, ", ", w.traceState, ", ", w.size, ", ", payload)
	if t.timed() {
		available, expires := cmp.Or(w.availableAt, "NULL"), cmp.Or(w.expiresAt, "NULL")
		s.Add(", ", available, ", ", expires, ", CASE WHEN ", available, " IS NOT NULL OR ", expires, " IS NOT NULL THEN ",
			t.db.Now(), " END")
	}
	return s
}

// timed says that events may have a time from which, or up to which they are published.
func (t *Table) timed() bool { return t.o.availableAt != "" || t.o.expiresAt != "" }

// scan reads one row of columns and, after them, whether it waits.
func (t *Table) scan(scan func(...any) error) (event.Row, error) {
	var r event.Row
	var created any
	var eventType, key, parent, state sql.NullString
	var size int
	var payload []byte
	o := &r.Outbox
	into := []any{t.idIn(&r.Ref), &r.Bucket, &o.AggregateType, &o.AggregateID, &eventType, &key, &created, &r.Attempts,
		&parent, &state, &size, &payload}
	var available, expires, now any
	if t.timed() {
		into = append(into, &available, &expires, &now)
	}
	if err := scan(append(into, &r.Waits)...); err != nil {
		return event.Row{}, err
	}
	r.SetTimes(available, expires, event.AsTime(now))
	if t.bySource() {
		r.Bucket = 0
	}
	o.EventType, o.IdempotencyKey = eventType.String, key.String
	if o.IdempotencyKey == "" {
		o.IdempotencyKey = r.Ref.ID
	}
	o.CreatedAt, o.TraceParent, o.TraceState = event.AsTime(created), parent.String, state.String
	r.SetPayload(payload, size, t.cfg.MaxRowBytes)
	return r, nil
}

// read reads the rows that a table expression k of their keys names, in their order. waits adds whether a row waits,
// nil for no.
func (t *Table) read(ctx context.Context, q statement.Querier, limit poller.Limit, order string,
	waits, keys func(*statement.Statement)) ([]event.Row, bool, error) {
	s := t.columns(t.db.Statement("SELECT "))
	if waits == nil {
		s.Add(", 0 FROM ")
	} else {
		waits(s.Add(", CASE WHEN "))
		s.Add(" THEN 1 ELSE 0 END FROM ")
	}
	keys(s)
	s.Add(t.db.LookUp(t.outbox.String(), "o", t.readable, t.o.key+" = k."+t.key), " ORDER BY ", order)
	return t.upTo(ctx, q, s, limit)
}

// upTo reads the rows of a statement of columns up to the limit; more says that there was another one.
func (t *Table) upTo(ctx context.Context, q statement.Querier, s *statement.Statement,
	limit poller.Limit) (rows []event.Row, more bool, err error) {
	size := 0
	err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		if len(rows) > 0 && (len(rows) >= limit.Rows || limit.Bytes > 0 && size >= limit.Bytes) {
			more = true
			return false, nil
		}
		r, err := t.scan(scan)
		if err != nil {
			return false, err
		}
		size += len(r.Outbox.Payload)
		if len(rows) > 0 && limit.Bytes > 0 && size > limit.Bytes {
			more = true // this one comes with the next fetch
			return false, nil
		}
		rows = append(rows, r)
		return true, nil
	})
	if err == nil && len(rows) > 0 && t.side == "" && !t.cfg.Timed {
		err = t.stillUntimed(ctx, q)
	}
	return rows, more, err
}

// ErrTimed is the error of reading from a table that has got available_at and expires_at since it was looked at.
var ErrTimed = errors.New("the outbox has got available_at and expires_at since it was looked at: the next tick goes by them")

// stillUntimed asks whether an own table lacks these columns still: `rowrelay outbox init --apply` adds them while we
// run. From then on an event may be one that must not go yet; what was read before has no such times.
func (t *Table) stillUntimed(ctx context.Context, q statement.Querier) error {
	none, err := q.QueryContext(ctx, "SELECT * FROM "+t.outbox.String()+" WHERE 1 = 0")
	if err != nil {
		return fmt.Errorf("look for available_at: %w", err)
	}
	defer none.Close() //nolint:errcheck // rows.Err is what tells
	columns, err := none.Columns()
	if err == nil && IsTimed(columns) {
		err = ErrTimed
	}
	return cmp.Or(err, none.Err())
}

// Fetch reads the first live events of these buckets. more says that the limit cut them off. By seq, and not of all
// buckets, fewer than the limit need not be all (keysBySeq). Of another framework's table it shows what is pending and
// waits for nothing.
func (t *Table) Fetch(ctx context.Context, ranges []claims.Range, bySeq bool,
	limit poller.Limit) (rows []event.Row, more bool, err error) {
	order, also, waits := t.byBucket, nothing, func(s *statement.Statement) { t.blocks(s, false) }
	if t.bySource() || bySeq {
		order = t.bySeq
	}
	if t.side != "" {
		also, waits = t.unhindered, nil
	}
	err = t.db.Do(ctx, "fetch events", func(ctx context.Context, q statement.Querier) error {
		rows, more, err = t.read(ctx, q, limit, order, waits, func(s *statement.Statement) {
			t.keys(s, ranges, bySeq, max(limit.Rows, 1)+1, also)
		})
		return err
	})
	return rows, more, err
}

// Others leaves out what waits and what is avoided: what comes first among the rest is the next of its aggregate.
func (t *Table) Others(ctx context.Context, ranges []claims.Range, avoid []event.Aggregate,
	limit poller.Limit) ([]event.Row, error) {
	return t.publishable(ctx, "look for events of other aggregates", limit, func(s *statement.Statement) {
		t.keys(s, ranges, false, limit.Rows, func(s *statement.Statement) {
			for _, a := range avoid { // first: what may be in the way costs more
				if a.ID == "" {
					continue
				}
				s.Add(" AND NOT (", t.is(s, a), ")")
			}
			t.unhindered(s)
		})
	})
}

// is the condition that o is of an aggregate.
func (t *Table) is(s *statement.Statement, a event.Aggregate) string {
	typ, id := s.Arg(a.Type), s.Arg(a.ID)
	if t.side != "" {
		return t.o.typ + " = " + typ + " AND " + t.o.aggregate + " = " + id
	}
	return t.syntax.Same(t.o.typ, t.o.aggregate, typ, id)
}

// Again leaves out what waits.
func (t *Table) Again(ctx context.Context, refs []event.Ref) ([]event.Row, error) {
	refs = refs[:min(len(refs), t.most(len(refs)))]
	return t.publishable(ctx, "read events again", poller.Limit{Rows: len(refs)}, func(s *statement.Statement) {
		t.named(s, refs)
		t.unhindered(s)
		s.Add(") k")
	})
}

// named begins a table expression k of the keys of pending rows that refs name.
func (t *Table) named(s *statement.Statement, refs []event.Ref) {
	// With a hint: the engine may know nothing yet of how many are pending.
	t.oneOf(t.selectKeys(s.Add("("), t.hints["key"]), &t.o, refs).Add(" AND ", t.o.pending)
}

// selectKeys begins the selection of keys from the outbox.
func (t *Table) selectKeys(s *statement.Statement, hint string) *statement.Statement {
	s.Add("SELECT ")
	if t.side == "" {
		s.Add(t.o.bucket, ", ")
	}
	return s.Add(t.o.key, " FROM ", t.outbox.String(), " o", hint, " WHERE ")
}

// unhindered adds the conditions that o, which is pending, has not failed and waits for nothing.
func (t *Table) unhindered(s *statement.Statement) {
	if t.side != "" {
		s.Add(" AND NOT ", t.hasEntry(s))
	}
	if t.side == "" || !t.unordered {
		t.blocks(s.Add(" AND NOT "), false)
	}
}

func (t *Table) publishable(ctx context.Context, what string, limit poller.Limit,
	keys func(*statement.Statement)) (rows []event.Row, err error) {
	err = t.db.Do(ctx, what, func(ctx context.Context, q statement.Querier) error {
		rows, _, err = t.read(ctx, q, limit, t.byBucket, nil, keys)
		return err
	})
	return rows, err
}

// Due returns failed events whose time has come, and which are the first of their aggregate: where an operator made
// several due at once, they go out one after the other.
func (t *Table) Due(ctx context.Context, ranges []claims.Range, limit poller.Limit) (rows []event.Row,
	next time.Duration, err error) {
	limit.Rows = max(limit.Rows, 1)
	err = t.db.Do(ctx, "look for due events", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("SELECT ")
		if t.side == "" {
			t.columns(s).Add(", 0")
		} else {
			s.Add("o.event, o.attempts")
		}
		t.scope(s.Add(" FROM ", t.entries, " o WHERE "), "o").Add("o.state = 'FAILED' AND o.next_attempt_at <= ", t.db.Now())
		t.inRanges(s, ranges)
		t.first(s)
		s.Add(" ORDER BY o.next_attempt_at, ", t.byPosition, t.db.Limit(s.Arg(min(limit.Rows, t.most(limit.Rows))), 0))
		if t.side == "" {
			rows, _, err = t.upTo(ctx, q, s, limit)
		} else {
			rows, err = t.ofEntries(ctx, q, s, limit)
		}
		if err != nil {
			return err
		}
		next, err = t.nextDue(ctx, q, ranges)
		return err
	})
	if err != nil {
		return nil, -1, err
	}
	return rows, next, nil
}

// first adds the condition that o, an entry that failed, is the first of its aggregate that is in the way. It seeks
// that one: to ask for one before o reads all that wait for it on MariaDB.
func (t *Table) first(s *statement.Statement) {
	if t.unordered {
		return
	}
	s.Add(" AND (")
	if !t.bySource() {
		s.Add("NOT ", t.ordered("o"), " OR ")
	}
	s.Add("(SELECT b.", t.eventColumn, " FROM ", t.entries, " b", t.hints["blocked"], " WHERE ")
	t.scope(s, "b")
	if t.bySource() {
		s.Add("1 = 1")
	} else {
		s.Add(t.sameAggregate("b", "o.aggregate_type", "o.aggregate_id"))
	}
	s.Add(t.inTheWay("b", true), " ORDER BY ", t.byBlocked, t.db.Limit("1", 0), ") = o.", t.eventColumn, ")")
}

// nextDue is how long until a failed event is due that is not yet; -1 where there is none.
func (t *Table) nextDue(ctx context.Context, q statement.Querier, ranges []claims.Range) (time.Duration, error) {
	s := t.db.Statement("SELECT COALESCE(-MAX(", t.db.Age("n.due"), "), -1) FROM (SELECT o.next_attempt_at AS due FROM ",
		t.entries, " o WHERE ")
	t.scope(s, "o").Add("o.state = 'FAILED' AND o.next_attempt_at > ", t.db.Now())
	t.inRanges(s, ranges)
	s.Add(" ORDER BY o.next_attempt_at", t.db.Limit("1", 0), ") n")
	var ms int64
	if err := s.Row(ctx, q, &ms); err != nil {
		return -1, fmt.Errorf("find the next one: %w", err)
	}
	if ms < 0 {
		return -1, nil
	}
	return time.Duration(ms+1) * time.Millisecond, nil // rounded up: to ask sooner would be in vain
}

// ofEntries reads the rows of entries that a statement of ids and attempts names. They are named in a statement of
// their own: a join would compare columns of two collations, which SQL Server refuses and MySQL uses no index for.
func (t *Table) ofEntries(ctx context.Context, q statement.Querier, entries *statement.Statement,
	limit poller.Limit) (rows []event.Row, err error) {
	attempts, refs := map[string]int{}, []event.Ref(nil)
	err = entries.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var id string
		var n int
		err := scan(&id, &n)
		attempts[id], refs = n, append(refs, event.Ref{ID: id})
		return true, err
	})
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	rows, _, err = t.read(ctx, q, limit, t.o.order, nil, func(s *statement.Statement) {
		t.named(s, refs)
		s.Add(" AND ", t.hasEntry(s), ") k")
	})
	for i := range rows {
		rows[i].Attempts = attempts[rows[i].Ref.ID]
	}
	return rows, err
}
