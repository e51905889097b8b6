package feed

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// settleWait bounds how long a fetch waits for a settlement under way, if it found only events which that one is about.
const settleWait = 100 * time.Millisecond

// fetch brings events that can be published.
func (s *session) fetch(ctx context.Context, ranges []claims.Range, limit poller.Limit) (poller.Grant, error) {
	s.mu.Lock()
	s.inFlight.beginFetch()
	s.mu.Unlock()
	defer s.endFetch()
	begun := time.Now()
	page, more, err := s.page(ctx, ranges, limit)
	if err != nil {
		return poller.Grant{}, faultOf(poller.FetchFailed, "fetching", err)
	}
	grant, left := s.handOut(page, change.Live, begun)
	grant.Batch.More = more || s.others && len(grant.Batch.Events) > 0
	if s.strategy == claims.SkipLocked {
		s.widen(more)
		if err := s.giveBack(context.WithoutCancel(ctx)); err != nil { // what the page had no room for
			return poller.Grant{}, faultOf(poller.LeaseAcquireFailed, "giving partitions back", err)
		}
	}
	if len(grant.Batch.Events) == 0 && (left || more && s.anyInFlight()) {
		grant.Batch.More = true
		s.await(ctx)
	}
	s.idle = len(grant.Batch.Events) == 0 && !grant.Batch.More
	return grant, nil
}

// page reads the next rows of the round, without those in flight, and moves on. more says that the round is incomplete,
// or that more rows follow.
func (s *session) page(ctx context.Context, ranges []claims.Range, limit poller.Limit) (page []event.Row, more bool,
	err error) {
	if ranges == nil {
		if page, more, err = s.read(ctx, nil, claims.Range{From: 0, To: claims.Buckets}, limit); err != nil {
			return nil, false, err
		}
		page, more = s.fresh(page, limit.Rows, more)
		return page, more, nil
	}
	if s.strategy == claims.SkipLocked {
		return s.readTurned(ctx, ranges, limit)
	}
	if s.round.segments != nil {
		return s.readSegments(ctx, limit)
	}
	if isWide(ranges) {
		return s.readBySeq(ctx, ranges, limit)
	}
	if page, more, err = s.read(ctx, ranges, claims.Range{From: s.round.bucket, To: claims.Buckets}, limit); err != nil {
		return nil, false, err
	}
	last := s.round.bucket
	if len(page) > 0 {
		last = page[len(page)-1].At.Bucket
	}
	full := more
	page, more = s.fresh(page, limit.Rows, more)
	more = s.round.next(last, more)
	if full {
		s.beginSegments(ranges, limit)
	}
	return page, more, nil
}

// readBySeq reads the first rows by seq. An aggregate with a backlog must not keep others waiting: after a page of few
// aggregates, the next round reads in segments.
func (s *session) readBySeq(ctx context.Context, ranges []claims.Range, limit poller.Limit) (page []event.Row,
	more bool, err error) {
	s.mu.Lock()
	rows, bytes := s.inFlight.within(claims.Range{From: 0, To: claims.Buckets})
	s.mu.Unlock()
	page, more, err = s.outbox.Events.Fetch(ctx, ranges, event.Position{Seq: math.MinInt64, BySeq: true},
		poller.Limit{Rows: limit.Rows + rows, Bytes: limit.Bytes + bytes})
	if err != nil {
		return nil, false, err
	}
	page, more = s.fresh(page, limit.Rows, more)
	if more && fewAggregates(page) {
		s.beginSegments(ranges, limit)
	}
	return page, more, nil
}

// readTurned reads by bucket from the partition that chance has put first, and then from the low end up to it: so that
// none starves, and nothing is read of what others have claimed, however much that is.
func (s *session) readTurned(ctx context.Context, ranges []claims.Range, limit poller.Limit) (page []event.Row,
	more bool, err error) {
	start := s.turn
	page, more, err = s.read(ctx, ranges, claims.Range{From: start, To: claims.Buckets}, limit)
	if below := belowOf(ranges, start); err == nil && !more && len(page) < limit.Rows && below != nil {
		var rest []event.Row
		rest, more, err = s.read(ctx, below, claims.Range{From: 0, To: start},
			poller.Limit{Rows: limit.Rows - len(page), Bytes: limit.Bytes})
		page = append(page, rest...)
	}
	if err != nil {
		return nil, false, err
	}
	page, more = s.fresh(page, limit.Rows, more)
	return page, more, nil
}

