package rows

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/mapping"
)

// chosen adds FROM, and the condition that o is one of the events that f chooses.
func (t *Table) chosen(s *statement.Statement, f *event.Filter) {
	s.Add(" FROM ", t.outbox.String(), " o")
	indexed := t.side == "" && len(event.Stored(f.States)) == 1 || t.side != "" && t.onlyPending(f.States)
	if indexed && len(f.IDs)+len(f.Keys) == 0 {
		s.Add(t.hints["order"])
	}
	if t.side != "" {
		s.Add(" LEFT JOIN ", t.side, " s ON ", t.isOf(s, "s"))
	}
	t.inStates(s.Add(" WHERE "), f.States)
	if len(f.IDs)+len(f.Keys) > 0 {
		s.Add(" AND (1 = 0")
		t.equals(s, f.IDs, f.Keys)
		s.Add(")")
	}
	for _, c := range []struct{ expr, value string }{
		{t.o.typ, f.AggregateType}, {t.o.aggregate, f.Aggregate}, {t.o.eventType, f.EventType},
	} {
		if c.value != "" {
			s.Add(" AND ", c.expr, " = ", s.Arg(c.value))
		}
	}
	if f.OlderThan > 0 {
		s.Add(" AND ", t.o.createdAt, " <= ", t.ago(s, t.CreatedAt, f.OlderThan))
	}
	if f.YoungerThan > 0 {
		s.Add(" AND ", t.o.createdAt, " > ", t.ago(s, t.CreatedAt, f.YoungerThan))
	}
}

// state is the state of o, whose entry is s.
func (t *Table) state(s *statement.Statement) {
	if t.side == "" {
		s.Add("CASE WHEN o.state = 'FAILED' AND ", t.delayed("o"), " THEN 'DELAYED' ELSE o.state END")
		return
	}
	s.Add("CASE WHEN NOT (", t.o.pending, ") THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND ", t.delayed("s"),
		" THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN ")
	t.blocks(s, false)
	s.Add(" THEN 'WAITING' ELSE 'PENDING' END")
}

// inStates adds the condition that o, whose entry is s, is in one of the states.
func (t *Table) inStates(s *statement.Statement, states []event.State) {
	switch {
	case t.side == "" && len(states) == 0:
		s.Add("1 = 1")
		return
	case t.side == "":
		t.stored(s, "o", states)
		return
	case len(states) == 0:
		s.Add("(", t.o.pending, " OR ", t.o.done, ")")
		return
	}
	if t.onlyPending(states) {
		s.Add(t.o.pending, " AND ") // for the index
	}
	s.Add("(1 = 0")
	for _, state := range states {
		switch state {
		case event.Published:
			s.Add(" OR ", t.o.done)
		case event.Pending:
			t.blocks(s.Add(" OR ", t.o.pending, " AND s.state IS NULL AND NOT "), false)
		case event.Waiting:
			t.blocks(s.Add(" OR ", t.o.pending, " AND s.state IS NULL AND "), false)
		default:
			t.stored(s.Add(" OR ", t.o.pending, " AND "), "s", []event.State{state})
		}
	}
	s.Add(")")
}

// stored adds the condition that an entry is in one of the states, those of WAITING and PENDING events of another
// framework's table apart.
func (t *Table) stored(s *statement.Statement, alias string, states []event.State) {
	s.Add(alias, ".state IN (", event.Quoted(event.Stored(states)), ")")
	switch failed, delayed := slices.Contains(states, event.Failed), slices.Contains(states, event.Delayed); {
	case failed && !delayed:
		s.Add(" AND NOT (", alias, ".state = 'FAILED' AND ", t.delayed(alias), ")")
	case delayed && !failed:
		s.Add(" AND (", alias, ".state <> 'FAILED' OR ", t.delayed(alias), ")")
	}
}

// onlyPending says that the states are those of events which another framework's table shows as to be published.
func (t *Table) onlyPending(states []event.State) bool {
	return len(states) > 0 && !slices.Contains(states, event.Published)
}

// equals adds OR for the ids and the idempotency keys that a row can have: where it cannot, engines fail.
func (t *Table) equals(s *statement.Statement, ids, keys []string) {
	if t.side == "" {
		var numbers []int64
		for _, text := range ids {
			if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
				numbers = append(numbers, n)
			}
		}
		if len(numbers) > 0 {
			s.Add(" OR ", t.db.AnyInt(s, t.o.key, numbers))
		}
		if len(keys) > 0 {
			s.Add(" OR ", t.db.AnyText(s, t.o.idempotency, keys))
		}
		return
	}
	key := t.Key
	if key == nil {
		key = t.ID // the id is the idempotency key then
	}
	for _, e := range []struct {
		column *column.Column
		values []string
	}{{t.ID, ids}, {key, keys}} {
		for _, v := range e.values {
			if couldBe(e.column, v) {
				s.Add(" OR ", t.column(e.column, "o"), " = ", t.values.Typed(e.column, s.Arg(v)))
			}
		}
	}
}

