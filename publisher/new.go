package publisher

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/feed"
)

// New returns the publisher of an outbox, with a pool of its own that Close ends. It does not connect. Errors name the
// member of cfg, or the setting, at fault and wrap poller.ErrConfig.
func New(cfg Config, conn engine.Connection) (*Publisher, error) {
	pool := conn.WriteDB(max(cfg.Connections, 1))
	p, err := Sharing(cfg, conn, pool)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	p.owned = pool
	return p, nil
}

// Sharing is New with a pool for writing that others use, too; of its connections the publisher uses cfg.Connections at
// most.
func Sharing(cfg Config, conn engine.Connection, pool *sql.DB) (*Publisher, error) {
	if err := cfg.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	c, err := newCatalog(cfg, conn, pool)
	if err != nil {
		return nil, err
	}
	c.db.Share(max(cfg.Connections, 1))
	return &Publisher{catalog: c, feed: feed.New(cfg.Config, c.session)}, nil
}

// Feed returns the feed of every partition: which of them a session gets is the strategy's business.
func (p *Publisher) Feed() poller.Feed { return p.feed }

// Partition returns the feed of partition n alone, for an invocation by a queue message that names it. A session of
// it ends as lease_acquire_skipped while another instance holds the partition, and has nothing to do where n is not a
// partition (any more). The strategy must be partitioned.
func (p *Publisher) Partition(n int) poller.Feed { return p.feed.Partition(n) }

// Stay is for a process that ticks again and again by itself: its claims outlive a tick, so that the next one goes on
// with them.
func (p *Publisher) Stay() { p.feed.Stay() }

// Close gives back what no session uses, and ends the connections of a pool of its own. Sessions have to be closed
// before.
func (p *Publisher) Close() error {
	err := p.feed.Close()
	if p.owned == nil {
		return err
	}
	return errors.Join(err, p.owned.Close())
}
