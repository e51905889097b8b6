package publisher

import (
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Publisher is one outbox of one poller. It is safe for use by several goroutines.
type Publisher struct {
	catalog *catalog
	feed    *Feed
}

// New returns the publisher of an outbox. It does not connect. Errors name the member of cfg, or the setting, at
// fault and wrap poller.ErrConfig.
func New(cfg Config, conn engine.Connection) (*Publisher, error) {
	feeding := cfg.feed()
	if err := feeding.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	c, err := newCatalog(cfg, conn)
	if err != nil {
		return nil, err
	}
	return &Publisher{c, newFeed(feeding, c.session)}, nil
}

func (c *Config) feed() feedConfig {
	return feedConfig{App: c.App, Poller: c.Poller, Instance: c.Instance, Strategy: c.Strategy,
		Partitions: c.Partitions,
		ClaimTTL:   c.ClaimTTL, Policy: c.Policy, Ordering: c.Ordering, DeadLetters: c.DeadLetters}
}

// Feed returns the feed of every partition: which of them a session gets is the strategy's business.
func (p *Publisher) Feed() poller.Feed { return p.feed }

// Partition returns the feed of partition n alone, for an invocation by a queue message that names it. A session of
// it ends as lease_acquire_skipped while another instance holds the partition, and has nothing to do where n is not a
// partition (any more). The strategy must be partitioned.
func (p *Publisher) Partition(n int) poller.Feed { return p.feed.Partition(n) }

// Close ends the connections. Sessions have to be closed before.
func (p *Publisher) Close() error { return p.catalog.close() }
