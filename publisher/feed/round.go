package feed

import (
	"context"
	"slices"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

const (
	// maxCrowded bounds the buckets that are read apart, each with a statement of its own. A poller that is busy with so
	// many has no time for others.
	maxCrowded = 64
	// maxRepeats is how many pages in a row one bucket gets: many events in it must not starve the next.
	maxRepeats = 3
	// wide is how many buckets a session must hold to read by seq.
	wide = claims.Buckets / 8
)

// bounded leaves out the rows of aggregates that have as much in flight as they may, marks their buckets as crowded,
// and reports whether there were any. What waits for an earlier event takes no time to deliver.
func (s *session) bounded(rows []event.Row, limit poller.Limit) (kept []event.Row, left bool) {
	if s.cfg.Ordering != poller.OrderKey {
		return rows, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	loads, most := map[event.Aggregate]load{}, ofOne(limit)
	kept = rows[:0]
	for i := range rows {
		a := rows[i].Aggregate()
		if a.ID == "" {
			kept = append(kept, rows[i])
			continue
		}
		l, known := loads[a]
		if !known {
			l = s.inFlight.of[a]
		}
		if l.full = l.full || !rows[i].Waits && !l.room(most); l.full {
			s.crowd(rows[i].Bucket)
		} else {
			l = l.with(1, len(rows[i].Outbox.Payload))
			kept = append(kept, rows[i])
		}
		loads[a] = l
	}
	return kept, len(kept) < len(rows)
}

func (s *session) crowd(bucket int) {
	if len(s.crowded) < maxCrowded && !slices.Contains(s.crowded, bucket) {
		s.crowded = append(s.crowded, bucket)
	}
}

// readCrowded reads those crowded buckets of which at most half is in flight, and leaves the rest of the page free. A
// bucket is crowded no more when all that it has fits, or when all of it waits: that is read in whole pages.
func (s *session) readCrowded(ctx context.Context, crowded []int, limit poller.Limit, left int) ([]event.Row, error) {
	var page []event.Row
	most := ofOne(limit)
	for _, b := range crowded {
		s.mu.Lock()
		l := s.inFlight.busiest(b)
		s.mu.Unlock()
		room := min(most.Rows-l.events, left-len(page))
		if l.events > most.Rows/2 || l.bytes > most.Bytes/2 || room <= 0 {
			continue
		}
		own := []claims.Range{{From: b, To: b + 1}}
		part := poller.Limit{Rows: room, Bytes: max(most.Bytes-l.bytes, 1)}
		found, more, err := s.read(ctx, own, false, part)
		if err != nil {
			return nil, err
		}
		found, more = s.fresh(found, part, more)
		s.crowded = slices.DeleteFunc(s.crowded, func(c int) bool { return c == b })
		if more && slices.ContainsFunc(found, func(r event.Row) bool { return !r.Waits }) {
			s.crowd(b) // after the others
		}
		found, _ = s.bounded(found, limit)
		page = append(page, found...)
	}
	return page, nil
}

// uncrowded are the ranges without the crowded buckets.
func (s *session) uncrowded(ranges []claims.Range) []claims.Range {
	if len(s.crowded) == 0 {
		return ranges
	}
	var rest []int
	for _, r := range ranges {
		for b := r.From; b < r.To; b++ {
			if !slices.Contains(s.crowded, b) {
				rest = append(rest, b)
			}
		}
	}
	return claims.RangesOf(rest, claims.Buckets)
}

// from is the part of the ranges from a bucket on, below the part below it.
func from(ranges []claims.Range, bucket int) []claims.Range {
	return cut(ranges, claims.Range{From: bucket, To: claims.Buckets})
}

func below(ranges []claims.Range, bucket int) []claims.Range {
	return cut(ranges, claims.Range{To: bucket})
}

func cut(ranges []claims.Range, within claims.Range) []claims.Range {
	part := make([]claims.Range, 0, len(ranges))
	for _, r := range ranges {
		if r = (claims.Range{From: max(r.From, within.From), To: min(r.To, within.To)}); r.From < r.To {
			part = append(part, r)
		}
	}
	return part
}
