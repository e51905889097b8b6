package feed

import (
	"context"
	"math"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// read fetches from the beginning of a bucket.
func (s *session) read(ctx context.Context, ranges []claims.Range, bucket int, limit poller.Limit) ([]event.Row, bool,
	error) {
	var after event.Position
	if ranges != nil {
		after, ranges = event.Position{Bucket: bucket, Seq: math.MinInt64}, from(ranges, bucket)
		if len(ranges) == 0 {
			return nil, false, nil
		}
	}
	return s.readAt(ctx, ranges, after, limit)
}

// readAt asks for as many rows more as are in flight there, or left alone.
func (s *session) readAt(ctx context.Context, ranges []claims.Range, after event.Position,
	limit poller.Limit) ([]event.Row, bool, error) {
	s.mu.Lock()
	rows, bytes := s.inFlight.within(ranges)
	s.mu.Unlock()
	asideRows, asideBytes := s.shared.unmarked.load()
	rows, bytes = rows+asideRows, bytes+asideBytes
	return s.outbox.Events.Fetch(ctx, ranges, after, poller.Limit{Rows: limit.Rows + rows, Bytes: limit.Bytes + bytes})
}

// fresh leaves out the rows that are left alone, in flight, or were that when the fetch began. It returns at most so
// many rows: the others come with a later page.
func (s *session) fresh(rows []event.Row, most int, more bool) ([]event.Row, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := rows[:0]
	for _, r := range rows {
		if s.inFlight.known(r.Ref) || s.shared.unmarked.alone(r.Ref) {
			continue
		}
		if len(fresh) == most {
			return fresh, true
		}
		fresh = append(fresh, r)
	}
	return fresh, more
}
