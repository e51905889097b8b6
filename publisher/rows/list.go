package rows

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// chosen adds the condition that o is one of the events that f chooses.
func (e *Table) chosen(s *statement.Statement, f *event.Filter) {
	s.Add("1 = 1")
	if len(f.States) > 0 {
		s.Add(" AND o.state IN (", event.Quoted(f.States), ")")
	}
	if len(f.IDs)+len(f.Keys) > 0 {
		s.Add(" AND (1 = 0")
		if list := integers(f.IDs); len(list) > 0 {
			s.Add(" OR ", e.db.AnyInt(s, e.seq("o"), list))
		}
		if len(f.Keys) > 0 {
			s.Add(" OR ", e.db.AnyText(s, "o.idempotency_key", f.Keys))
		}
		s.Add(")")
	}
	for _, c := range []struct{ column, value string }{
		{"aggregate_type", f.AggregateType}, {"aggregate_id", f.Aggregate}, {"event_type", f.EventType},
	} {
		if c.value != "" {
			s.Add(" AND o.", c.column, " = ", s.Arg(c.value))
		}
	}
	if f.OlderThan > 0 {
		s.Add(" AND o.created_at <= ", e.syntax.Ago(s, f.OlderThan))
	}
	if f.YoungerThan > 0 {
		s.Add(" AND o.created_at > ", e.syntax.Ago(s, f.YoungerThan))
	}
}

// integers are those of texts that are numbers: no row has another id.
func integers(list []string) []int64 {
	numbers := make([]int64, 0, len(list))
	for _, s := range list {
		if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// PageStatement is Page's statement.
func (e *Table) PageStatement(f *event.Filter, after int64, limit int) *statement.Statement {
	s := e.db.Statement()
	s.Add("SELECT ", e.seq("o"), ", o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.state, o.retry_count, o.created_at, ",
		"o.next_attempt_at, o.last_error FROM ", e.outbox.String(), " o WHERE ", e.seq("o"), " > ", s.Arg(after), " AND ")
	e.chosen(s, f)
	return s.Add(" ORDER BY ", e.seq("o"), e.db.Limit(s.Arg(limit), 0))
}

// Page returns up to limit of the chosen events after a position, the lowest numbers first. last is where the next page
// begins, and empty if this page is not full.
func (e *Table) Page(ctx context.Context, f *event.Filter, after string, limit int) (entries []event.Entry,
	last string, err error) {
	from := int64(-1 << 63)
	if after != "" {
		if from, err = strconv.ParseInt(after, 10, 64); err != nil {
			return nil, "", fmt.Errorf("the position %q is no number: %w", after, err)
		}
	}
	err = e.db.Do(ctx, "list events", func(ctx context.Context, q statement.Querier) error {
		entries = nil
		return e.PageStatement(f, from, limit).Each(ctx, q, func(scan func(...any) error) (bool, error) {
			var entry event.Entry
			var state string
			var created, next any
			var lastError sql.NullString
			if err := scan(&entry.ID, &entry.AggregateType, &entry.AggregateID, &entry.EventType,
				&entry.IdempotencyKey, &state, &entry.Attempts,
				&created, &next, &lastError); err != nil {
				return false, err
			}
			entry.State, entry.LastError = event.State(state), lastError.String
			entry.CreatedAt, entry.NextAttempt = event.AsTime(created), event.AsTime(next)
			entries = append(entries, entry)
			return true, nil
		})
	})
	if len(entries) == limit {
		last = entries[limit-1].ID
	}
	return entries, last, err
}

// CountOf counts the chosen events.
func (e *Table) CountOf(ctx context.Context, f *event.Filter) (n int64, err error) {
	err = e.db.Do(ctx, "count events", func(ctx context.Context, q statement.Querier) error {
		s := e.db.Statement()
		s.Add("SELECT COUNT(*) FROM ", e.outbox.String(), " o WHERE ")
		e.chosen(s, f)
		return s.Row(ctx, q, &n)
	})
	return n, err
}

// RequeueThese makes dead and failed events due at once, with no attempts counted. n is how many of them it changed.
func (e *Table) RequeueThese(ctx context.Context, entries []event.Entry) (n int64, err error) {
	err = e.db.Do(ctx, "requeue events", func(ctx context.Context, q statement.Querier) error {
		n, err = e.RequeueStatement(entrySeqs(entries)).Exec(ctx, q)
		return err
	})
	return n, err
}

// RequeueStatement is RequeueThese's statement.
func (e *Table) RequeueStatement(seqs []int64) *statement.Statement {
	s := e.db.Statement()
	e.syntax.BySeq(s, e.outbox, func() string {
		return "state = 'FAILED', retry_count = 0, next_attempt_at = " + e.db.Now()
	}, seqs)
	return s.Add(" AND state IN ('DEAD LETTER', 'FAILED')")
}

// DiscardThese lets those that waited only for what is discarded go on in the same transaction, and more than
// that takes in further ones.
func (e *Table) DiscardThese(ctx context.Context, entries []event.Entry, reason string) (n int64, err error) {
	var rest []event.Aggregate
	err = e.db.Tx(ctx, "discard events", func(ctx context.Context, q statement.Querier) error {
		if n, err = e.DiscardStatement(entrySeqs(entries), reason).Exec(ctx, q); err != nil {
			return err
		}
		if _, rest, err = e.LetGo(ctx, q, aggregatesOf(entries)); err != nil {
			return fmt.Errorf("let what waited for them go on: %w", err)
		}
		return nil
	})
	if err == nil {
		e.letRestGo(ctx, rest)
	}
	return n, err
}

// DiscardStatement stores the time in published_at, by which the clean-up goes.
func (e *Table) DiscardStatement(seqs []int64, reason string) *statement.Statement {
	s := e.db.Statement()
	e.syntax.BySeq(s, e.outbox, func() string {
		return "state = 'DISCARDED', published_at = " + e.db.Now() + ", next_attempt_at = NULL, last_error = " + s.Arg(reason)
	}, seqs)
	return s.Add(" AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')")
}

func entrySeqs(entries []event.Entry) []int64 {
	list := make([]int64, 0, len(entries))
	for i := range entries {
		if n, err := strconv.ParseInt(entries[i].ID, 10, 64); err == nil { // it is what page scanned
			list = append(list, n)
		}
	}
	return list
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
