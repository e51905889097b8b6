package publisher

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// own completes what is known of a table of `rowrelay outbox init`.
func (c *catalog) own(ctx context.Context, t *engine.Table, o *opened, timed bool) error {
	if err := c.charset(t, o.Table); err != nil {
		return err
	}
	if err := c.leftPublishing(ctx, t, o.Table); err != nil {
		return err
	}
	if err := c.indexes(t, o); err != nil {
		return err
	}
	c.locks(ctx, o)
	if !timed {
		o.warn("%s lacks available_at or expires_at, so that no event of it is delayed, or expires: run `rowrelay outbox "+
			"init %s --apply`", o.Table, c.cfg.Poller)
	}
	o.events = c.ownEvents(o.Table, timed)
	return nil
}

// charset refuses a table that was created without the character set of `rowrelay outbox init`: on MySQL and MariaDB
// no statement that compares aggregates works in another one than utf8mb4.
func (c *catalog) charset(t *engine.Table, qualified string) error {
	for i := range t.Columns {
		col := &t.Columns[i]
		if c.conn.Engine == "mysql" && strings.HasPrefix(col.Name, "aggregate_") && col.Collation != "" &&
			!strings.HasPrefix(col.Collation, "utf8mb4_") {
			return fmt.Errorf("%w: %s.%s has the collation %s, and aggregates are compared as utf8mb4: ALTER TABLE %[2]s "+
				"CONVERT TO CHARACTER SET utf8mb4", poller.ErrConfig, qualified, col.Name, col.Collation)
		}
	}
	return nil
}

// indexes compares the table's with those of `rowrelay outbox init`.
func (c *catalog) indexes(t *engine.Table, o *opened) error {
	lacks, older := c.lacks(t)
	if len(lacks) > 0 && rows.Needs(c.texts.rows) {
		return fmt.Errorf("%w: %s lacks %d index(es), without which nothing can be published: run `rowrelay outbox init "+
			"%s --apply`, or: %s", poller.ErrConfig, o.Table, len(lacks), c.cfg.Poller, strings.Join(statements(lacks), "; "))
	}
	for _, ix := range lacks {
		o.warn("%s lacks the index %s, without which a poll reads more than it brings: run `rowrelay outbox init %s --apply`",
			o.Table, ix.Name, c.cfg.Poller)
	}
	for _, ix := range older {
		o.warn("%s has the index %s of an earlier version: to have the new one, drop it while nothing is published, and run "+
			"`rowrelay outbox init %s --apply`", o.Table, ix.Name, c.cfg.Poller)
	}
	return nil
}

func statements(list []rows.Index) (texts []string) {
	for i := range list {
		texts = append(texts, list[i].Statement)
	}
	return texts
}

// lacks are the indexes of `rowrelay outbox init` that the table lacks, older those that it has with other columns.
func (c *catalog) lacks(t *engine.Table) (lacks, older []rows.Index) {
	for _, ix := range rows.Indexes(c.texts.rows, c.outbox) {
		i := slices.IndexFunc(t.Indexes, func(have engine.Index) bool { return have.Name == ix.Name })
		if i < 0 {
			lacks = append(lacks, ix)
			continue
		}
		have := &t.Indexes[i]
		if strings.Join(have.Columns[:min(have.Declared, len(have.Columns))], ", ") != ix.Columns {
			older = append(older, ix)
		}
	}
	return lacks, older
}

// locks warns where writers on MySQL or MariaDB lack rows to lock (package outbox): earlier versions filled them by a
// recursion, which the server ends after 1,000. Who publishes need not be allowed to see them: then nothing is said.
func (c *catalog) locks(ctx context.Context, o *opened) {
	if c.conn.Engine != "mysql" {
		return
	}
	var n int
	err := c.db.Do(ctx, "count the rows for writers to lock", func(ctx context.Context, q statement.Querier) error {
		return q.QueryRowContext(ctx, "SELECT COUNT(*) FROM rowrelay_locks").Scan(&n)
	})
	if err == nil && n < 1024 {
		o.warn("rowrelay_locks has %d of its 1024 rows: writers of the aggregates that lack one lock "+
			"nothing, and their events may come out of order, or are refused: rowrelay outbox init %s --apply adds them", n, c.cfg.Poller)
	}
}

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
