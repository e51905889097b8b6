package rows

import (
	"context"
	"slices"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Mend makes WAITING events without a head PENDING, some aggregates at a time. An event can become loose and blocked
// again only by marks of its aggregate's owner: at worst it becomes PENDING here, and is absorbed once more.
func (e *Table) Mend(ctx context.Context) (int, error) {
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
