package rows

import (
	"strconv"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// This file is which rows a page is of: their keys, in the order of buckets or of seq.

// keys adds a table expression k of the keys of pending rows in ranges after a position, in order, at most n. Ranges
// that do not touch are one seek each: a search over all that lies between them would read what others have to publish.
func (t *Table) keys(s *statement.Statement, ranges []claims.Range, after event.Position, n int,
	also func(*statement.Statement)) {
	s.Add("(")
	defer s.Add(") k")
	if t.side != "" || t.bySource() || after.BySeq {
		t.keysBySeq(s, ranges, after, n, also)
		return
	}
	if ranges == nil {
		ranges = []claims.Range{{From: 0, To: claims.Buckets}}
	}
	arms := t.arms(ranges, after)
	if len(arms) == 1 {
		t.arm(s, arms[0], after, n, also)
		return
	}
	s.Add("SELECT bucket, ", t.seq(), " FROM (")
	for i, r := range arms {
		if i > 0 {
			s.Add(" UNION ALL ")
		}
		s.Add("SELECT bucket, ", t.seq(), " FROM (")
		t.arm(s, r, after, n, also)
		s.Add(") r", strconv.Itoa(i))
	}
	s.Add(") u ORDER BY bucket, ", t.seq(), t.db.Limit(s.Arg(n), 0))
}

// arms are the ranges after a position. Where the engine does not seek by row values, the rest of the position's
// bucket is a range of its own: it would read, for every page anew, the events of that bucket that are in flight.
func (t *Table) arms(ranges []claims.Range, after event.Position) []claims.Range {
	arms := make([]claims.Range, 0, len(ranges)+1)
	split := t.syntax.Orderly("o", "", "") == ""
	for _, r := range ranges {
		switch {
		case r.To <= after.Bucket: // before the position
		case split && after.Seq > 0 && r.From <= after.Bucket && after.Bucket+1 < r.To:
			arms = append(arms, claims.Range{From: after.Bucket, To: after.Bucket + 1},
				claims.Range{From: after.Bucket + 1, To: r.To})
		default:
			arms = append(arms, r)
		}
	}
	if len(arms) == 0 {
		arms = append(arms, claims.Range{From: claims.Buckets, To: claims.Buckets}) // nothing
	}
	return arms
}

// keysBySeq are keys in the order of the table. Of a part of the buckets it looks at no more than scanned pending rows:
// what others publish may be all that there is for a long while.
func (t *Table) keysBySeq(s *statement.Statement, ranges []claims.Range, after event.Position, n int,
	also func(*statement.Statement)) {
	part := t.side == "" && ranges != nil && claims.Width(ranges) < claims.Buckets
	if part {
		s.Add("SELECT bucket, ", t.seq(), " FROM (")
	}
	t.selectKeys(s, t.force("order")).Add(t.o.pending)
	if t.side == "" {
		s.Add(" AND ", t.o.order, " > ", s.Arg(after.Seq))
	}
	also(s)
	s.Add(" ORDER BY ", t.o.order)
	if part {
		s.Add(t.db.Limit(s.Arg(scanned(ranges, n)), 0), ") f WHERE ")
		within(s, "f.bucket", ranges)
		s.Add(" ORDER BY f.", t.seq())
	}
	s.Add(t.db.Limit(s.Arg(n), 0))
}

// scanned is twice as many rows as hold n of these buckets where all buckets have the same.
func scanned(ranges []claims.Range, n int) int {
	return 2 * n * claims.Buckets / max(claims.Width(ranges), 1)
}

// arm is one seek.
func (t *Table) arm(s *statement.Statement, r claims.Range, after event.Position, n int,
	also func(*statement.Statement)) {
	t.selectKeys(s, t.force("pending")).Add(t.o.pending, " AND ")
	within := after.Bucket >= r.From && after.Seq > 0
	switch split := t.syntax.Orderly("o", "", "") == ""; {
	case within && split: // all of the range that is left
		s.Add("o.bucket = ", s.Arg(after.Bucket), " AND ", t.o.order, " > ", s.Arg(after.Seq))
	case within:
		s.Add("o.bucket >= ", s.Arg(after.Bucket), " AND ", t.syntax.Orderly("o", s.Arg(after.Bucket),
			s.Arg(after.Seq)), " AND o.bucket < ", s.Arg(r.To))
	default:
		s.Add("o.bucket >= ", s.Arg(max(r.From, after.Bucket)), " AND o.bucket < ", s.Arg(r.To))
	}
	also(s)
	s.Add(" ORDER BY o.bucket, ", t.o.order, t.db.Limit(s.Arg(n), 0))
}

func nothing(*statement.Statement) {}

func (t *Table) inRanges(s *statement.Statement, ranges []claims.Range) {
	if ranges == nil || t.side != "" {
		return
	}
	s.Add(" AND ")
	within(s, "o.bucket", ranges)
}

func within(s *statement.Statement, bucket string, ranges []claims.Range) {
	s.Add("(1 = 0")
	for _, r := range ranges {
		s.Add(" OR ", bucket, " >= ", s.Arg(r.From), " AND ", bucket, " < ", s.Arg(r.To))
	}
	s.Add(")")
}
