package feed

import (
	"context"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// read fetches from the beginning of a bucket.
func (s *session) read(ctx context.Context, ranges []claims.Range, bucket int, limit poller.Limit) ([]event.Row, bool,
	error) {
	if ranges = from(ranges, bucket); len(ranges) == 0 {
		return nil, false, nil
	}
	return s.readFirst(ctx, ranges, false, limit)
}

// readFirst asks for as many rows more as are in flight there, or left alone.
func (s *session) readFirst(ctx context.Context, ranges []claims.Range, bySeq bool,
	limit poller.Limit) ([]event.Row, bool, error) {
	s.mu.Lock()
	rows, bytes := s.inFlight.within(ranges)
	s.mu.Unlock()
	asideRows, asideBytes := s.shared.unmarked.load()
	rows, bytes = rows+asideRows, bytes+asideBytes
	return s.outbox.Events.Fetch(ctx, ranges, bySeq, poller.Limit{Rows: limit.Rows + rows, Bytes: limit.Bytes + bytes})
}

// fresh leaves out the rows that are left alone, in flight, or were that when the fetch began. It stops at the limit, as a
// fetch does: the others come with a later page. The first row comes however large it is.
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
