package checkpointed

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// turnWait is the longest that Next waits for the turn of a throttled backfill, or of a row behind a retry that is on
// its way, when nothing else is to be done: live rows wait as long.
const turnWait = 250 * time.Millisecond

// backfill is what a session knows of the replay that the document asks for. Its chunks come out of Next between live
// batches, so that the order of each order key holds; each settlement stores how far it has come, so that a crash
// repeats what was not settled of it.
type backfill struct {
	state.Backfill      // At runs ahead of what is stored
	drained        bool // all of the range was handed out
	turn           bool // live rows had the last one
}

// filling reports whether there is more of a backfill to hand out. An operator's start, change or cancellation is met
// with the next write or look.
func (s *session) filling() bool {
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
		s.backfill = backfill{Backfill: *asked, turn: true}
		if s.backfill.At.IsStart() {
			s.backfill.At = asked.From
		}
	}
	return !s.backfill.drained
}

// chunk fetches the next rows of the range.
func (s *session) chunk(ctx context.Context, limit poller.Limit) (change.Batch, note, error) {
	b := &s.backfill
	b.turn = false
	if b.PerSecond > 0 {
		limit.Rows = min(limit.Rows, b.PerSecond)
	}
	begun := time.Now()
	page, err := s.read(ctx, "fetching rows of the backfill", change.Range{After: b.At, UpTo: b.To}, limit)
	if err != nil {
		return change.Batch{}, note{}, err
	}
	batch := change.Batch{Kind: change.Backfill, From: s.frontier, To: page.To, Events: page.Events, More: true,
		Fetched: time.Now()}
	batch.FetchTime = batch.Fetched.Sub(begun)
	s.recall(batch.Events)
	b.drained = !page.More
	s.feed.pace.spend(b.ID, len(page.Events), b.PerSecond)
	if len(page.Events) == 0 {
		if b.drained {
			return batch, note{ends: b.ID}, nil
		}
		if page.To != nil {
			b.At = page.To
		}
		return batch, note{}, nil
	}
	b.At = after(&batch)
	return batch, note{chunk: b.ID, final: b.drained}, nil
}

// pace throttles a backfill, across the ticks of this process.
type pace struct {
	id   string
	next time.Time
}

// ready is the time until the next chunk may be fetched; 0 or less means now.
func (p *pace) ready(id string) time.Duration {
	if p.id != id {
		return 0
	}
	return time.Until(p.next)
}

// spend takes account of a chunk.
func (p *pace) spend(id string, rows, perSecond int) {
	if now := time.Now(); p.id != id || p.next.Before(now) {
		p.id, p.next = id, now
	}
	if perSecond > 0 {
		p.next = p.next.Add(time.Duration(rows) * time.Second / time.Duration(perSecond))
	}
}
