package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

func (t *fakeTable) row(r *fakeRow) row {
	return row{
		ref: ref{seq: r.seq}, at: position{bucket: r.bucket, seq: r.seq}, attempts: r.attempts, waits: t.db.blocked(r, false),
		outbox: change.Outbox{
			AggregateType: r.agg.typ, AggregateID: r.agg.id, EventType: "Changed", IdempotencyKey: fmt.Sprintf("key-%d", r.seq),
			Payload: []byte(`{"a":1}`), JSON: true, CreatedAt: time.Now().UTC(),
		},
	}
}

func within(ranges []bucketRange, bucket int) bool {
	return ranges == nil || slices.ContainsFunc(ranges, func(r bucketRange) bool { return r.from <= bucket && bucket < r.to })
}

// sorted are the committed rows as a fetch goes through them: by bucket where there are ranges.
func (t *fakeTable) sorted(ranges []bucketRange) []*fakeRow {
	var rows []*fakeRow
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

func (t *fakeTable) fetch(ctx context.Context, ranges []bucketRange, after position, limit poller.Limit) (rows []row, more bool, err error) {
	err = t.do(ctx, "fetch", func() error {
		rows, more = nil, false
		list := t.sorted(ranges)
		if after.bySeq {
			slices.SortFunc(list, func(a, b *fakeRow) int { return cmp.Compare(a.seq, b.seq) })
		}
		for _, r := range list {
			behind := r.bucket > after.bucket || r.bucket == after.bucket && r.seq > after.seq
			if ranges == nil || after.bySeq {
				behind = r.seq > after.seq
			}
			switch {
			case r.state != Pending || !behind:
			case len(rows) == limit.Rows:
				more = true
				return nil
			default:
				rows = append(rows, t.row(r))
			}
		}
		return nil
	})
	return rows, more, err
}

func (t *fakeTable) pick(ctx context.Context, by claim, limit poller.Limit) ([]row, bool, error) {
	type page struct {
		rows []row
		more bool
	}
	p, err := ask(ctx, t, "pick", func() (p page, err error) {
		if !t.db.member(by.owner) {
			return p, errLost
		}
		mine := map[aggregate]bool{}
		for _, r := range t.sorted(nil) {
			if r.state != Pending && r.state != Publishing {
				continue
			}
			if _, claimed := t.db.live(unitOfAggregate(r.agg)); claimed && !mine[r.agg] {
				continue
			}
			if len(p.rows) == limit.Rows {
				p.more = true
				return p, nil
			}
			if !mine[r.agg] {
				mine[r.agg] = true
				t.db.claims[unitOfAggregate(r.agg)] = fakeClaim{by.owner, by.token, t.db.now().Add(by.ttl), &r.agg}
			}
			p.rows = append(p.rows, t.row(r))
			r.state = Publishing
		}
		return p, nil
	})
	return p.rows, p.more, err
}

func (t *fakeTable) due(ctx context.Context, ranges []bucketRange, limit poller.Limit, c claim) (rows []row, next time.Duration, err error) {
	err = t.do(ctx, "due", func() error {
		size := 0
		rows, next = nil, -1
		if c.owner != "" && !t.db.member(c.owner) {
			return errLost
		}
		for _, r := range t.sorted(ranges) {
			if r.state != Failed || t.db.blocked(r, true) {
				continue
			}
			if wait := r.next.Sub(t.db.now()); wait > 0 {
				if next < 0 || wait < next {
					next = wait
				}
				continue
			}
			size += len(t.row(r).outbox.Payload)
			if len(rows) >= limit.Rows || len(rows) > 0 && limit.Bytes > 0 && size > limit.Bytes {
				continue
			}
			if c.owner != "" {
				if _, claimed := t.db.live(unitOfAggregate(r.agg)); claimed {
					continue
				}
				t.db.claims[unitOfAggregate(r.agg)] = fakeClaim{c.owner, c.token, t.db.now().Add(c.ttl), &r.agg}
			}
			rows = append(rows, t.row(r))
		}
		return nil
	})
	return rows, next, err
}

func (t *fakeTable) other(ctx context.Context, ranges []bucketRange, avoid []aggregate) (found *row, err error) {
	err = t.do(ctx, "other", func() error {
		for _, r := range t.sorted(ranges) {
			_, claimed := t.db.live(unitOfAggregate(r.agg))
			claimed = claimed || slices.ContainsFunc(t.db.rows, func(b *fakeRow) bool { return b.agg == r.agg && b.state == Publishing })
			if r.state == Pending && !claimed && !t.db.blocked(r, false) && !slices.Contains(avoid, r.agg) {
				one := t.row(r)
				found = &one
				return nil
			}
		}
		return nil
	})
	return found, err
}

func (t *fakeTable) settle(ctx context.Context, owner string, held int, m marks) error {
	return t.do(ctx, "settle", func() error {
		if n := t.db.holds(owner); n < held || held == 0 {
			return fmt.Errorf("%w: %d of %d", errLost, n, held)
		}
		open := func(r *fakeRow) bool { return r.state == Pending || r.state == Publishing }
		for _, r := range m.published {
			if row := t.db.at(r.seq); open(row) {
				row.state = Published
			}
		}
		for _, f := range m.failed {
			row := t.db.at(f.ref.seq)
			if !open(row) && row.state != Failed || row.attempts != f.attempts && row.attempts != f.attempts-1 {
				continue
			}
			row.state, row.attempts, row.next = Failed, f.attempts, t.db.now().Add(f.delay)
			if f.dead {
				row.state = Dead
			}
			t.db.log("%s: %d of %v fails: %s", owner, row.seq, row.agg, row.state)
		}
		slices.SortFunc(m.waiting, func(a, b marked) int { return cmp.Compare(a.ref.seq, b.ref.seq) })
		for _, w := range m.waiting {
			if row := t.db.at(w.ref.seq); open(row) {
				row.state = Pending
				if t.db.blocked(row, false) {
					row.state = Waiting
				}
			}
		}
		for _, r := range m.retried {
			if row := t.db.at(r.ref.seq); row.state == Failed {
				row.state = Published
			}
			t.db.letGo(r.aggregate)
		}
		for _, f := range m.failed {
			t.db.letGo(f.aggregate)
		}
		for _, r := range m.returned {
			if row := t.db.at(r.seq); row.state == Publishing {
				row.state = Pending
			}
		}
		for _, a := range m.freed {
			if c, ok := t.db.claims[unitOfAggregate(a)]; ok && c.owner == owner {
				delete(t.db.claims, unitOfAggregate(a))
			}
		}
		return nil
	})
}

func (t *fakeTable) mend(ctx context.Context) (n int, err error) {
	err = t.do(ctx, "mend", func() error {
		n = t.db.flip(nil)
		for _, r := range t.db.rows {
			if _, claimed := t.db.live(unitOfAggregate(r.agg)); r.state == Publishing && !claimed {
				r.state = Pending
				n++
			}
		}
		return nil
	})
	return n, err
}

func (t *fakeTable) work(context.Context, int) ([]int, error) { return nil, errors.New("not modelled") }

func (t *fakeTable) figures(ctx context.Context) (f poller.OutboxFigures, err error) {
	err = t.do(ctx, "figures", func() error {
		f = poller.OutboxFigures{}
		for _, r := range t.db.rows {
			switch r.state {
			case Pending, Publishing:
				f.Pending++
			case Failed:
				f.Failed++
			case Waiting:
				f.Waiting++
			case Dead:
				f.Dead++
			}
		}
		return nil
	})
	return f, err
}
