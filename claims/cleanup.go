package claims

import (
	"context"
	"errors"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// errTakenOver says that another instance has the claim, because this one was thought dead.
var errTakenOver = errors.New("another instance has taken the clean-up over")

// Cleanup is the claim of the clean-up, which one instance does at a time.
type Cleanup struct {
	t     *Table
	owner string
	ttl   time.Duration
}

// ClaimCleanup returns nil if another instance does it.
func (t *Table) ClaimCleanup(ctx context.Context, owner string, ttl time.Duration) (*Cleanup, error) {
	var got []string
	err := t.db.Tx(ctx, "claim the clean-up", func(ctx context.Context, q statement.Querier) error {
		token, err := t.drawIn(ctx, q)
		if err == nil {
			got, err = t.takeIn(ctx, q, Claim{owner, token, ttl}, []string{cleanupUnit})
		}
		return err
	})
	if err != nil || len(got) == 0 {
		return nil, err
	}
	return &Cleanup{t, owner, ttl}, nil
}

// Renew keeps the claim for another ttl, or returns errTakenOver.
func (c *Cleanup) Renew(ctx context.Context) error {
	t := c.t
	return t.db.Do(ctx, "renew the clean-up's claim", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("UPDATE ", t.Place.Table, " SET expires_at = ")
		s.Add(t.db.Later(s.Arg(c.ttl.Milliseconds())), " WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = '",
			cleanupUnit, "' AND owner = ", s.Arg(c.owner), " AND expires_at > ", t.db.Now())
		n, err := s.Exec(ctx, q)
		if err == nil && n == 0 {
			return errTakenOver
		}
		return err
	})
}

// Release lets the next one begin at once. If it fails, the claim expires.
func (c *Cleanup) Release(ctx context.Context) error {
	t := c.t
	return t.db.Once(ctx, "release the clean-up's claim", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("DELETE FROM ", t.Place.Table)
		s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = '", cleanupUnit, "' AND owner = ",
			s.Arg(c.owner))
		_, err := s.Exec(ctx, q)
		return err
	})
}
