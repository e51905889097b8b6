package publisher

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/rowrelay/rowrelay/poller"
)

// feed is a [poller.Feed] over every unit of an outbox, or over one partition.
type feed struct {
	publisher *Publisher
	only      int // the partition; -1 for all
}

// Feed returns the feed of every unit: which of them a session gets is the strategy's business.
func (p *Publisher) Feed() poller.Feed { return &feed{p, -1} }

// Partition returns the feed of partition n alone, for an invocation by a queue message that names it. A session of it ends
// as lease_acquire_skipped while another instance holds the partition, and has nothing to do where n is not a partition
// (any more). The strategy must be partitioned.
func (p *Publisher) Partition(n int) poller.Feed { return &feed{p, n} }

// Open returns a session. It asks nothing of the database: the first Next looks before it claims.
func (f *feed) Open(context.Context) (poller.Session, error) {
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, &poller.Fault{Event: poller.LeaseAcquireFailed, Err: fmt.Errorf("drawing a name for the session: %w", err)}
	}
	cfg := &f.publisher.cfg
	owner := asOwner(cfg.App, cfg.Instance, hex.EncodeToString(random[:]))
	return newSession(f.publisher, owner, f.only, int(random[0])<<8|int(random[1])), nil
}
