package claims

import (
	"context"
	"errors"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// errTakenOver says that another instance has the claim, because this one was thought dead.
var errTakenOver = errors.New("another instance has taken the clean-up over")

// Job is the claim of a job that one instance does at a time.
type Job struct {
	t    *Table
	unit string
	by   Claim
}

// ClaimJob claims a job. It returns nil if another instance does it.
func (t *Table) ClaimJob(ctx context.Context, unit, owner string, ttl time.Duration) (*Job, error) {
	j := &Job{t, unit, Claim{Owner: owner, TTL: ttl}}
	var got []string
	err := t.db.Tx(ctx, "claim the clean-up", func(ctx context.Context, q statement.Querier) (err error) {
		if j.by.Token, err = t.drawIn(ctx, q); err == nil {
			got, err = t.takeIn(ctx, q, j.by, []string{unit})
		}
		return err
	})
	if err != nil || len(got) == 0 {
		return nil, err
	}
	return j, nil
}

// Renew keeps the claim for another ttl, or returns errTakenOver.
func (j *Job) Renew(ctx context.Context) error {
	t := j.t
	return t.db.Do(ctx, "renew the clean-up's claim", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("UPDATE ", t.Place.Table, " SET expires_at = ")
		s.Add(t.db.Later(s.Arg(j.by.TTL.Milliseconds())), " WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = '",
			j.unit, "' AND owner = ", s.Arg(j.by.Owner),
			" AND expires_at > ", t.db.Now())
		n, err := s.Exec(ctx, q)
		if err == nil && n == 0 {
			return errTakenOver
		}
		return err
	})
}

// Release lets the next one begin at once. If it fails, the claim expires.
func (j *Job) Release(ctx context.Context) error {
	t := j.t
	return t.db.Once(ctx, "release the clean-up's claim", func(ctx context.Context, q statement.Querier) error {
		s := t.db.Statement("DELETE FROM ", t.Place.Table)
		s.Add(" WHERE outbox = ", s.Arg(t.Place.Outbox), " AND unit = '", j.unit, "' AND owner = ", s.Arg(j.by.Owner))
		_, err := s.Exec(ctx, q)
		return err
	})
}
