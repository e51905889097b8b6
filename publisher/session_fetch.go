package publisher

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// pass is where a session's way round its buckets stands. A page begins at the beginning of a bucket, never within one: all
// events of an aggregate are in one bucket, so that a page shows of each of its aggregates everything from the first event
// on, whatever became visible since the page before. What is in flight of that bucket is read again and left out.
type pass struct {
	bucket int // where the next page begins
	same   int // how many pages in a row did not get beyond it
}

// maxSame is how many pages one bucket gets before the others have their turn: one aggregate with a million events must
// not starve them.
const maxSame = 3

// next moves on after a page whose last row is in bucket last; more says that there are rows behind it. It returns whether
// the way round is not complete.
func (p *pass) next(last int, more bool) bool {
	switch {
	case !more:
		complete := p.bucket == 0
		*p = pass{}
		return !complete
	case last > p.bucket:
		*p = pass{bucket: last}
	default:
		if p.same++; p.same >= maxSame {
			*p = pass{bucket: p.bucket + 1}
		}
	}
	return true
}

// settleWait bounds how long a fetch that found nothing but what a settlement under way is about waits for that.
const settleWait = 100 * time.Millisecond

// fetch brings events that can be published.
func (s *session) fetch(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	if s.strategy == SkipLocked {
		return s.pick(ctx, limit)
	}
	ranges, any := s.ranges()
	if !any {
		s.idle = true
		return poller.Grant{}, nil
	}
	var after position
	if ranges != nil {
		after = position{s.pass.bucket, math.MinInt64}
	}
	s.mu.Lock()
	s.flights.begin()
	rows, bytes := s.flights.behind(after.bucket)
	s.mu.Unlock()
	defer s.endFetch()
	begun := time.Now()
	page, more, err := s.table.fetch(ctx, ranges, after, poller.Limit{Rows: limit.Rows + rows, Bytes: limit.Bytes + bytes})
	if err != nil {
		return poller.Grant{}, faultOf(poller.FetchFailed, "fetching", err)
	}
	last := s.pass.bucket
	if len(page) > 0 {
		last = page[len(page)-1].at.bucket
	}
	page = s.fresh(page)
	if len(page) > limit.Rows {
		page, more = page[:limit.Rows], true
		last = page[limit.Rows-1].at.bucket
	}
	if ranges != nil {
		more = s.pass.next(last, more)
	}
	grant, left := s.handOut(page, change.Live, begun)
	grant.Batch.More = more
	if len(grant.Batch.Events) == 0 && (left || len(page) == 0 && more && s.flying()) {
		grant.Batch.More = true
		s.await(ctx)
	}
	s.idle = len(grant.Batch.Events) == 0 && !grant.Batch.More
	return grant, nil
}

// pick is fetch for skip_locked, where what is fetched is claimed with it. An aggregate that is claimed is not picked again
// before that claim has ended, so that a page has nothing of one that is in flight.
func (s *session) pick(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	begun := time.Now()
	s.mu.Lock()
	s.flights.begin()
	s.mu.Unlock()
	defer s.endFetch()
	more := false
	page, err := s.claiming(ctx, func(ctx context.Context, c claim) (rows []row, err error) {
		rows, more, err = s.table.pick(ctx, c.owner, c.token, c.ttl, limit)
		return rows, err
	})
	if err != nil {
		return poller.Grant{}, faultOf(poller.FetchFailed, "picking aggregates", err)
	}
	s.idle = len(page) == 0 && !more
	grant, _ := s.handOut(page, change.Live, begun)
	grant.Batch.More = more
	return grant, nil
}

// claiming runs a fetch that claims the aggregates of what it brings, counts those, and draws the token that they are
// delivered under: see draw. A crash behind it leaves events PUBLISHING, which become publishable when the claims expire.
func (s *session) claiming(ctx context.Context, fetch func(context.Context, claim) ([]row, error)) ([]row, error) {
	ctx = context.WithoutCancel(ctx) // given up half-way it could claim what nobody knows of
	s.exclusive <- struct{}{}
	defer func() { <-s.exclusive }()
	s.mu.Lock()
	c := claim{s.owner, s.token, s.cfg.ClaimTTL}
	s.mu.Unlock()
	rows, err := fetch(ctx, c)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	fresh := rows[:0:0]
	s.mu.Lock()
	for _, r := range rows {
		if _, flies := s.flights.of[r.ref]; flies {
			continue
		}
		a := aggregate{r.outbox.AggregateType, r.outbox.AggregateID}
		if s.flights.aggregates[a] == 0 {
			s.claims.held++
		}
		s.flights.add(r.ref, flight{bucket: r.at.bucket, aggregate: a})
		fresh = append(fresh, r)
	}
	s.mu.Unlock()
	return fresh, s.draw(ctx)
}

