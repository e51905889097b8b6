package rows

import (
	"context"
	"slices"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Mend looks for what no running session will ever touch.
func (e *Table) Mend(ctx context.Context) (int, error) {
	var left int
	err := e.db.Tx(ctx, "mend events left PUBLISHING", func(ctx context.Context, q statement.Querier) (err error) {
		left, err = e.orphans(ctx, q)
		return err
	})
	if err == nil {
		err = e.Claims.DropOld(ctx)
	}
	if err != nil {
		return 0, err
	}
	loose, err := e.loose(ctx)
	return left + loose, err
}

// mendAtOnce bounds what one transaction mends of each kind; the next one does more. SQL Server makes one lock of the
// table of 5000 locks of rows.
const mendAtOnce = 4_000

// orphans makes PUBLISHING events without a live claim PENDING. The rows are locked first, leaving out those that a
// pick is about to mark; then claims are looked at again, by a statement that sees what picks have committed until
// then. A pick that claims such an aggregate meanwhile has its events PENDING in flight, which nobody else finds as
// long as the claim lives.
func (e *Table) orphans(ctx context.Context, q statement.Querier) (int, error) {
	find := func(list []int64) ([]int64, error) {
		hint, suffix := e.db.Lock(true)
		s := e.db.Statement()
		if list != nil {
			hint, suffix = "", ""
		}
		s.Add("SELECT ", e.seq("o"), " FROM ", e.outbox.String(), " o", e.forced(event.Publishing), hint,
			" WHERE o.state = 'PUBLISHING'")
		if list != nil {
			s.Add(" AND ", e.db.AnyInt(s, e.seq("o"), list))
		}
		s.Add(" AND NOT ")
		e.claimed(s)
		s.Add(" ORDER BY ", e.order(event.Publishing), e.db.Limit(s.Arg(mendAtOnce), 0), suffix)
		return s.Ints(ctx, q)
	}
	list, err := find(nil)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	if list, err = find(list); err != nil {
		return 0, err
	}
	return len(list), e.set(ctx, q, "state = 'PENDING'", list, "'PUBLISHING'")
}

// loose makes WAITING events without a head PENDING, some aggregates at a time. An event can become loose and blocked
// again only by marks of its aggregate's owner: at worst it becomes PENDING here, and is absorbed once more.
func (e *Table) loose(ctx context.Context) (int, error) {
	var waiting []event.Aggregate
	err := e.db.Do(ctx, "look for waiting events", func(ctx context.Context, q statement.Querier) error {
		waiting = nil
		s := e.db.Statement()
		s.Add("SELECT DISTINCT o.aggregate_type, o.aggregate_id FROM ", e.outbox.String(), " o",
			e.forced(event.Waiting), " WHERE o.state IN (", blockedStates,
			") AND o.state = 'WAITING'")
		return s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
			var a event.Aggregate
			err := scan(&a.Type, &a.ID)
			waiting = append(waiting, a)
			return true, err
		})
	})
	if err != nil {
		return 0, err
	}
	var count int64
	for some := range slices.Chunk(waiting, 1000) {
		for len(some) > 0 {
			err := e.db.Do(ctx, "let waiting events go on", func(ctx context.Context, q statement.Querier) error {
				n, rest, err := e.LetGo(ctx, q, some)
				if count += n; err == nil {
					some = rest
				}
				return err
			})
			if err != nil {
				return int(count), err
			}
		}
	}
	return int(count), nil
}
