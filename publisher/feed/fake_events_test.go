package feed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

func (t *fakeTable) row(r *fakeRow) event.Row {
	bucket := r.bucket
	if t.db.mapped {
		bucket = 0
	}
	return event.Row{
		Ref: event.Ref{Seq: r.seq}, Bucket: bucket, Attempts: r.attempts,
		Waits: t.db.blocked(r, false), Timed: !r.available.IsZero(), Early: max(0, r.available.Sub(t.db.now())),
		Expired: !r.expires.IsZero() && !r.expires.After(t.db.now()),
		Outbox: change.Outbox{
			AggregateType: r.agg.Type, AggregateID: r.agg.ID, EventType: "Changed", IdempotencyKey: fmt.Sprintf("key-%d", r.seq),
			Payload: []byte(`{"a":1}`), JSON: true, CreatedAt: time.Now().UTC(),
		},
	}
}

func within(ranges []claims.Range, bucket int) bool {
	return ranges == nil || slices.ContainsFunc(ranges, func(r claims.Range) bool {
		return r.From <= bucket && bucket < r.To
	})
}

// sorted are the committed rows as a fetch goes through them: by bucket where there are ranges.
func (t *fakeTable) sorted(ranges []claims.Range) []*fakeRow {
	var rows []*fakeRow
	if t.db.mapped {
		ranges = nil
	}
	for _, r := range t.db.rows {
		if r.committed && within(ranges, r.bucket) {
			rows = append(rows, r)
		}
	}
	if ranges != nil {
		slices.SortStableFunc(rows, func(a, b *fakeRow) int { return cmp.Compare(a.bucket, b.bucket) })
	}
	return rows
}

