package rows

import (
	"math"
	"strconv"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// This file is which rows a page is of: their keys, in the order of buckets or of seq.

// keys adds a table expression k of the keys of pending rows in ranges, in order, at most n. Each range is one seek: a
// search over all that lies between them would read what others have to publish.
func (t *Table) keys(s *statement.Statement, ranges []claims.Range, bySeq bool, n int,
	also func(*statement.Statement)) {
	s.Add("(")
	defer s.Add(") k")
	switch {
	case t.side != "" || t.bySource() || bySeq:
		t.keysBySeq(s, ranges, n, also)
		return
	case ranges == nil:
		ranges = []claims.Range{{From: 0, To: claims.Buckets}}
	case len(ranges) == 0:
		ranges = []claims.Range{{From: claims.Buckets, To: claims.Buckets}} // nothing
	}
	if len(ranges) == 1 {
		t.arm(s, ranges[0], n, also)
		return
	}
	s.Add("SELECT bucket, ", t.key, " FROM (")
	for i, r := range ranges {
		if i > 0 {
			s.Add(" UNION ALL ")
		}
		s.Add("SELECT bucket, ", t.key, " FROM (")
		t.arm(s, r, n, also)
		s.Add(") r", strconv.Itoa(i))
	}
	s.Add(") u ORDER BY bucket, ", t.key, t.db.Limit(s.Arg(n), 0))
}

// keysBySeq are keys in the order of the table. Of a part of the buckets it looks at no more than scanned pending rows:
// what others publish may be all that there is for a long while.
func (t *Table) keysBySeq(s *statement.Statement, ranges []claims.Range, n int, also func(*statement.Statement)) {
	part := t.side == "" && ranges != nil && claims.Width(ranges) < claims.Buckets
	if part {
		s.Add("SELECT bucket, ", t.key, " FROM (")
	}
	t.selectKeys(s, t.hints["order"]).Add(t.o.pending)
	if t.side == "" {
		s.Add(" AND ", t.o.order, " > ", s.Arg(int64(math.MinInt64))) // all: it lets engines seek
	}
	also(s)
	s.Add(" ORDER BY ", t.o.order)
	if part {
		s.Add(t.db.Limit(s.Arg(scanned(ranges, n)), 0), ") f WHERE ")
		within(s, "f.bucket", ranges)
		s.Add(" ORDER BY f.", t.key)
	}
	s.Add(t.db.Limit(s.Arg(n), 0))
}

// scanned is twice as many rows as hold n of these buckets where all buckets have the same.
func scanned(ranges []claims.Range, n int) int {
	return 2 * n * claims.Buckets / max(claims.Width(ranges), 1)
}

// arm is one seek.
func (t *Table) arm(s *statement.Statement, r claims.Range, n int, also func(*statement.Statement)) {
	t.selectKeys(s, t.hints["pending"]).Add(t.o.pending, " AND o.bucket >= ", s.Arg(r.From), " AND o.bucket < ",
		s.Arg(r.To))
	also(s)
	s.Add(" ORDER BY o.bucket, ", t.o.order, t.db.Limit(s.Arg(n), 0))
}

func nothing(*statement.Statement) {}

func (t *Table) inRanges(s *statement.Statement, ranges []claims.Range) {
	if ranges == nil || claims.Width(ranges) == claims.Buckets || t.side != "" {
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
