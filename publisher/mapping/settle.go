package mapping

import (
	"context"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Settle makes marks durable. What waits is not marked (see writer).
//
// Only marks of publishing: one statement, unless there are more rows than it can name. A crash between two of them
// is a crash before the second: its events are published again.
func (m *mapped) Settle(ctx context.Context, owner string, held int, marks event.Marks) error {
	if len(marks.Retried) == 0 && len(marks.Failed) == 0 {
		return m.publish(ctx, owner, held, marks.Published)
	}
	return m.db.Tx(ctx, "settle", func(ctx context.Context, q statement.Querier) error {
		if err := m.claims.Hold(ctx, q, owner, held); err != nil {
			return err
		}
		ids := refIDs(marks.Published)
		var retried []string
		for _, r := range marks.Retried {
			retried = append(retried, r.Ref.ID)
		}
		for part := range slices.Chunk(append(ids, retried...), m.chunk) {
			if _, err := m.sql.mark(part).Exec(ctx, q); err != nil {
				return fmt.Errorf("mark as published: %w", err)
			}
		}
		// After the marks: as soon as these entries are gone, what waited for them is shown, and only that.
		for part := range slices.Chunk(retried, m.chunk) {
			if _, err := m.sql.forget(part).Exec(ctx, q); err != nil {
				return fmt.Errorf("remove what was published from the failed ones: %w", err)
			}
		}
		for i := range marks.Failed {
			f := marks.Failed[i]
			f.Reason = plaintext.Storable(f.Reason)
			if err := m.fail(ctx, q, &f); err != nil {
				return fmt.Errorf("record a failure: %w", err)
			}
		}
		return nil
	})
}

// publish marks rows under the guard of the claims. The marks are true whatever has become of the claims, but an
// instance that lost them has to know.
func (m *mapped) publish(ctx context.Context, owner string, held int, published []event.Ref) error {
	for part := range slices.Chunk(refIDs(published), m.chunk) {
		err := m.db.Do(ctx, "mark as published", func(ctx context.Context, q statement.Querier) error {
			s := m.sql.mark(part)
			m.claims.Guard(s.Add(" AND "), owner, held)
			n, err := s.Exec(ctx, q)
			if err != nil || n == int64(len(part)) {
				return err
			}
			// Fewer than named: an operator was there before us, a repetition after a lost answer; or the claims are
			// gone.
			return m.claims.Check(ctx, q, owner, held)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fail records one failed attempt, unless an operator acted on the event in the meantime.
func (m *mapped) fail(ctx context.Context, q statement.Querier, f *event.Failure) error {
	n, err := m.sql.failAgain(f).Exec(ctx, q)
	if err != nil {
		return err
	}
	if n == 0 {
		if n, err = m.sql.failFirst(f).Exec(ctx, q); err != nil {
			return err
		}
	}
	if n == 0 || m.sql.attempts == nil {
		return nil
	}
	_, err = m.sql.countAttempt(f.Ref.ID).Exec(ctx, q)
	return err
}

func refIDs(refs []event.Ref) []string {
	ids := make([]string, len(refs), len(refs)+8)
	for i, r := range refs {
		ids[i] = r.ID
	}
	return ids
}