var (
	uuidText = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	hexText  = regexp.MustCompile(`^(([0-9a-fA-F]{2})+|(text|integer|real):.*)$`) // or what SQLite's ID makes of others
)

// couldBe reports whether a text can be a value of the column.
func couldBe(c *column.Column, value string) bool {
	switch c.Kind {
	case column.Integer:
		return mapping.IsInteger(value)
	case column.UUID:
		return uuidText.MatchString(value)
	case column.Bytes:
		return hexText.MatchString(value)
	default:
		return true
	}
}

// pageStatement reads the events that f chooses after where a page ended, or those of refs.
func (t *Table) pageStatement(f *event.Filter, refs []event.Ref, after string, limit int) *statement.Statement {
	w := &t.o
	s := t.db.Statement("SELECT ", w.id, ", ", w.typ, ", ", w.aggregate, ", ", w.eventType, ", ", w.idempotency, ", ")
	t.state(s)
	if t.side == "" {
		s.Add(", ", w.attempts, ", ", w.created, ", o.next_attempt_at, o.last_error, ", w.place)
	} else {
		s.Add(", COALESCE(s.attempts, ", w.attempts, "), ", w.created, ", s.next_attempt_at, s.last_error, ", w.place)
	}
	t.chosen(s, f)
	switch {
	case refs != nil:
		t.oneOf(s.Add(" AND "), w, refs)
	case after != "":
		t.beyond(s.Add(" AND "), after)
	}
	return s.Add(" ORDER BY ", w.order, t.db.Limit(s.Arg(limit), 0))
}

// inSide says that only events with an entry in the side table are asked for: then that leads, and what was published
// is not read.
func (t *Table) inSide(states []event.State) bool {
	return t.side != "" && len(states) > 0 && !slices.ContainsFunc(states,
		func(s event.State) bool {
			return s != event.Failed && s != event.Delayed && s != event.Dead && s != event.Discarded
		})
}

// Page returns up to limit of the chosen events after where a page ended, in their order. last is where the next page
// begins, and empty if this page is not full.
func (t *Table) Page(ctx context.Context, f *event.Filter, after string, limit int) (entries []event.Entry,
	last string, err error) {
	if err := t.answerable(f); err != nil {
		return nil, "", err
	}
	err = t.db.Do(ctx, "list events", func(ctx context.Context, q statement.Querier) error {
		var refs []event.Ref
		var next string
		if t.inSide(f.States) {
			limit = min(limit, t.most(limit))
			if refs, next, err = t.sidePage(ctx, q, f.States, after, limit); err != nil || len(refs) == 0 {
				return err
			}
		}
		entries, last, err = t.listed(ctx, q, t.pageStatement(f, refs, after, limit))
		if refs != nil {
			last = next
		} else if len(entries) < limit {
			last = ""
		}
		return err
	})
	return entries, last, err
}

// answerable says of a filter what the table cannot tell.
func (t *Table) answerable(f *event.Filter) error {
	if t.side == "" || f.OlderThan+f.YoungerThan == 0 {
		return nil
	}
	return t.Aged()
}

func (t *Table) listed(ctx context.Context, q statement.Querier, s *statement.Statement) (entries []event.Entry,
	last string, err error) {
	err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var e event.Entry
		var state, place string
		var eventType, key, lastError sql.NullString
		var created, next any
		if err := scan(&e.ID, &e.AggregateType, &e.AggregateID, &eventType, &key, &state, &e.Attempts, &created, &next,
			&lastError, &place); err != nil {
			return false, err
		}
		e.EventType, e.IdempotencyKey, e.State, e.LastError = eventType.String, key.String, event.State(state),
			lastError.String
		if e.IdempotencyKey == "" {
			e.IdempotencyKey = e.ID
		}
		e.CreatedAt, e.NextAttempt = event.AsTime(created), event.AsTime(next)
		entries, last = append(entries, e), place+pageBreak+e.ID
		return true, nil
	})
	return entries, last, err
}

