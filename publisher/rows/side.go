package rows

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// SideStates are what an event with an entry can be.
const SideStates = "'FAILED', 'DEAD LETTER', 'DISCARDED'"

// hasEntry is the condition that o has an entry.
func (t *Table) hasEntry(s *statement.Statement) string {
	return "EXISTS (SELECT 1 FROM " + t.side + " s WHERE " + t.isOf(s, "s") + ")"
}

// isOf is the condition that an entry is that of o.
func (t *Table) isOf(s *statement.Statement, entry string) string {
	return entry + ".outbox = " + s.Arg(t.Claims.Place.Outbox) + " AND " + entry + ".event = " + t.o.id + " AND " +
		t.holds(entry)
}

// holds is the condition that an entry with the id of o is about o. An id is given out again where rows are deleted
// (SQLite's INTEGER PRIMARY KEY): what was said of the earlier row must not be said of the new one. A time is not
// compared: MariaDB's first TIMESTAMP changes with each UPDATE. CASE keeps engines from searching by these columns, and
// that the position is read keeps MariaDB from the index that holds the others, where it would pass over all entries.
func (t *Table) holds(entry string) string {
	same := entry + ".aggregate_type = " + t.o.entryType + " AND " + entry + ".aggregate_id = " + t.o.entryAggregate
	if t.Seq != nil {
		same += " AND " + entry + ".position = " + t.o.position
	} else {
		same += " AND " + entry + ".position <> ''"
	}
	return "CASE WHEN " + same + " THEN 1 ELSE 0 END = 1"
}

// applyBeside writes what was settled into the side table. What waits is not marked. The entries of rows that did not
// take their marks stay.
func (t *Table) applyBeside(ctx context.Context, q statement.Querier, m *event.Marks, unmarked []event.Ref) error {
	// After the marks: as soon as these entries are gone, what waited for them is shown, and only that.
	done := slices.DeleteFunc(refsIn(slices.Concat(m.Retried, m.Woken, m.Expired)),
		func(r event.Ref) bool { return slices.Contains(unmarked, r) })
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
	if _, err := t.forgetOthers([]event.Ref{f.Ref}).Exec(ctx, q); err != nil {
		return err
	}
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
	return s.Add(t.db.Quote(t.ID.Name), " = ", t.values.Typed(t.ID, s.Arg(id)))
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

// forgetOthers removes the entries that have the ids of refs and are about other rows: there is one entry for an id.
func (t *Table) forgetOthers(refs []event.Ref) *statement.Statement {
	s := t.forget(refs).Add(" AND NOT EXISTS (SELECT 1 FROM ", t.outbox.String(), " o WHERE ")
	t.oneOf(s, &t.o, refs).Add(" AND ", t.o.pending, " AND ", t.o.id, " = ", t.side, ".event AND ", t.holds(t.side), ")")
	return s
}

// sideRow is what an entry says of its row, and the row of itself. They are compared here where there are many: MariaDB
// and SQLite would hold each entry against each row.
type sideRow struct{ event, aggregateType, aggregateID, position string }

// sideRows reads them. position is "" where it is not compared.
func (t *Table) sideRows(ctx context.Context, q statement.Querier, s *statement.Statement) (list []sideRow, err error) {
	err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var r sideRow
		err := scan(&r.event, &r.aggregateType, &r.aggregateID, &r.position)
		if t.Seq == nil {
			r.position = ""
		}
		list = append(list, r)
		return true, err
	})
	return list, err
}

// mendBeside removes entries of events that somebody published or deleted by hand: what waits for them goes on. Waiting
// itself is not stored, so that nothing else can be left over. Discarded ones are looked at, too: while their entry is
// there, the row may be replaced by another with the same id.
func (t *Table) mendBeside(ctx context.Context) (mended int, err error) {
	for after, more := "", true; more; {
		err := t.db.Tx(ctx, "mend", func(ctx context.Context, q statement.Querier) error {
			s := t.scope(t.db.Statement("SELECT o.event, o.aggregate_type, o.aggregate_id, o.position FROM ", t.side,
				" o WHERE "), "o")
			s.Add("o.event > ", s.Arg(after), " ORDER BY o.event", t.db.Limit(s.Arg(t.most(0)), 0))
			entries, err := t.sideRows(ctx, q, s)
			if more = len(entries) == t.most(0); err != nil || len(entries) == 0 {
				return err
			}
			refs := make([]event.Ref, len(entries))
			for i := range entries {
				refs[i].ID = entries[i].event
			}
			after = entries[len(entries)-1].event
			s = t.db.Statement("SELECT ", t.o.id, ", ", t.o.entryType, ", ", t.o.entryAggregate, ", ", t.o.position, " FROM ",
				t.outbox.String(), " o WHERE ")
			pending, err := t.sideRows(ctx, q, t.oneOf(s, &t.o, refs).Add(" AND ", t.o.pending))
			if err != nil {
				return err
			}
			var gone []event.Ref
			for i := range entries {
				if !slices.Contains(pending, entries[i]) {
					gone = append(gone, refs[i])
				}
			}
			if len(gone) == 0 {
				return nil
			}
			n, err := t.forgetOthers(gone).Exec(ctx, q) // beside others, who may have said something of a new row since
			mended += int(n)
			return err
		})
		if err != nil {
			return mended, err
		}
	}
	return mended, nil
}
