package feed

import (
	"context"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// round is how far a session has read its buckets.
//
// A page begins at the first event of all, by seq, or at the beginning of a bucket. It never begins within a bucket:
// all events of an aggregate are in one bucket, so a page shows every aggregate from its first event on, whatever
// became visible since the last page. Events in flight are read again and left out.
//
// A session that holds many buckets reads by seq. Such a page holds events of all aggregates that were busy, which can
// be sent side by side. A session that holds few buckets reads by bucket: it seeks, and does not read what others
// publish.
type round struct {
	cursor
	// segments are set while a page would hold events of few aggregates, which are sent one after the other. Then a page
	// is put together of several segments of the buckets. Each segment has a cursor of its own.
	segments []segment
}

// wide is how many buckets a session must hold to read by seq: it passes over at most seven times as much as it reads.
const wide = claims.Buckets / 8

func isWide(ranges []claims.Range) bool {
	n := 0
	for _, r := range ranges {
		n += r.To - r.From
	}
	return n >= wide
}

// fewAggregates reports whether a page holds the events of few aggregates for its size.
func fewAggregates(page []event.Row) bool {
	seen := make(map[event.Aggregate]bool)
	for i := range page {
		o := &page[i].Outbox
		seen[event.Aggregate{Type: o.AggregateType, ID: o.AggregateID}] = true
	}
	return 8*len(seen) < len(page)
}

// cursor is where the next page begins.
type cursor struct {
	bucket  int
	repeats int // how many pages in a row did not get beyond it
}

// segment is a part of the buckets.
type segment struct {
	claims.Range
	cursor
	done bool // in this round
}

const (
	// maxRepeats is how many pages in a row one bucket gets: an aggregate with a million events must not starve others.
	maxRepeats = 3
	// maxSegments is of how many segments a page is put together. Each costs a round trip, while the last page is
	// delivered.
	maxSegments = 8
)

// next moves on after a page whose last row is in bucket last. more says that rows follow the page. It returns whether
// the round is incomplete.
func (c *cursor) next(last int, more bool) bool {
	if !more {
		complete := c.bucket == 0
		*c = cursor{}
		return !complete
	}
	c.advance(last)
	return true
}

func (c *cursor) advance(last int) {
	if last > c.bucket {
		*c = cursor{bucket: last}
	} else if c.repeats++; c.repeats >= maxRepeats {
		*c = cursor{bucket: c.bucket + 1}
	}
}

// beginSegments begins a round through segments of the ranges. Where pages are too small for that, the round goes on.
func (s *session) beginSegments(ranges []claims.Range, limit poller.Limit) {
	if segments := segmentsOf(ranges, min(maxSegments, limit.Rows/4)); segments != nil {
		s.round = round{segments: segments}
	}
}

// segmentsOf cuts ranges into about n segments, none of which is in two ranges; nil where one page does as well.
func segmentsOf(ranges []claims.Range, n int) []segment {
	total := 0
	for _, r := range ranges {
		total += r.To - r.From
	}
	if n < 2 || total < 2 {
		return nil
	}
	size := max(1, (total+n-1)/n)
	var segments []segment
	for _, r := range ranges {
		for from := r.From; from < r.To; from += size {
			cut := claims.Range{From: from, To: min(from+size, r.To)}
			segments = append(segments, segment{Range: cut, cursor: cursor{bucket: from}})
		}
	}
	return segments
}

// readSegments reads a page of every segment that is not done. When all are done it ends the round: the next page, from
// the first event on, shows whether there still is a backlog.
func (s *session) readSegments(ctx context.Context, limit poller.Limit) ([]event.Row, bool, error) {
	var open []*segment
	for i := range s.round.segments {
		if p := &s.round.segments[i]; !p.done {
			open = append(open, p)
		}
	}
	if len(open) == 0 {
		s.round = round{}
		return nil, true, nil
	}
	each := poller.Limit{Rows: (limit.Rows + len(open) - 1) / len(open), Bytes: max(1, limit.Bytes/len(open))}
	var all []event.Row
	for _, p := range open {
		rows, err := s.readSegment(ctx, p, each)
		if err != nil {
			return nil, false, err
		}
		all = append(all, rows...)
	}
	page, _ := s.fresh(all, limit.Rows, true)
	return page, true, nil
}

func (s *session) readSegment(ctx context.Context, p *segment, limit poller.Limit) ([]event.Row, error) {
	rest := claims.Range{From: p.bucket, To: p.To}
	rows, more, err := s.read(ctx, []claims.Range{rest}, rest, limit)
	switch {
	case err != nil:
		return nil, err
	case !more || len(rows) == 0:
		p.done = true
	default:
		p.advance(rows[len(rows)-1].At.Bucket)
		p.done = p.bucket >= p.To
	}
	return rows, nil
}