// belowOf is the part of the ranges below a bucket.
func belowOf(ranges []claims.Range, bucket int) (below []claims.Range) {
	for _, r := range ranges {
		if r.From < bucket {
			below = append(below, claims.Range{From: r.From, To: min(r.To, bucket)})
		}
	}
	return below
}

// read fetches from the beginning of a bucket. It asks for as many rows more as are in flight there.
func (s *session) read(ctx context.Context, ranges []claims.Range, from claims.Range,
	limit poller.Limit) ([]event.Row, bool, error) {
	s.mu.Lock()
	rows, bytes := s.inFlight.within(from)
	s.mu.Unlock()
	var after event.Position
	if ranges != nil {
		after = event.Position{Bucket: from.From, Seq: math.MinInt64}
	}
	return s.outbox.Events.Fetch(ctx, ranges, after, poller.Limit{Rows: limit.Rows + rows, Bytes: limit.Bytes + bytes})
}

func (s *session) anyInFlight() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inFlight.events) > 0
}

// fresh leaves out the rows that are in flight or were when the fetch began. It returns at most so many rows: the
// others come with a later page.
func (s *session) fresh(rows []event.Row, most int, more bool) ([]event.Row, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := rows[:0]
	for _, r := range rows {
		if s.inFlight.known(r.Ref) {
			continue
		}
		if len(fresh) == most {
			return fresh, true
		}
		fresh = append(fresh, r)
	}
	return fresh, more
}

func (s *session) endFetch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight.endFetch()
}

// handOut makes rows a batch in flight. It leaves out rows of which it is uncertain whether they may be sent, and
// reports whether there were any. They come with a later page, which shows all of their aggregates again.
func (s *session) handOut(rows []event.Row, kind change.Kind, begun time.Time) (poller.Grant, bool) {
	now := time.Now()
	list := eventsOf(rows, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, refs := list[:0], make([]event.Ref, 0, len(list))
	for i, e := range list {
		if s.cfg.Ordering == poller.OrderKey && kind == change.Live && !e.Waits && s.uncertain(string(e.OrderKey)) {
			continue
		}
		r := &rows[i]
		f := sent{
			bucket: r.At.Bucket, bytes: len(r.Outbox.Payload), orderKey: string(e.OrderKey), waits: e.Waits,
			retry: kind == change.Retry,
		}
		s.inFlight.add(r.Ref, f)
		kept, refs = append(kept, e), append(refs, r.Ref)
	}
	if len(kept) == 0 {
		return poller.Grant{}, len(list) > 0
	}
	grant := s.grant(kept, "batch", now)
	grant.Batch.Kind, grant.Batch.FetchTime = kind, now.Sub(begun)
	s.refs[grant.Batch.ID] = refs
	return grant, len(kept) < len(list)
}

// uncertain reports whether an event that was fetched as publishable must not be handed out: a settlement beside the
// fetch changed its aggregate, or earlier events of it are in flight that will be absorbed.
//
// An aggregate may be parked here, and publishable in a fetch that began after its failure was stored. Then an operator
// has dealt with the failed event, or (skip_locked) another instance has retried it. It is parked no longer.
func (s *session) uncertain(orderKey string) bool {
	f := &s.inFlight
	if f.changed[orderKey] || f.settling[orderKey] || f.waiting[orderKey] > 0 {
		return true
	}
	since, parked := s.parked[orderKey]
	switch {
	case !parked:
		return false
	case since >= f.fetches, f.has(orderKey):
		return true
	}
	s.unpark(orderKey)
	return false
}

// grant is a batch with the session's deadline.
func (s *session) grant(list []change.Event, name string, now time.Time) poller.Grant {
	s.batches++
	return poller.Grant{
		Batch: change.Batch{ID: fmt.Sprintf("%s_%s_%04d", name, now.UTC().Format("20060102_150405"), s.batches),
			Events: list, Fetched: now},
		Context: s.ctx, Token: s.token, Origin: s.outbox.Origin, Check: s.check,
	}
}

// await waits for a settlement, for settleWait at most.
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
	s.parked[orderKey] = s.inFlight.fetches
	s.parkedKeys.Store(int64(len(s.parked)))
}

func (s *session) unpark(orderKey string) {
	delete(s.parked, orderKey)
	s.parkedKeys.Store(int64(len(s.parked)))
}