// sidePage reads the next entries in some states, and where the page ends; "" where there are no more.
func (t *Table) sidePage(ctx context.Context, q statement.Querier, states []event.State, after string,
	limit int) (refs []event.Ref, last string, err error) {
	err = t.sideKeys(states, after, limit).Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var r event.Ref
		var position string
		err := scan(&r.ID, &position)
		refs, last = append(refs, r), position+pageBreak+r.ID
		return true, err
	})
	if len(refs) < limit {
		last = ""
	}
	return refs, last, err
}

func (t *Table) sideKeys(states []event.State, after string, limit int) *statement.Statement {
	s := t.scope(t.db.Statement("SELECT o.event, o.position FROM ", t.side, " o WHERE "), "o")
	t.stored(s, "o", states)
	if position, id, _ := strings.Cut(after, pageBreak); position != "" {
		s.Add(" AND (o.position > ", s.Arg(position), " OR (o.position = ", s.Arg(position), " AND o.event > ",
			s.Arg(id), "))")
	}
	return s.Add(" ORDER BY ", t.byPosition, t.db.Limit(s.Arg(limit), 0))
}

// CountOf counts the chosen events.
func (t *Table) CountOf(ctx context.Context, f *event.Filter) (n int64, err error) {
	if err := t.answerable(f); err != nil {
		return 0, err
	}
	err = t.db.Do(ctx, "count events", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("SELECT COUNT(*)")
		t.chosen(s, f)
		return s.Row(ctx, q, &n)
	})
	return n, err
}

// RequeueThese makes dead and failed events due at once, with no attempts counted. n is how many of them it changed.
func (t *Table) RequeueThese(ctx context.Context, entries []event.Entry) (n int64, err error) {
	err = t.db.Do(ctx, "requeue events", func(ctx context.Context, q statement.Querier) error {
		n, err = t.requeue(t.refsOf(entries)).Exec(ctx, q)
		return err
	})
	return n, err
}

func (t *Table) requeue(refs []event.Ref) *statement.Statement {
	return t.change(t.db.Statement(), func() string {
		return "state = 'FAILED', " + t.attemptsColumn + " = 0, next_attempt_at = " + t.db.Now()
	}, refs, "'DEAD LETTER', 'FAILED'")
}

// DiscardThese lets those that waited only for what is discarded go on in the same transaction, and more than that
// takes in further ones.
func (t *Table) DiscardThese(ctx context.Context, entries []event.Entry, reason string) (n int64, err error) {
	var rest []event.Aggregate
	err = t.db.Tx(ctx, "discard events", func(ctx context.Context, q statement.Querier) error {
		if n, err = t.discard(t.refsOf(entries), reason).Exec(ctx, q); err != nil {
			return err
		}
		if t.side == "" {
			if _, rest, err = t.LetGo(ctx, q, aggregatesOf(entries)); err != nil {
				return fmt.Errorf("let what waited for them go on: %w", err)
			}
			return nil
		}
		waiting := t.refsOf(slices.DeleteFunc(slices.Clone(entries),
			func(e event.Entry) bool { return e.State != event.Waiting }))
		if len(waiting) == 0 {
			return nil
		}
		if _, err := t.forgetOthers(waiting).Exec(ctx, q); err != nil {
			return err
		}
		more, err := t.discardWaiting(waiting, reason).Exec(ctx, q)
		n += more
		return err
	})
	if err == nil {
		_, _ = t.letRestGo(ctx, rest, t.cfg.Timeout)
	}
	return n, err
}

// discard stores the time in published_at, where there is one, by which the clean-up goes.
func (t *Table) discard(refs []event.Ref, reason string) *statement.Statement {
	s := t.db.Statement()
	return t.change(s, func() string {
		set := "state = 'DISCARDED', "
		if t.side == "" {
			set += "published_at = " + t.db.Now() + ", "
		}
		return set + "next_attempt_at = NULL, last_error = " + s.Arg(reason)
	}, refs, "'DEAD LETTER', 'FAILED', 'WAITING'")
}

// refsOf names the rows of entries that a page has shown.
func (t *Table) refsOf(entries []event.Entry) []event.Ref {
	refs := make([]event.Ref, len(entries))
	for i := range entries {
		if refs[i].ID = entries[i].ID; t.side == "" {
			refs[i].Seq, _ = strconv.ParseInt(entries[i].ID, 10, 64)
		}
	}
	return refs
}

// aggregatesOf are the aggregates of entries, each once.
func aggregatesOf(entries []event.Entry) []event.Aggregate {
	seen := make(map[event.Aggregate]bool)
	var list []event.Aggregate
	for i := range entries {
		a := event.Aggregate{Type: entries[i].AggregateType, ID: entries[i].AggregateID}
		if !seen[a] {
			seen[a] = true
			list = append(list, a)
		}
	}
	return list
}
