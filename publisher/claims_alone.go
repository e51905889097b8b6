package publisher

import (
	"context"
	"errors"
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
	err := t.claimsTx(ctx, "claim the clean-up", func(ctx context.Context, q querier) (err error) {
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
	return t.db.do(ctx, "renew the clean-up's claim", func(ctx context.Context, q querier) error {
		s := t.db.statement("UPDATE ", t.place.table, " SET expires_at = ")
		s.add(t.db.later(s.arg(a.by.ttl.Milliseconds())), " WHERE outbox = ", s.arg(t.place.outbox), " AND unit = '", a.name, "' AND owner = ", s.arg(a.by.owner),
			" AND expires_at > ", t.db.now())
		n, err := s.exec(ctx, q)
		if err == nil && n == 0 {
			return ErrTakenOver
		}
		return err
	})
}

// release lets the next one begin at once; where it fails, the claim expires.
func (a *alone) release(ctx context.Context) error {
	t := a.t
	return t.db.once(ctx, "release the clean-up's claim", func(ctx context.Context, q querier) error {
		s := t.db.statement("DELETE FROM ", t.place.table)
		s.add(" WHERE outbox = ", s.arg(t.place.outbox), " AND unit = '", a.name, "' AND owner = ", s.arg(a.by.owner))
		_, err := s.exec(ctx, q)
		return err
	})
}
