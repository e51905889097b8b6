package publisher

import (
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/feed"
)

// Config is one outbox and how it is published.
type Config struct {
	App, Poller string
	// Instance names this process for people, in claims.
	Instance string
	// Table is source__table as written; Map is source__map__<role>: role → column, or an option's value. Empty: the
	// table has the columns of `rowrelay outbox init`.
	Table string
	Map   map[string]string
	// ClaimsTable is source__claims_table, created by `rowrelay outbox init`.
	ClaimsTable string
	// Strategy is source__strategy, "" for what suits the table; Partitions and ClaimTTL as the settings.
	Strategy   claims.Strategy
	Partitions int
	ClaimTTL   time.Duration
	Policy     poller.Policy
	// Ordering is OrderKey (by aggregate), or OrderSource, which needs the strategy leader, or OrderNone.
	Ordering poller.Ordering
	// DeadLetters also takes dead letters; nil where the row is the dead letter and that is all.
	DeadLetters poller.DeadLetters
	// Timeout bounds one statement, Connections the pool, MaxRowBytes a payload.
	Timeout     time.Duration
	Connections int
	MaxRowBytes int
	// Retention and CleanupChunk are for Cleanup.
	Retention    time.Duration
	CleanupChunk int
}

// Publisher is one outbox of one poller. It is safe for use by several goroutines.
type Publisher struct {
	catalog *catalog
	feed    *feed.Feed
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
	return &Publisher{c, feed.New(feeding, c.session)}, nil
}

func (c *Config) feed() feed.Config {
	return feed.Config{App: c.App, Poller: c.Poller, Instance: c.Instance, Strategy: c.Strategy,
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
