package checkpointed

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Settle commits what became of events: only now are they acknowledged. A crash before it delivers
// them again; a crash after it does not.
//
// What has to be there when the commit is stored is written before it, in this order: dead letters, named by their
// events, so that a crash repeats them; then the objects that the commit names. Until then nobody sees them.
func (s *session) Settle(ctx context.Context, settlement poller.Settlement) (int, error) {
	s.mu.Lock()
	lease := s.lease
	s.mu.Unlock()
	if lease == nil || s.broken {
		return 0, nil
	}
	// Until commit knows better: after a panic on the way, Close must not commit a part of this.
	s.broken = true
	c := s.newCommit(ctx, lease)
	c.accepted = settlement.Accepted
	for i := range settlement.Batches {
		b := &settlement.Batches[i]
		// A retry without a verdict stays parked, and a row that is read apart is read again: they hold up nothing. After any
		// other event without a verdict all else waits.
		aside, waits := b.Batch.Kind == change.Retry || b.Batch.Kind == change.Apart, s.incomplete
		rows := c.rows
		whole := c.take(ctx, b)
		if waits {
			c.rows = rows // it counts the rows before the first that waits
		}
		if !whole {
			s.incomplete = true
			s.mu.Lock()
			s.ended = true
			s.mu.Unlock()
			if !aside {
				break
			}
		}
	}
	s.failAtEnd(c.parked.Later)
	if _, err := s.commit(ctx, c, settlement.Last); err != nil {
		return 0, err
	}
	return c.rows, c.parked.Stop
}

// take settles the events of a batch up to the first that cannot be settled, and reports whether there was none.
func (c *pendingCommit) take(ctx context.Context, b *poller.Settled) bool {
	c.s.mu.Lock()
	about := c.s.inFlight[b.Batch.ID]
	delete(c.s.inFlight, b.Batch.ID)
	c.s.mu.Unlock()
	if about == nil {
		about = &details{}
	}
	c.begin(about)
	if about.frees {
		c.awaited++
	}
	k := 0
	for k < len(b.Outcomes) && c.parked.Settle(ctx, b, k, &about.retries) {
		k++
	}
	c.rows += k
	if k > 0 {
		c.id = b.Batch.ID
	}
	for i := k + 1; i < len(b.Outcomes) && b.Batch.Kind == change.Retry; i++ {
		c.parked.Settle(ctx, b, i, &about.retries) // each is of a key of its own, and waits for no other
	}
	c.settleApart(&b.Batch, k, about)
	switch b.Batch.Kind {
	case change.Backfill:
		c.advanceBackfill(&b.Batch, k, about)
	case change.Live, change.Sweep:
		c.s.feed.late.Settled(&b.Batch, k)
	}
	return k == len(b.Outcomes)
}

// advanceBackfill takes k settled events of a chunk.
func (c *pendingCommit) advanceBackfill(b *change.Batch, k int, about *details) {
	stored := c.storedBackfill(about.chunk)
	if stored == nil || k == 0 {
		return
	}
	next := *stored
	next.Done += int64(k)
	next.At = b.Events[k-1].Position()
	whole := k == len(b.Events)
	if whole {
		next.At = endOf(b)
	}
	c.backfill = &next
	if whole && about.final {
		c.endBackfill(about.chunk)
	}
}

// storedBackfill returns the backfill as this commit will find it; nil where it is another one by now, or none.
func (c *pendingCommit) storedBackfill(id string) *state.Backfill {
	b := c.backfill
	if b == nil {
		b = c.lease.Known().Backfill
	}
	if b == nil || b.ID != id || id == "" {
		return nil
	}
	return b
}

func (c *pendingCommit) endBackfill(id string) {
	b := c.storedBackfill(id)
	if b == nil {
		return
	}
	text := "backfill %s is complete: %d rows were sent again"
	if b.Whole {
		text = "snapshot %s of the whole table is complete: %d rows were sent"
	}
	c.s.warn(fmt.Sprintf(text, id, b.Done))
	c.backfill, c.ends = &state.Backfill{}, id
}
