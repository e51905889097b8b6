package publisher

import (
	"context"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// pass is where a session's way round its buckets stands. A page begins at the first event of all, by seq, or at the
// beginning of a bucket, never within one: all events of an aggregate are in one bucket, so that a page shows of each
// of its aggregates everything from the first event on, whatever became visible since the page before. What is in
// flight is read again and left out.
//
// Who holds a good part of the buckets goes by seq: such a page holds events of as many aggregates as were busy,
// which can be sent side by side. Who holds few goes by bucket, a seek, instead of through what others have to
// publish.
type pass struct {
	cursor
	// pieces are set while there is a backlog of which a page holds the events of few aggregates, which go one after
	// the other: so a page is put together of pages of several pieces of the buckets, each of which is gone through
	// on its own.
	pieces []piece
}

// wide is how many buckets a session holds that goes by seq: it passes over seven times as much as it reads at most.
const wide = claims.Buckets / 8

func isWide(ranges []claims.Range) bool {
	n := 0
	for _, r := range ranges {
		n += r.To - r.From
	}
	return n >= wide
}

// narrow reports whether a page holds the events of few aggregates for its size.
func narrow(page []event.Row) bool {
	seen := make(map[event.Aggregate]bool)
	for i := range page {
		o := &page[i].Outbox
		seen[event.Aggregate{Type: o.AggregateType, ID: o.AggregateID}] = true
	}
	return 8*len(seen) < len(page)
}

// cursor is where the next page begins.
type cursor struct {
	bucket int
	same   int // how many pages in a row did not get beyond it
}

// piece is a part of the buckets.
type piece struct {
	claims.Range
	cursor
	done bool // in this round
}

const (
	// maxSame is how many pages one bucket gets before the others have their turn: one aggregate with a million
	// events must not starve them.
	maxSame = 3
	// maxPieces is how many pieces a page is put together of: each is a round trip, while the page before is
	// delivered.
	maxPieces = 8
)

// next moves on after a page whose last row is in bucket last; more says that there are rows behind it. It returns
// whether the way round is not complete.
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
	} else if c.same++; c.same >= maxSame {
		*c = cursor{bucket: c.bucket + 1}
	}
}

// split begins a round through pieces of the ranges, unless pages are too small for that: then the way round goes on.
func (s *session) split(ranges []claims.Range, limit poller.Limit) {
	if pieces := piecesOf(ranges, min(maxPieces, limit.Rows/4)); pieces != nil {
		s.pass = pass{pieces: pieces}
	}
}

// piecesOf cuts ranges into about n pieces, none of which is in two ranges; nil where one page does as well.
func piecesOf(ranges []claims.Range, n int) []piece {
	total := 0
	for _, r := range ranges {
		total += r.To - r.From
	}
	if n < 2 || total < 2 {
		return nil
	}
	size := max(1, (total+n-1)/n)
	var pieces []piece
	for _, r := range ranges {
		for from := r.From; from < r.To; from += size {
			cut := claims.Range{From: from, To: min(from+size, r.To)}
			pieces = append(pieces, piece{Range: cut, cursor: cursor{bucket: from}})
		}
	}
	return pieces
}

// spread reads a page of every piece that is not done, and ends the round when all are: then a page from the top says
// whether there is a backlog still.
func (s *session) spread(ctx context.Context, limit poller.Limit) ([]event.Row, bool, error) {
	var open []*piece
	for i := range s.pass.pieces {
		if p := &s.pass.pieces[i]; !p.done {
			open = append(open, p)
		}
	}
	if len(open) == 0 {
		s.pass = pass{}
		return nil, true, nil
	}
	each := poller.Limit{Rows: (limit.Rows + len(open) - 1) / len(open), Bytes: max(1, limit.Bytes/len(open))}
	var all []event.Row
	for _, p := range open {
		rows, err := s.readPiece(ctx, p, each)
		if err != nil {
			return nil, false, err
		}
		all = append(all, rows...)
	}
	page, _ := s.fresh(all, limit.Rows, true)
	return page, true, nil
}

func (s *session) readPiece(ctx context.Context, p *piece, limit poller.Limit) ([]event.Row, error) {
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
