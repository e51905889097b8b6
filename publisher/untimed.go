package publisher

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// untimed are the events of an own table that lacked available_at and expires_at when the catalog was read. `rowrelay
// outbox init --apply` adds them while we run: from then on an event may be one that must not go yet. So whoever reads
// events asks afterwards whether the columns are there by now: what was read before they were has no such times.
type untimed struct {
	*rows.Table
	columns func(context.Context, statement.Querier) ([]string, error)
	db      *statement.DB
	stale   *atomic.Bool // has the catalog read anew
}

var errTimed = errors.New("the outbox has got available_at and expires_at since it was looked at: the next tick " +
	"goes by them")

// Fetch is that of the table.
func (u *untimed) Fetch(ctx context.Context, ranges []claims.Range, bySeq bool,
	limit poller.Limit) ([]event.Row, bool, error) {
	list, more, err := u.Table.Fetch(ctx, ranges, bySeq, limit)
	return list, more, u.still(ctx, list, err)
}

// Due is that of the table.
func (u *untimed) Due(ctx context.Context, ranges []claims.Range, limit poller.Limit) ([]event.Row, time.Duration,
	error) {
	list, next, err := u.Table.Due(ctx, ranges, limit)
	return list, next, u.still(ctx, list, err)
}

// Others is that of the table.
func (u *untimed) Others(ctx context.Context, ranges []claims.Range, avoid []event.Aggregate,
	limit poller.Limit) ([]event.Row, error) {
	list, err := u.Table.Others(ctx, ranges, avoid, limit)
	return list, u.still(ctx, list, err)
}

// Again is that of the table.
func (u *untimed) Again(ctx context.Context, refs []event.Ref) ([]event.Row, error) {
	list, err := u.Table.Again(ctx, refs)
	return list, u.still(ctx, list, err)
}

// still is an error where rows were read and the table has the columns.
func (u *untimed) still(ctx context.Context, list []event.Row, err error) error {
	if err != nil || len(list) == 0 {
		return err
	}
	var have []string
	err = u.db.Do(ctx, "look for available_at", func(ctx context.Context, q statement.Querier) (err error) {
		have, err = u.columns(ctx, q)
		return err
	})
	if err == nil && rows.IsTimed(have) {
		u.stale.Store(true)
		err = errTimed
	}
	return err
}
