package publisher

import (
	"context"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// isPublishing is the condition of a state that early versions gave an event while they sent it. An instance that was
// killed leaves it, and nothing of ours looks for it: the event would be lost, and later ones of its aggregate pass it.
const isPublishing = "state = 'PUBLISHING'"

// leftPublishing refuses an outbox with such events. They are not freed unasked: the instance that has marked them may
// be at work, and does not see our claims.
func (c *catalog) leftPublishing(ctx context.Context, t *engine.Table, qualified string) error {
	left, err := c.publishing(ctx, t)
	if err != nil || !left {
		return err
	}
	return fmt.Errorf("%w: %s has events in the state PUBLISHING, in which an earlier version left them: end its "+
		"instances, then run `rowrelay outbox init %s --apply`, which makes them PENDING", poller.ErrConfig, qualified,
		c.cfg.Poller)
}

// publishing reports whether there are such events. Only a table that such a version made can hold them, and has an
// index that finds them.
func (c *catalog) publishing(ctx context.Context, t *engine.Table) (left bool, err error) {
	index := c.outbox.Index("publishing")
	if !rows.Needs(c.texts.rows) && // elsewhere the index of pending events begins with the state
		!slices.ContainsFunc(t.Indexes, func(ix engine.Index) bool { return ix.Name == index }) {
		return false, nil
	}
	err = c.db.Do(ctx, "look for PUBLISHING events", func(ctx context.Context, q statement.Querier) error {
		found, err := c.db.Statement("SELECT 1 FROM ", c.outbox.String(), " WHERE ", isPublishing,
			" ORDER BY ", c.texts.rows.Seq(), c.db.Limit("1", 0)).Ints(ctx, q)
		left = len(found) > 0
		return err
	})
	return left, err
}
