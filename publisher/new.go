package publisher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// figuresEvery is how often the events of an outbox are counted: gauges need no more, and counting is not free.
const figuresEvery = 15 * time.Second

// Publisher is one outbox of one poller. It is safe for use by several goroutines.
type Publisher struct {
	cfg   Config
	table table

	mu      sync.Mutex
	before  map[int]bool // partitions that the last session of this process held
	counted time.Time
	figures *poller.OutboxFigures // as of counted
	mended  time.Time             // when mend was last begun: a session may last seconds
}

// New returns the publisher of an outbox. It does not connect. Errors name the member of cfg, or the setting, at fault and
// wrap poller.ErrConfig.
func New(cfg Config, conn engine.Connection) (*Publisher, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrConfig, err)
	}
	t, err := newTable(cfg, conn)
	if err != nil {
		return nil, err
	}
	return newPublisher(cfg, t), nil
}

func newPublisher(cfg Config, t table) *Publisher { return &Publisher{cfg: cfg, table: t} }

// check looks at what the deciding layer needs; the table looks at the rest.
func (c *Config) check() error {
	switch c.Strategy {
	case "", Leader, Partitioned, SkipLocked:
	default:
		return fmt.Errorf("source__strategy %q is not leader, partitioned or skip_locked", c.Strategy)
	}
	switch {
	case c.Partitions < 1 || c.Partitions > Buckets:
		return fmt.Errorf("source__partitions is %d: it must be 1 to %d", c.Partitions, Buckets)
	case c.ClaimTTL < time.Second:
		return fmt.Errorf("source__claim_ttl is %s: it must be at least 1s", c.ClaimTTL)
	case c.Policy.MaxAttempts < 1:
		return fmt.Errorf("max_attempts is %d: it must be at least 1", c.Policy.MaxAttempts)
	case len(c.Policy.Delays) == 0:
		return errors.New("retry_delays is empty: it needs the wait before attempt 2 at least")
	case c.Ordering == poller.OrderSource && c.Strategy != Leader:
		return errors.New("ordering=source needs source__strategy=leader: one order of all events has one sender")
	}
	return nil
}

// Close ends the connections. Sessions have to be closed before.
func (p *Publisher) Close() error { return p.table.close() }

// mendNow reports, once every mendEvery, that it is time to mend.
func (p *Publisher) mendNow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mended.IsZero() && time.Since(p.mended) < mendEvery {
		return false
	}
	p.mended = time.Now()
	return true
}

// count returns the figures of the outbox, counted anew where the last ones are old; nil where that failed.
func (p *Publisher) count(ctx context.Context) *poller.OutboxFigures {
	p.mu.Lock()
	if time.Since(p.counted) < figuresEvery {
		defer p.mu.Unlock()
		return p.figures
	}
	p.counted, p.figures = time.Now(), nil // a count that fails is not repeated by each tick either
	p.mu.Unlock()
	f, err := p.table.figures(ctx)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.figures = &f
	return p.figures
}
