package publisher

import (
	"context"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// writable tries a statement that deletes no claim, and one that marks no event. Servers refuse them as they would any
// write; what else may be the matter, such as a lock, is no reason to publish nothing.
func (c *catalog) writable(ctx context.Context, o *opened) error {
	var refused error
	err := c.db.Once(ctx, "write to the outbox and its claims", func(ctx context.Context, q statement.Querier) error {
		if _, refused = q.ExecContext(ctx, "DELETE FROM "+c.claims.String()+" WHERE 1 = 0"); refused == nil {
			refused = o.events.TryMark(ctx, q)
		}
		return refused
	})
	if engine.Misconfigured(c.conn.Dialect, refused) ||
		engine.Classify(c.conn.Dialect, refused) == engine.FaultReadOnly {
		return err
	}
	return nil
}