func (s *session) flying() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.flights.of) > 0
}

// fresh leaves out what is in flight, or was when the fetch began.
func (s *session) fresh(rows []row) []row {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := rows[:0]
	for _, r := range rows {
		if !s.flights.known(r.ref) {
			fresh = append(fresh, r)
		}
	}
	return fresh
}

func (s *session) endFetch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flights.end()
}

// handOut makes rows a batch in flight. It leaves out, and reports, those of which it cannot be said now whether they may
// go: they come with a later page, which shows everything of their aggregates again.
func (s *session) handOut(rows []row, kind change.Kind, begun time.Time) (poller.Grant, bool) {
	now := time.Now()
	list := eventsOf(rows, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, refs := list[:0], make([]ref, 0, len(list))
	for i, e := range list {
		if s.cfg.Ordering == poller.OrderKey && kind == change.Live && !e.Waits && s.doubtful(string(e.OrderKey)) {
			if s.strategy != SkipLocked {
				continue
			}
			e.Waits = true // it is PUBLISHING: it goes back by being absorbed
		}
		r := &rows[i]
		f := flight{
			bucket: r.at.bucket, bytes: len(r.outbox.Payload), aggregate: aggregate{r.outbox.AggregateType, r.outbox.AggregateID},
			orderKey: string(e.OrderKey), waits: e.Waits, retry: kind == change.Retry,
		}
		if s.strategy == SkipLocked {
			s.flights.landed(r.ref) // it was counted when it was claimed
		}
		s.flights.add(r.ref, f)
		kept, refs = append(kept, e), append(refs, r.ref)
	}
	if len(kept) == 0 {
		return poller.Grant{}, len(list) > 0
	}
	grant := s.grant(kept, "batch", now)
	grant.Batch.Kind, grant.Batch.FetchTime = kind, now.Sub(begun)
	s.refs[grant.Batch.ID] = refs
	return grant, len(kept) < len(list)
}

// doubtful reports whether an event that was fetched as publishable must not be handed out: because a settlement beside the
// fetch concerned its aggregate, or because earlier ones of it are in flight that will be absorbed.
//
// An aggregate that is parked here, and publishable in a fetch that began after that was durable, has lost its failed event
// to an operator, or (skip_locked) its retry to another instance: it is parked no longer.
func (s *session) doubtful(orderKey string) bool {
	f := &s.flights
	if f.stirred[orderKey] || f.settles[orderKey] || f.waiters[orderKey] > 0 {
		return true
	}
	since, parked := s.parked[orderKey]
	switch {
	case !parked:
		return false
	case since >= f.fetch, f.flying(orderKey):
		return true
	}
	s.unpark(orderKey)
	return false
}

// grant is a batch with the right to deliver it.
func (s *session) grant(list []change.Event, name string, now time.Time) poller.Grant {
	s.batches++
	return poller.Grant{
		Batch: change.Batch{ID: fmt.Sprintf("%s_%s_%04d", name, now.UTC().Format("20060102_150405"), s.batches), Events: list, Fetched: now},
		Right: s.right.ctx, Token: s.token, Source: s.desc.Description, Check: s.right.check,
	}
}

// await waits for a settlement, a moment at most.
func (s *session) await(ctx context.Context) {
	timer := time.NewTimer(settleWait)
	defer timer.Stop()
	select {
	case <-s.settled:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *session) park(orderKey string) {
	s.parked[orderKey] = s.flights.fetch
	s.parkedKeys.Store(int64(len(s.parked)))
}

func (s *session) unpark(orderKey string) {
	delete(s.parked, orderKey)
	s.parkedKeys.Store(int64(len(s.parked)))
}
