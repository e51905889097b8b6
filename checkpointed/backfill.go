package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// backfills reports whether there is more of a backfill to hand out. An operator's start, change or cancellation is
// seen with the next write, or the next read of the document.
func (s *session) backfills() bool {
	asked := s.snapshot.Doc.Backfill
	s.mu.Lock()
	lease := s.lease
	s.mu.Unlock()
	if lease != nil {
		asked = lease.Known().Backfill
	}
	switch {
	case asked == nil:
		s.backfill = backfill{}
		return false
	case asked.ID != s.backfill.ID:
		s.backfill = backfill{Backfill: *asked, isNext: true}
		if s.backfill.At.IsStart() {
			s.backfill.At = asked.From
		}
	}
	return !s.backfill.drained
}

// fetchChunk fetches the next rows of the range.
func (s *session) fetchChunk(ctx context.Context, limit poller.Limit) (change.Batch, details, error) {
	b := &s.backfill
	b.isNext = false
	if chunk := s.feed.cfg.SnapshotChunk; b.Whole && chunk > 0 {
		limit.Rows = chunk
	}
	if b.PerSecond > 0 {
		limit.Rows = min(limit.Rows, b.PerSecond)
	}
	begun := time.Now()
	page, err := s.read(ctx, change.Range{After: b.At, UpTo: b.To}, limit)
	if err != nil {
		if fault := new(poller.Fault); errors.As(err, &fault) {
			fault.Err = fmt.Errorf("backfill: %w", fault.Err)
		}
		return change.Batch{}, details{}, err
	}
	batch := change.Batch{Kind: change.Backfill, From: s.frontier, To: page.To, Events: page.Events, More: true,
		Fetched: time.Now()}
	batch.FetchTime = batch.Fetched.Sub(begun)
	b.drained = !page.More
	s.feed.throttle.spend(b.ID, len(page.Events), b.PerSecond)
	if len(page.Events) == 0 {
		if b.drained {
			return batch, details{ends: b.ID}, nil
		}
		if page.To != nil {
			b.At = page.To
		}
		return batch, details{}, nil
	}
	b.At = endOf(&batch)
	return batch, details{chunk: b.ID, final: b.drained}, nil
}
