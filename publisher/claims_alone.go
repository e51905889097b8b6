package publisher

import (
	"context"
	"errors"
	"github.com/rowrelay/rowrelay/engine/statement"
	"time"
)

// ErrTakenOver says that another instance has the claim, because this one was thought dead.
var ErrTakenOver = errors.New("another instance has taken the clean-up over")

// alone is the claim of an errand that one instance does at a time. It has no token and no member.
type alone struct {
	t    *claimsTable
	name string
	by   claim
}

// claimAlone claims an errand. It returns nil where another instance does it.
func (t *claimsTable) claimAlone(ctx context.Context, name, owner string, ttl time.Duration) (*alone, error) {
	a := &alone{t, name, claim{owner: owner, ttl: ttl}}
	var got []string
	err := t.claimsTx(ctx, "claim the clean-up", func(ctx context.Context, q statement.Querier) (err error) {
		got, err = t.takeIn(ctx, q, a.by, []shard{{name: name}}, "")
		return err
	})
	if err != nil || len(got) == 0 {
		return nil, err
	}
	return a, nil
}

// renew keeps the claim for another ttl, or returns ErrTakenOver.
func (a *alone) renew(ctx context.Context) error {
	t := a.t
	return t.db.Do(ctx, "renew the clean-up's claim", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("UPDATE ", t.place.table, " SET expires_at = ")
		s.Add(t.db.Later(s.Arg(a.by.ttl.Milliseconds())), " WHERE outbox = ", s.Arg(t.place.outbox), " AND unit = '", a.name, "' AND owner = ", s.Arg(a.by.owner),
			" AND expires_at > ", t.db.Now())
		n, err := s.Exec(ctx, q)
		if err == nil && n == 0 {
			return ErrTakenOver
		}
		return err
	})
}

// release lets the next one begin at once; where it fails, the claim expires.
func (a *alone) release(ctx context.Context) error {
	t := a.t
	return t.db.Once(ctx, "release the clean-up's claim", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("DELETE FROM ", t.place.table)
		s.Add(" WHERE outbox = ", s.Arg(t.place.outbox), " AND unit = '", a.name, "' AND owner = ", s.Arg(a.by.owner))
		_, err := s.Exec(ctx, q)
		return err
	})
}
