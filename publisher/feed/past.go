package feed

import (
	"context"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

const (
	// pastShare is how many times as long as it took a session waits after a look that took longer than pastPatience: it
	// is work for the database, and on SQLite without WAL nobody writes meanwhile. After a shorter one it waits as long.
	pastShare = 2
	// pastTimeout bounds that: what is farther off has to wait.
	pastTimeout = 5 * time.Second
	// pastPatience is how long a fetch waits for a look that it has begun: most are short.
	pastPatience = 50 * time.Millisecond
	// busyFrom is how many events in flight make an aggregate a busy one. Under skip_locked its partition is kept.
	busyFrom = 8
)

// readPast reads what the last look past busy aggregates has found in crowded buckets, and begins the next look.
func (s *session) readPast(ctx context.Context, crowded []int, limit poller.Limit) ([]event.Row, error) {
	refs := s.past.take(0)
	if s.lookPast(crowded, limit) && len(refs) == 0 {
		refs = s.past.take(pastPatience)
	}
	if len(refs) == 0 {
		return nil, nil
	}
	rows, err := s.outbox.Events.Again(ctx, refs)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r event.Row) bool { return !slices.Contains(crowded, r.Bucket) })
	rows, _ = s.fresh(rows, limit, false)
	rows, _ = s.bounded(rows, limit)
	return rows, nil
}

// lookPast begins a look, where it is due and there is a busy aggregate, and reports whether it did.
func (s *session) lookPast(crowded []int, limit poller.Limit) bool {
	p := &s.past
	if p.found != nil || time.Now().Before(p.next) {
		return false
	}
	var avoid []event.Aggregate
	s.mu.Lock()
	for a, l := range s.inFlight.of {
		if l.events >= busyFrom && len(avoid) < maxCrowded && slices.Contains(crowded, l.bucket) {
			avoid = append(avoid, a)
		}
	}
	s.mu.Unlock()
	if len(avoid) == 0 {
		return false
	}
	ranges := claims.RangesOf(crowded, claims.Buckets)
	found := make(chan sighting, 1)
	p.found = found
	p.ended.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, pastTimeout)
		defer cancel()
		begun := time.Now()
		rows, _ := s.outbox.Events.Others(ctx, ranges, avoid, limit) // without rows where it fails
		refs := make([]event.Ref, len(rows))
		for i := range rows {
			refs[i] = rows[i].Ref
		}
		ended := time.Now()
		rest := ended.Sub(begun)
		if rest > pastPatience {
			rest *= pastShare
		}
		found <- sighting{refs, ended.Add(rest)}
	})
	return true
}
