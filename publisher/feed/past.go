package feed

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// past is the look past busy aggregates, at the others in their buckets. No index tells aggregates apart, so that it
// reads a backlog from one end to the other. That takes place beside the session, which goes on meanwhile.
//
// It says which events are the first of their aggregates. They are read again before they are handed out: what was
// published meanwhile, or waits, is left out. An earlier event of theirs cannot have come meanwhile, because writers
// lock the aggregate before they draw a number.
type past struct {
	found chan sighting // nil while no look is under way
	begun time.Time
	ended sync.WaitGroup
}

// sighting is what a look has found.
type sighting struct {
	refs []event.Ref
	err  error
}

const (
	// pastShare is how many times as long as it took a session waits before it looks past busy aggregates again.
	pastShare = 1
	// pastTimeout bounds that: what is farther off has to wait.
	pastTimeout = 5 * time.Second
	// pastPatience is how long a fetch waits for a look that it has begun: most are short.
	pastPatience = 20 * time.Millisecond
	// busyFrom is how many events in flight make an aggregate a busy one. Under skip_locked its partition is kept.
	busyFrom = 8
)

// readPast reads what the last look past busy aggregates has found in crowded buckets, and begins the next look.
func (s *session) readPast(ctx context.Context, crowded []int, limit poller.Limit) ([]event.Row, error) {
	p := &s.past
	var patience time.Duration
	if p.found == nil {
		patience = pastPatience
		if s.lookPast(crowded, limit); p.found == nil {
			return nil, nil
		}
	}
	found, ended := p.take(patience)
	if !ended {
		return nil, nil
	}
	p.found, s.hold.past = nil, time.Now().Add(pastShare*time.Since(p.begun))
	if found.err != nil || len(found.refs) == 0 {
		return nil, nil // a fault that lasts is met by the session's own fetches
	}
	rows, err := s.outbox.Events.Again(ctx, found.refs)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r event.Row) bool { return !slices.Contains(crowded, r.At.Bucket) })
	rows, _ = s.fresh(rows, limit.Rows, false)
	rows, _ = s.bounded(rows, limit)
	return rows, nil
}

// take returns what the look under way has found, if that ends in time.
func (p *past) take(patience time.Duration) (found sighting, ended bool) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case found = <-p.found:
		return found, true
	case <-timer.C:
	}
	select {
	case found = <-p.found:
		return found, true
	default:
		return found, false
	}
}

// lookPast begins a look, where it is due and there is a busy aggregate.
func (s *session) lookPast(crowded []int, limit poller.Limit) {
	var avoid []event.Aggregate
	s.mu.Lock()
	for a, l := range s.inFlight.of {
		if l.events >= busyFrom && len(avoid) < maxCrowded && slices.Contains(crowded, l.bucket) {
			avoid = append(avoid, a)
		}
	}
	s.mu.Unlock()
	if len(avoid) == 0 || time.Now().Before(s.hold.past) {
		return
	}
	ranges := make([]claims.Range, len(crowded))
	for i, b := range slices.Sorted(slices.Values(crowded)) {
		ranges[i] = claims.Range{From: b, To: b + 1}
	}
	p := &s.past
	found := make(chan sighting, 1)
	p.found, p.begun = found, time.Now()
	p.ended.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, pastTimeout)
		defer cancel()
		rows, err := s.outbox.Events.Others(ctx, ranges, avoid, limit)
		refs := make([]event.Ref, len(rows))
		for i := range rows {
			refs[i] = rows[i].Ref
		}
		found <- sighting{refs, err}
	})
}
