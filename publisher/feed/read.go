package feed

import (
	"context"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// read fetches from ranges of buckets, of which there may be none.
func (s *session) read(ctx context.Context, ranges []claims.Range, bySeq bool,
	limit poller.Limit) ([]event.Row, bool, error) {
	if len(ranges) == 0 {
		return nil, false, nil
	}
	return s.outbox.Events.Fetch(ctx, ranges, bySeq, s.wider(limit, ranges, false))
}

// wider is a limit with room for what a fetch of ranges shows again: what is in flight there (of retries only those),
// or left alone.
func (s *session) wider(limit poller.Limit, ranges []claims.Range, retries bool) poller.Limit {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, bytes := s.inFlight.within(ranges, retries)
	asideRows, asideBytes := s.shared.unmarked.load()
	limit.Rows += rows + asideRows
	if limit.Bytes > 0 {
		limit.Bytes += bytes + asideBytes
	}
	return limit
}

// fresh leaves out the rows that are left alone, in flight, or were that when the fetch began. It stops at the limit,
// as a fetch does: the others come with a later page. The first row comes however large it is.
func (s *session) fresh(rows []event.Row, limit poller.Limit, more bool) ([]event.Row, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh, size := rows[:0], 0
	for _, r := range rows {
		if s.inFlight.known(r.Ref) || s.shared.unmarked.alone(r.Ref) {
			continue
		}
		size += len(r.Outbox.Payload)
		if len(fresh) == limit.Rows || len(fresh) > 0 && limit.Bytes > 0 && size > limit.Bytes {
			return fresh, true
		}
		fresh = append(fresh, r)
	}
	return fresh, more
}
