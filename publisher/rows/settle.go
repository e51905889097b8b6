package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Settle is idempotent. Marks of publishing alone are one statement, unless there are more rows than it may change, or
// one refuses its mark. A crash between two of them is a crash before the second: its events are published again.
func (t *Table) Settle(ctx context.Context, owner string, held int, m event.Marks) error { //nolint:gocritic // the interface's
	var left event.UnmarkedError
	if m.Plain() {
		return left.OrNil(t.publish(ctx, owner, held, m.Published, &left))
	}
	var rest []event.Aggregate
	together := func() error {
		var unmarked []event.Ref
		err := t.db.TxLow(ctx, "mark events", func(ctx context.Context, q statement.Querier, _ string) (err error) {
			if err := t.Claims.Hold(ctx, q, owner, held); err != nil {
				return err
			}
			rest, unmarked, err = t.apply(ctx, q, &m)
			return err
		})
		if err == nil { // else nothing of it is durable
			left.Refs = append(left.Refs, unmarked...)
		}
		return err
	}
	err := together()
	if len(m.Published) > 0 && (t.refused(err) || t.locked(err)) { // which undid the marks of all
		if err := t.publish(ctx, owner, held, m.Published, &left); err != nil {
			return err
		}
		m.Published = nil
		err = together()
	}
	if err != nil {
		return err
	}
	// For as long as one statement may take: the session settles nothing else meanwhile.
	_, _ = t.letRestGo(ctx, rest, t.cfg.Timeout)
	return left.OrNil(nil)
}

