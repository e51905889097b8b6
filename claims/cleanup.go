package claims

import (
	"context"
	"errors"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// errTakenOver says that another instance has the claim, because this one was thought dead.
var errTakenOver = errors.New("another instance has taken the clean-up over")

// ClaimCleanup claims the clean-up, which one instance does at a time. It returns false if another one does. Release
// gives it back; if that fails, the claim expires. owner holds nothing else.
func (t *Table) ClaimCleanup(ctx context.Context, owner string, ttl time.Duration) (bool, error) {
	var got []string
	err := t.db.Tx(ctx, "claim the clean-up", func(ctx context.Context, q statement.Querier) error {
		token, err := t.drawIn(ctx, q)
		if err == nil {
			got, err = t.takeIn(ctx, q, Claim{owner, token, ttl}, []string{cleanupUnit})
		}
		return err
	})
	return len(got) > 0, err
}

// RenewCleanup keeps that claim for another ttl. Its error is errTakenOver where another has it.
func (t *Table) RenewCleanup(ctx context.Context, owner string, ttl time.Duration) error {
	n, err := t.renew(ctx, owner, []string{cleanupUnit}, ttl)
	if err == nil && n == 0 {
		err = errTakenOver
	}
	return err
}
