package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// live adds the condition, with its WHERE, that a claim of a partition is the owner's and live.
func (t *Table) live(s *statement.Statement, owner string) {
	s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND owner = ", s.Arg(owner),
		" AND unit NOT LIKE 'i:%' AND expires_at > ", t.db.Now())
}

// Guard adds the condition that the owner holds at least so many live claims. The engine evaluates it once in a
// statement.
func (t *Table) Guard(s *statement.Statement, owner string, held int) {
	s.Add("(SELECT COUNT(*) FROM ", t.Place.Table)
	t.live(s, owner)
	s.Add(") >= ", s.Arg(held))
}

// Hold locks the owner's claims until the transaction ends, so that nobody takes them over, or returns ErrLost where
// there are fewer than least. It finds them without a lock first: see ByName.
func (t *Table) Hold(ctx context.Context, q statement.Querier, owner string, least int) error {
	s := t.db.Statement("SELECT unit FROM ", t.Place.Table)
	t.live(s, owner)
	units, err := s.Texts(ctx, q)
	if err != nil {
		return fmt.Errorf("find the claims: %w", err)
	}
	if len(units) > 0 {
		_, suffix := t.db.Lock("c", false)
		s := t.db.Statement()
		t.syntax.ByName(s, t.Place, "SELECT", nil, units)
		s.Add(" AND c.owner = ", s.Arg(owner), " AND c.expires_at > ", t.db.Now(), " ORDER BY c.unit", suffix)
		if units, err = s.Texts(ctx, q); err != nil {
			return fmt.Errorf("lock the claims: %w", err)
		}
	}
	return enough(len(units), least)
}

// Check is Hold without a lock. It says why a guarded statement changed nothing.
func (t *Table) Check(ctx context.Context, q statement.Querier, owner string, least int) error {
	s := t.db.Statement("SELECT COUNT(*) FROM ", t.Place.Table)
	t.live(s, owner)
	var have int
	if err := s.Row(ctx, q, &have); err != nil {
		return fmt.Errorf("count the claims: %w", err)
	}
	return enough(have, least)
}

func enough(have, least int) error {
	if have < least {
		return fmt.Errorf("%w: %d of %d are left", ErrLost, have, least)
	}
	return nil
}

// Renew extends the owner's claims of partitions and its membership by ttl. It returns how many it has extended, the
// membership included: what has expired is not extended, as it may be another's by now.
func (t *Table) Renew(ctx context.Context, owner string, partitions []int, ttl time.Duration) (int, error) {
	return t.renew(ctx, owner, append(unitsOf(partitions), memberPrefix+owner), ttl)
}

func (t *Table) renew(ctx context.Context, owner string, units []string, ttl time.Duration) (int, error) {
	var held int64
	err := t.db.Do(ctx, "renew the claims", func(ctx context.Context, q statement.Querier) (err error) {
		s := t.db.Statement()
		t.syntax.ByName(s, t.Place, "UPDATE", func() string {
			return "expires_at = " + t.db.Later(s.Arg(ttl.Milliseconds()))
		}, units)
		s.Add(" AND c.owner = ", s.Arg(owner), " AND c.expires_at > ", t.db.Now())
		held, err = s.Exec(ctx, q)
		return err
	})
	return int(held), err
}

// Release gives partitions back; nil means everything that is the owner's, the membership included, also what it does
// not know of. After a crash before it, others wait until the claims have expired, or until the process is known to
// have died.
func (t *Table) Release(ctx context.Context, owner string, partitions []int) error {
	return t.db.Do(ctx, "give claims back", func(ctx context.Context, q statement.Querier) error {
		return t.releaseIn(ctx, q, owner, partitions)
	})
}

func (t *Table) releaseIn(ctx context.Context, q statement.Querier, owner string, partitions []int) (err error) {
	units := unitsOf(partitions)
	if partitions == nil {
		s := t.db.Statement("SELECT unit FROM ", t.Place.Table)
		s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND owner = ", s.Arg(owner))
		if units, err = s.Texts(ctx, q); err != nil {
			return fmt.Errorf("find the claims: %w", err)
		}
	}
	if len(units) == 0 {
		return nil
	}
	s := t.db.Statement()
	t.syntax.ByName(s, t.Place, "DELETE", nil, units)
	s.Add(" AND c.owner = ", s.Arg(owner))
	_, err = s.Exec(ctx, q)
	return err
}
