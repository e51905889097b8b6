package claims

import (
	"context"
	"errors"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// ErrTakenOver says that another instance has the claim, because this one was thought dead.
var ErrTakenOver = errors.New("another instance has taken the clean-up over")

// alone is the claim of an errand that one instance does at a time. It has no token and no member.
type alone struct {
	t    *Table
	name string
	by   Claim
}

// ClaimAlone claims an errand. It returns nil where another instance does it.
func (t *Table) ClaimAlone(ctx context.Context, name, owner string, ttl time.Duration) (*alone, error) {
	a := &alone{t, name, Claim{Owner: owner, TTL: ttl}}
	var got []string
	err := t.claimsTx(ctx, "claim the clean-up", func(ctx context.Context, q statement.Querier) (err error) {
		got, err = t.TakeIn(ctx, q, a.by, []Shard{{Name: name}}, "")
		return err
	})
	if err != nil || len(got) == 0 {
		return nil, err
	}
	return a, nil
}

// Renew keeps the claim for another ttl, or returns ErrTakenOver.
func (a *alone) Renew(ctx context.Context) error {
	t := a.t
	return t.db.Do(ctx, "renew the clean-up's claim", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("UPDATE ", t.Place.Table, " SET expires_at = ")
		s.Add(t.db.Later(s.Arg(a.by.TTL.Milliseconds())), " WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = '",
			a.name, "' AND owner = ", s.Arg(a.by.Owner),
			" AND expires_at > ", t.db.Now())
		n, err := s.Exec(ctx, q)
		if err == nil && n == 0 {
			return ErrTakenOver
		}
		return err
	})
}

// Release lets the next one begin at once; where it fails, the claim expires.
func (a *alone) Release(ctx context.Context) error {
	t := a.t
	return t.db.Once(ctx, "release the clean-up's claim", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("DELETE FROM ", t.Place.Table)
		s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = '", a.name, "' AND owner = ", s.Arg(a.by.Owner))
		_, err := s.Exec(ctx, q)
		return err
	})
}
