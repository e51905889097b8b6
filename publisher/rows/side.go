package rows

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// SideStates are what an event with an entry can be.
const SideStates = "'FAILED', 'DEAD LETTER', 'DISCARDED'"

// hasEntry is the condition that o has an entry.
func (t *Table) hasEntry(s *statement.Statement) string {
	return "EXISTS (SELECT 1 FROM " + t.side + " s" + t.values.Hold() + " WHERE s.outbox = " +
		s.Arg(t.Claims.Place.Outbox) + " AND s.event = " + t.o.id + ")"
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
		s.Add(") k")
	})
	for i := range rows {
		rows[i].Attempts = attempts[rows[i].Ref.ID]
	}
	return rows, err
}

// applyBeside writes what was settled into the side table. What waits is not marked.
func (t *Table) applyBeside(ctx context.Context, q statement.Querier, m *event.Marks) error {
	// After the marks: as soon as these entries are gone, what waited for them is shown, and only that.
	done := refsIn(slices.Concat(m.Retried, m.Woken, m.Expired))
	for part := range slices.Chunk(done, t.most(len(done))) {
		if _, err := t.forget(part).Exec(ctx, q); err != nil {
			return fmt.Errorf("remove what was published from the failed ones: %w", err)
		}
	}
	for _, f := range slices.Concat(m.Failed, m.Held) {
		f.Reason = plaintext.Storable(f.Reason)
		if err := t.failBeside(ctx, q, &f); err != nil {
			return fmt.Errorf("record a failure: %w", err)
		}
	}
	return nil
}

// failBeside records one failed attempt, unless an operator acted on the event in the meantime.
func (t *Table) failBeside(ctx context.Context, q statement.Querier, f *event.Failure) error {
	n, err := t.failAgain(f).Exec(ctx, q)
	if err == nil && n == 0 {
		n, err = t.failFirst(f).Exec(ctx, q)
	}
	if err == nil && n > 0 && t.Attempts != nil && f.Attempts > 0 {
		_, err = t.countAttempt(f.Ref.ID).Exec(ctx, q)
	}
	return err
}

// countAttempt is one failed attempt more in the user's table.
func (t *Table) countAttempt(id string) *statement.Statement {
	name := t.db.Quote(t.Attempts.Name)
	s := t.db.Statement("UPDATE ", t.outbox.String(), " SET ", name, " = COALESCE(", name, ", 0) + 1 WHERE ")
	return s.Add(t.db.Quote(t.ID.Name), " = ", t.values.Typed(&t.ID, s.Arg(id)))
}

// failAgain changes the entry of an event that failed before, unless an operator did in the meantime. A misplaced
// event's attempts stop short of the last one: they need not grow.
func (t *Table) failAgain(f *event.Failure) *statement.Statement {
	s := t.db.Statement("UPDATE ", t.side, " SET ")
	s.Add("state = ", s.Arg(string(f.State())), ", attempts = ", s.Arg(f.Attempts), ", next_attempt_at = ", t.next(s, f))
	s.Add(", last_error = ", s.Arg(f.Reason), " WHERE outbox = ", s.Arg(t.Claims.Place.Outbox), " AND event = ",
		s.Arg(f.Ref.ID), " AND state = 'FAILED' AND attempts IN (", s.Arg(f.Attempts-1), ", ", s.Arg(f.Attempts), ")")
	return s
}

// failFirst makes the entry of an event that did not fail before, if it is still to be published.
func (t *Table) failFirst(f *event.Failure) *statement.Statement {
	s := t.insertEntry()
	s.Add(s.Arg(string(f.State())), ", ", strconv.Itoa(f.Attempts), ", ", t.next(s, f), ", ", s.Arg(f.Reason), " FROM ")
	return t.withoutEntry(s, []event.Ref{f.Ref})
}

// discardWaiting does nothing to events that do not wait any more. It does not ask again whether they wait: what is
// discarded with them may have been what they waited for.
func (t *Table) discardWaiting(refs []event.Ref, reason string) *statement.Statement {
	s := t.insertEntry()
	s.Add("'DISCARDED', 0, NULL, ", s.Arg(reason), " FROM ")
	return t.withoutEntry(s, refs)
}

// insertEntry begins the making of entries, up to their state.
func (t *Table) insertEntry() *statement.Statement {
	s := t.db.Statement("INSERT INTO ", t.side,
		" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ")
	return s.Add(s.Arg(t.Claims.Place.Outbox), ", ", t.o.id, ", ", t.o.entryType, ", ", t.o.entryAggregate, ", ",
		t.o.position, ", ")
}

// withoutEntry adds those of refs that are to be published and have no entry.
func (t *Table) withoutEntry(s *statement.Statement, refs []event.Ref) *statement.Statement {
	s.Add(t.outbox.String(), " o WHERE ")
	return t.oneOf(s, &t.o, refs).Add(" AND ", t.o.pending, " AND NOT ", t.hasEntry(s))
}

// next is when a failed event is tried again.
func (t *Table) next(s *statement.Statement, f *event.Failure) string {
	if f.Dead {
		return "NULL"
	}
	return t.db.Later(s.Arg(f.Delay.Milliseconds()))
}

// forget removes the entries of events that are not to be published any more: what waits for them may go on.
func (t *Table) forget(refs []event.Ref) *statement.Statement {
	s := t.db.Statement("DELETE FROM ", t.side, " WHERE outbox = ")
	return s.Add(s.Arg(t.Claims.Place.Outbox), " AND ", t.db.AnyText(s, "event", ids(refs)))
}

// mendBeside removes entries of events that somebody published or deleted by hand: what waits for them goes on. Waiting
// itself is not stored, so that nothing else can be left over.
func (t *Table) mendBeside(ctx context.Context) (mended int, err error) {
	for after, more := "", true; more; {
		err := t.db.Tx(ctx, "mend", func(ctx context.Context, q statement.Querier) error {
			s := t.scope(t.db.Statement("SELECT o.event FROM ", t.side, " o WHERE "), "o")
			entries, err := s.Add("o.event > ", s.Arg(after), " ORDER BY o.event", t.db.Limit(s.Arg(t.most(0)), 0)).Texts(ctx, q)
			if more = len(entries) == t.most(0); err != nil || len(entries) == 0 {
				return err
			}
			refs := make([]event.Ref, len(entries))
			for i, id := range entries {
				refs[i].ID = id
			}
			s = t.db.Statement("SELECT ", t.o.id, " FROM ", t.outbox.String(), " o WHERE ")
			pending, err := t.oneOf(s, &t.o, refs).Add(" AND ", t.o.pending).Texts(ctx, q)
			if err != nil {
				return err
			}
			after = entries[len(entries)-1]
			gone := slices.DeleteFunc(refs, func(r event.Ref) bool { return slices.Contains(pending, r.ID) })
			if len(gone) == 0 {
				return nil
			}
			n, err := t.forget(gone).Exec(ctx, q)
			mended += int(n)
			return err
		})
		if err != nil {
			return mended, err
		}
	}
	return mended, nil
}