// publish marks rows as published, in halves where one refuses its mark. It adds those that are left to left.
func (t *Table) publish(ctx context.Context, owner string, held int, refs []event.Ref,
	left *event.UnmarkedError) error {
	for part := range slices.Chunk(refs, t.most(len(refs))) {
		unmarked, err := t.publishTogether(ctx, owner, held, part)
		var locked *event.UnmarkedError
		switch {
		case err == nil:
			left.Refs = append(left.Refs, unmarked...)
		case errors.As(err, &locked):
			left.Refs, left.Err, left.Locked = append(left.Refs, locked.Refs...), locked.Err, true
		case !t.refused(err):
			return err
		case len(part) == 1:
			left.Refs, left.Err = append(left.Refs, part...), err
		default:
			middle := len(part) / 2
			for _, half := range [][]event.Ref{part[:middle], part[middle:]} {
				if err := t.publish(ctx, owner, held, half, left); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// publishTogether marks rows as published in one statement, and returns those that did not take their marks. Where
// somebody's transaction locks some of them, a second transaction marks the others, which waits for none.
func (t *Table) publishTogether(ctx context.Context, owner string, held int,
	refs []event.Ref) (unmarked []event.Ref, err error) {
	err = t.db.Do(ctx, "mark events as published", func(ctx context.Context, q statement.Querier) error {
		unmarked, err = t.publishThese(ctx, q, owner, held, refs, refs)
		return err
	})
	if !t.locked(err) {
		return unmarked, err
	}
	lock := err
	err = t.db.Tx(ctx, "mark events as published", func(ctx context.Context, q statement.Querier) error {
		free, err := t.refs(ctx, q, t.free(refs))
		if err == nil {
			unmarked, err = t.publishThese(ctx, q, owner, held, free, refs)
		}
		return err
	})
	if err == nil && len(unmarked) > 0 {
		return nil, &event.UnmarkedError{Refs: unmarked, Err: lock, Locked: true}
	}
	return unmarked, err
}

// publishThese marks some of refs, and returns those of refs that are as they were.
func (t *Table) publishThese(ctx context.Context, q statement.Querier, owner string, held int,
	these, refs []event.Ref) ([]event.Ref, error) {
	var n int64
	if len(these) > 0 {
		s := t.mark(these).Add(t.db.Brief())
		t.Claims.Guard(s.Add(" AND "), owner, held)
		var err error
		if n, err = s.Exec(ctx, q); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		if err := t.Claims.Check(ctx, q, owner, held); err != nil {
			return nil, err
		}
	}
	return t.unchanged(ctx, q, n, refs, t.markable)
}

// free locks those of refs that nobody else has locked, and selects their ids.
func (t *Table) free(refs []event.Ref) *statement.Statement {
	hint, suffix := t.db.Lock("o", true)
	s := t.db.Statement("SELECT ", t.o.id, " FROM ", t.outbox.String(), " o", hint, " WHERE ")
	return t.oneOf(s, &t.o, refs).Add(" AND ", t.markable, suffix)
}

// refs are those of the rows whose ids a statement selects.
func (t *Table) refs(ctx context.Context, q statement.Querier, s *statement.Statement) (refs []event.Ref, err error) {
	err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var r event.Ref
		err := scan(t.idIn(&r))
		refs = append(refs, r)
		return true, err
	})
	return refs, err
}

// idIn is what an id is read into.
func (t *Table) idIn(r *event.Ref) any {
	if t.side == "" {
		return &r.Seq
	}
	return &r.ID
}

// refused reports whether an error is about a row that was to be changed: others may be changed without it.
func (t *Table) refused(err error) bool {
	return t.failed(err, engine.FaultConstraint) || t.failed(err, engine.FaultData)
}

// locked reports whether an error says that somebody else's transaction locks a row that was to be changed.
func (t *Table) locked(err error) bool { return t.failed(err, engine.FaultLocked) }

func (t *Table) failed(err error, as engine.Fault) bool {
	return err != nil && t.cfg.Classify(err) == as
}

// apply writes marks that are more than published rows. It returns the aggregates of which more events wait for nothing
// than one transaction lets go, and the rows that did not take their marks.
func (t *Table) apply(ctx context.Context, q statement.Querier, m *event.Marks) (rest []event.Aggregate,
	unmarked []event.Ref, err error) {
	published := m.Accepted()
	if t.side != "" { // which has no state for it
		published = append(published, refsIn(m.Expired)...)
	}
	if unmarked, err = t.inParts(ctx, q, published, t.markable, t.mark); err != nil {
		return nil, nil, fmt.Errorf("published: %w", err)
	}
	if t.side != "" {
		return nil, unmarked, t.applyBeside(ctx, q, m, unmarked)
	}
	for _, step := range []struct {
		what string
		run  func() (unmarked []event.Ref, err error)
	}{
		{"failed", func() ([]event.Ref, error) { return t.fail(ctx, q, slices.Concat(m.Failed, m.Held)) }},
		{"delayed", func() ([]event.Ref, error) {
			return t.become(ctx, q, m.Woken, "state = 'PENDING', next_attempt_at = NULL, last_error = NULL", "'FAILED'")
		}},
		{"expired", func() ([]event.Ref, error) {
			return t.become(ctx, q, m.Expired, "state = 'DISCARDED', published_at = "+t.db.Now()+
				", next_attempt_at = NULL, last_error = 'expired'", "'PENDING', 'FAILED'")
		}},
		{"waiting", func() ([]event.Ref, error) { return nil, t.wait(ctx, q, m.Waiting) }},
		{"pending again", func() (_ []event.Ref, err error) {
			_, rest, err = t.LetGo(ctx, q, m.Unblocked(t.cfg.Block))
			return nil, err
		}},
	} {
		left, err := step.run()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", step.what, err)
		}
		unmarked = append(unmarked, left...)
	}
	return rest, unmarked, nil
}

// become changes events of an own table that are in one of the states. It returns those that did not take it.
func (t *Table) become(ctx context.Context, q statement.Querier, of []event.Marked, set,
	states string) ([]event.Ref, error) {
	return t.inParts(ctx, q, refsIn(of), "o.state IN ("+states+")", func(part []event.Ref) *statement.Statement {
		return t.change(t.db.Statement(), func() string { return set }, part, states)
	})
}

// inParts runs a statement for each part of refs. It returns those that are as they were, which cond says of o.
func (t *Table) inParts(ctx context.Context, q statement.Querier, refs []event.Ref, cond string,
	write func(part []event.Ref) *statement.Statement) (unmarked []event.Ref, err error) {
	for part := range slices.Chunk(refs, t.most(len(refs))) {
		n, err := write(part).Exec(ctx, q)
		if err != nil {
			return nil, err
		}
		left, err := t.unchanged(ctx, q, n, part, cond)
		if err != nil {
			return nil, err
		}
		unmarked = append(unmarked, left...)
	}
	return unmarked, nil
}

// unchanged returns those of refs that are as they were (which cond says of o) after a statement that should have
// changed them and changed n rows. Where a trigger returns NULL, or row security shows a row and lets nobody change it,
// an UPDATE that changes nothing is a success. What others settled or deleted meanwhile is no longer as it was.
func (t *Table) unchanged(ctx context.Context, q statement.Querier, n int64, refs []event.Ref,
	cond string) ([]event.Ref, error) {
	if n >= int64(len(refs)) {
		return nil, nil
	}
	s := t.db.Statement("SELECT ", t.o.id, " FROM ", t.outbox.String(), " o WHERE ")
	return t.refs(ctx, q, t.oneOf(s, &t.o, refs).Add(" AND ", cond))
}

func refsIn(of []event.Marked) []event.Ref {
	refs := make([]event.Ref, len(of))
	for i := range of {
		refs[i] = of[i].Ref
	}
	return refs
}

// mark makes rows published, or deletes them. It leaves alone what is neither pending nor failed any more.
func (t *Table) mark(refs []event.Ref) *statement.Statement {
	s := t.db.Statement()
	if t.side == "" {
		return t.change(s, func() string {
			return "state = 'PUBLISHED', published_at = " + t.db.Now() + ", next_attempt_at = NULL"
		}, refs, "'PENDING', 'FAILED'")
	}
	table := t.outbox.String()
	if t.Deletes {
		s.Add("DELETE FROM ", table, " WHERE ")
	} else {
		s.Add("UPDATE ", table, " SET ", t.marks(), " WHERE ")
	}
	w := t.words(table)
	return t.oneOf(s, &w, refs).Add(" AND ", w.pending)
}

// TryMark runs a mark of no row: the server refuses it as it would any.
func (t *Table) TryMark(ctx context.Context, q statement.Querier) error {
	_, err := t.mark(nil).Exec(ctx, q)
	return err
}

// most is how many of n rows one statement changes; not 0.
func (t *Table) most(n int) int {
	if t.cfg.MostRows > 0 {
		return t.cfg.MostRows
	}
	return max(n, 1)
}

// change begins an UPDATE of the entries of refs that are in one of the states.
func (t *Table) change(s *statement.Statement, set func() string, refs []event.Ref,
	states string) *statement.Statement {
	if t.side == "" {
		t.syntax.BySeq(s, t.outbox, t.key, set, seqs(refs))
	} else {
		s.Add("UPDATE ", t.side, " SET ", set(), " WHERE outbox = ")
		s.Add(s.Arg(t.Claims.Place.Outbox), " AND ", t.db.AnyText(s, "event", ids(refs)))
	}
	return s.Add(" AND state IN (", states, ")")
}
