package feed

import (
	"context"
	"fmt"
	"slices"
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
	// What waits for a retry goes on when that is settled, which may be while the page is read: it did not show that then.
	begun, retrying := time.Now(), s.retrying()
	page, more, err := s.page(ctx, ranges, limit)
	if err != nil {
		return poller.Grant{}, faultOf(poller.FetchFailed, "fetching", err)
	}
	page, moved, err := s.timed(ctx, page, false)
	if err != nil {
		return poller.Grant{}, err
	}
	grant, left := s.handOut(page, change.Live, begun)
	full := more
	more = more || len(s.crowded) > 0
	grant.Batch.More = more || len(grant.Batch.Events) > 0 && (s.others || retrying)
	if s.strategy == claims.SkipLocked {
		s.widen(full)
		if err := s.giveBack(context.WithoutCancel(ctx)); err != nil { // what the page had no room for
			return poller.Grant{}, faultOf(poller.LeaseAcquireFailed, "giving partitions back", err)
		}
	}
	switch empty := len(grant.Batch.Events) == 0; {
	case moved:
		grant.Batch.More = true
	case empty && (left || more && s.anyInFlight() || retrying):
		grant.Batch.More = true
		s.await(ctx)
	}
	s.idle = len(grant.Batch.Events) == 0 && !grant.Batch.More
	return grant, nil
}

// page reads the next rows of the round, without those in flight, and moves on. more says that more rows follow in
// buckets that are not crowded.
func (s *session) page(ctx context.Context, ranges []claims.Range, limit poller.Limit) (page []event.Row, more bool,
	err error) {
	s.crowded = slices.DeleteFunc(s.crowded, func(b int) bool { return !contain(ranges, b) })
	crowded, others := slices.Clone(s.crowded), limit
	if len(crowded) > 0 {
		others.Rows -= limit.Rows / 2
	}
	if page, more, err = s.readOthers(ctx, s.uncrowded(ranges), others); err != nil {
		return nil, false, err
	}
	page, left := s.bounded(page, limit)
	apart, err := s.readPast(ctx, crowded, limit)
	if err == nil && len(apart) == 0 { // otherwise both might bring the same rows
		apart, err = s.readCrowded(ctx, crowded, limit, limit.Rows-len(page))
	}
	return append(page, apart...), more || left, err
}

// readOthers reads what is in no crowded bucket. By bucket it goes from where the round is to the end, and then from
// the low end up to there: so that none starves, and nothing is read of what others have claimed, however much that is.
func (s *session) readOthers(ctx context.Context, ranges []claims.Range, limit poller.Limit) (page []event.Row,
	more bool, err error) {
	switch {
	case len(ranges) == 0:
		return nil, false, nil
	case s.strategy != claims.SkipLocked && len(s.crowded) == 0 &&
		(claims.Width(ranges) == claims.Buckets || claims.Width(ranges) >= wide && s.full):
		return s.readBySeq(ctx, ranges, limit)
	}
	at := s.round.bucket
	page, more, err = s.read(ctx, from(ranges, at), false, limit)
	if low := below(ranges, at); err == nil && !more && len(low) > 0 {
		if more = len(page) >= limit.Rows; !more {
			var rest []event.Row
			rest, more, err = s.read(ctx, low, false, poller.Limit{Rows: limit.Rows - len(page), Bytes: limit.Bytes})
			page = append(page, rest...)
		}
	}
	if err != nil {
		return nil, false, err
	}
	last := at
	if len(page) > 0 {
		last = page[len(page)-1].Bucket
	}
	page, more = s.fresh(page, limit, more)
	s.full = more
	s.round.next(last, more)
	return page, more, nil
}

// readBySeq reads the first rows by seq. Of a part of the buckets there may be more behind those of others: the next
// page is read by bucket then.
func (s *session) readBySeq(ctx context.Context, ranges []claims.Range, limit poller.Limit) (page []event.Row,
	more bool, err error) {
	page, more, err = s.read(ctx, ranges, true, limit)
	if err != nil {
		return nil, false, err
	}
	page, more = s.fresh(page, limit, more)
	s.full = more
	return page, more || claims.Width(ranges) < claims.Buckets, nil
}

func (s *session) anyInFlight() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inFlight.events) > 0
}

// retrying reports whether a retry is in flight.
func (s *session) retrying() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFlight.retries > 0 && s.cfg.Ordering != poller.OrderNone
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
	kept := list[:0]
	for i, e := range list {
		if s.cfg.Ordering == poller.OrderKey && kind == change.Live && !e.Waits && s.uncertain(string(e.OrderKey)) {
			continue
		}
		r := &rows[i]
		f := sent{
			bucket: r.Bucket, bytes: len(r.Outbox.Payload), aggregate: r.Aggregate(), orderKey: string(e.OrderKey),
			waits: e.Waits, retry: kind == change.Retry,
		}
		s.inFlight.add(r.Ref, f)
		s.refs[e.Outbox] = r.Ref
		kept = append(kept, e)
	}
	if len(kept) == 0 {
		return poller.Grant{}, len(list) > 0
	}
	grant := s.grant(kept, "batch", now)
	grant.Batch.Kind, grant.Batch.FetchTime = kind, now.Sub(begun)
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
	delete(s.parked, orderKey)
	return false
}

// grant is a batch with the session's deadline.
func (s *session) grant(list []change.Event, name string, now time.Time) poller.Grant {
	s.batches++
	return poller.Grant{
		Batch: change.Batch{ID: fmt.Sprintf("%s_%s_%04d", name, now.UTC().Format("20060102_150405"), s.batches),
			Events: list, Fetched: now},
		Context: s.ctx, Token: s.token, Origin: s.outbox.Origin, Check: s.check,
		ByRow: s.cfg.Ordering != poller.OrderSource, Bounded: s.cfg.Ordering != poller.OrderSource,
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