func (t *fakeTable) Fetch(ctx context.Context, ranges []claims.Range, bySeq bool,
	limit poller.Limit) (rows []event.Row, more bool, err error) {
	err = t.do(ctx, "fetch", func() error {
		rows, more = nil, false
		list := t.sorted(ranges)
		if bySeq && ranges != nil {
			list = t.bySeq(ranges, limit.Rows)
		}
		for _, r := range list {
			switch {
			case r.state != event.Pending:
			case len(rows) == limit.Rows:
				more = true
				return nil
			default:
				rows = append(rows, t.row(r))
			}
		}
		return nil
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read += len(rows)
	return rows, more, err
}

// bySeq looks at a bounded number of pending rows, as a table does.
func (t *fakeTable) bySeq(ranges []claims.Range, n int) []*fakeRow {
	list := slices.DeleteFunc(t.sorted(nil), func(r *fakeRow) bool { return r.state != event.Pending })
	slices.SortFunc(list, func(a, b *fakeRow) int { return cmp.Compare(a.seq, b.seq) })
	if most := 2 * n * claims.Buckets / max(claims.Width(ranges), 1); claims.Width(ranges) < claims.Buckets {
		list = list[:min(len(list), most)]
	}
	return slices.DeleteFunc(list, func(r *fakeRow) bool { return !within(ranges, r.bucket) })
}

func (t *fakeTable) Others(ctx context.Context, ranges []claims.Range, avoid []event.Aggregate,
	limit poller.Limit) (rows []event.Row, err error) {
	err = t.do(ctx, "others", func() error {
		rows = nil
		for _, r := range t.sorted(ranges) {
			if r.state == event.Pending && !slices.Contains(avoid, r.agg) && len(rows) < limit.Rows && !t.db.blocked(r, false) {
				rows = append(rows, t.row(r))
			}
		}
		return nil
	})
	return rows, err
}

func (t *fakeTable) Again(ctx context.Context, refs []event.Ref) (rows []event.Row, err error) {
	err = t.do(ctx, "again", func() error {
		rows = nil
		for _, ref := range refs {
			if r := t.db.at(ref.Seq); r.state == event.Pending && !t.db.blocked(r, false) {
				rows = append(rows, t.row(r))
			}
		}
		return nil
	})
	return rows, err
}

func (t *fakeTable) Work(ctx context.Context, partitions []int, n int) (parts []int, err error) {
	err = t.do(ctx, "work", func() error {
		parts = nil
		for _, r := range t.db.rows {
			i := claims.PartitionAt(r.bucket, n)
			if t.db.work(r) && slices.Contains(partitions, i) && !slices.Contains(parts, i) {
				parts = append(parts, i)
			}
		}
		return nil
	})
	return parts, err
}

func (t *fakeTable) Due(ctx context.Context, ranges []claims.Range, limit poller.Limit) (rows []event.Row,
	next time.Duration, err error) {
	err = t.do(ctx, "due", func() error {
		size := 0
		rows, next = nil, -1
		for _, r := range t.sorted(ranges) {
			if r.state != event.Failed || t.db.blocked(r, true) {
				continue
			}
			if wait := r.next.Sub(t.db.now()); wait > 0 {
				if next < 0 || wait < next {
					next = wait
				}
				continue
			}
			size += len(t.row(r).Outbox.Payload)
			if len(rows) >= limit.Rows || len(rows) > 0 && limit.Bytes > 0 && size > limit.Bytes {
				continue
			}
			due := t.row(r)
			due.Waits = false // that is not asked
			rows = append(rows, due)
		}
		return nil
	})
	return rows, next, err
}

func (t *fakeTable) Settle(ctx context.Context, owner string, held int, m event.Marks) error {
	return t.do(ctx, "settle", func() error {
		if n := t.db.holds(owner); n < held || held == 0 {
			return fmt.Errorf("%w: %d of %d", claims.ErrLost, n, held)
		}
		var unmarked event.UnmarkedError
		for _, r := range m.Published {
			switch row := t.db.at(r.Seq); {
			case row.stuck:
				unmarked.Refs = append(unmarked.Refs, r)
			case row.state == event.Pending:
				row.state = event.Published
			}
		}
		for _, f := range m.Failed {
			row := t.db.at(f.Ref.Seq)
			if row.stuck {
				unmarked.Refs = append(unmarked.Refs, f.Ref)
				continue
			}
			if row.state != event.Pending && row.state != event.Failed ||
				row.attempts != f.Attempts && row.attempts != f.Attempts-1 {
				continue
			}
			row.state, row.attempts, row.next = event.Failed, f.Attempts, t.db.now().Add(f.Delay)
			if f.Dead {
				row.state = event.Dead
			}
			t.db.log("%s: %d of %v fails: %s", owner, row.seq, row.agg, row.state)
		}
		slices.SortFunc(m.Waiting, func(a, b event.Marked) int { return cmp.Compare(a.Ref.Seq, b.Ref.Seq) })
		for _, w := range m.Waiting {
			if row := t.db.at(w.Ref.Seq); row.state == event.Pending && t.db.blocked(row, false) {
				row.state = event.Waiting
			}
		}
		t.time(owner, &m)
		for _, r := range m.Retried {
			if row := t.db.at(r.Ref.Seq); row.state == event.Failed {
				row.state = event.Published
			}
			t.db.letGo(r.Aggregate)
		}
		for _, f := range m.Failed {
			t.db.letGo(f.Aggregate)
		}
		if unmarked.Refs != nil {
			return &unmarked
		}
		return nil
	})
}

// time settles what has a time.
func (t *fakeTable) time(owner string, m *event.Marks) {
	for i := range m.Held {
		row := t.db.at(m.Held[i].Ref.Seq)
		if row.attempts == 0 && (row.state == event.Pending || row.state == event.Failed) {
			row.state, row.next = event.Failed, t.db.now().Add(m.Held[i].Delay)
			t.db.log("%s: %d of %v is held for %s", owner, row.seq, row.agg, m.Held[i].Delay)
		}
	}
	for _, w := range m.Woken {
		if row := t.db.at(w.Ref.Seq); row.state == event.Failed && row.attempts == 0 {
			row.state = event.Pending
			t.db.log("%s: %d of %v is woken", owner, row.seq, row.agg)
		}
		t.db.letGo(w.Aggregate)
	}
	for _, e := range m.Expired {
		if row := t.db.at(e.Ref.Seq); row.state == event.Pending || row.state == event.Failed {
			row.state = event.Discarded
		}
		t.db.letGo(e.Aggregate)
	}
}

func (t *fakeTable) Mend(ctx context.Context) (n int, err error) {
	err = t.do(ctx, "mend", func() error {
		n = t.db.flip(nil)
		return nil
	})
	return n, err
}

func (t *fakeTable) Figures(ctx context.Context) (f poller.OutboxFigures, err error) {
	err = t.do(ctx, "figures", func() error {
		f = poller.OutboxFigures{}
		for _, r := range t.db.rows {
			switch r.state {
			case event.Pending:
				f.Pending++
			case event.Failed:
				f.Failed++
			case event.Waiting:
				f.Waiting++
			case event.Dead:
				f.Dead++
			}
		}
		return nil
	})
	return f, err
}
