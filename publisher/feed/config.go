package feed

import (
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

// Config is how an outbox is published.
type Config struct {
	App, Poller string
	// Instance names this process for people, in claims.
	Instance string
	// Strategy is "" for what suits the table.
	Strategy   claims.Strategy
	Partitions int
	ClaimTTL   time.Duration
	Policy     poller.Policy
	// Ordering is OrderKey (by aggregate), or OrderSource, which needs the strategy leader, or OrderNone.
	Ordering poller.Ordering
	// Alive is for the names of owners: see claims.New.
	Alive alive.Marker
	// DeadLetters also takes dead letters; nil where the row is the dead letter and that is all.
	DeadLetters poller.DeadLetters
}

// Check refuses settings that contradict each other. Errors name the setting.
func (c *Config) Check() error {
	switch c.Strategy {
	case "", claims.Leader, claims.Partitioned, claims.SkipLocked:
	default:
		return fmt.Errorf("source__strategy %q is not leader, partitioned or skip_locked", c.Strategy)
	}
	switch {
	case c.Partitions < 1 || c.Partitions > claims.Buckets:
		return fmt.Errorf("source__partitions is %d: it must be 1 to %d", c.Partitions, claims.Buckets)
	case c.ClaimTTL < time.Second:
		return fmt.Errorf("source__claim_ttl is %s: it must be at least 1s", c.ClaimTTL)
	case c.Policy.MaxAttempts < 1:
		return fmt.Errorf("max_attempts is %d: it must be at least 1", c.Policy.MaxAttempts)
	case len(c.Policy.Delays) == 0:
		return errors.New("retry_delays is empty: it needs the wait before attempt 2 at least")
	case c.Ordering == poller.OrderSource && c.Strategy != claims.Leader:
		return errors.New("ordering=source needs source__strategy=leader: one order of all events has one sender")
	}
	return nil
}
