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
	next  time.Time     // when the next one is due
	ended sync.WaitGroup
}

// sighting is what a look has found.
type sighting struct {
	refs []event.Ref
	next time.Time // when the next look is due
}

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
	rows = slices.DeleteFunc(rows, func(r event.Row) bool { return !slices.Contains(crowded, r.At.Bucket) })
	rows, _ = s.fresh(rows, limit.Rows, false)
	rows, _ = s.bounded(rows, limit)
	return rows, nil
}

// take returns what the look under way has found, if it ends in time. A fault of it is none of the session's: one that
// lasts is met by its own fetches.
func (p *past) take(patience time.Duration) []event.Ref {
	if p.found == nil {
		return nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var found sighting
	select {
	case found = <-p.found:
	case <-timer.C:
		select {
		case found = <-p.found:
		default:
			return nil
		}
	}
	p.found, p.next = nil, found.next
	return found.refs
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
	ranges := make([]claims.Range, len(crowded))
	for i, b := range slices.Sorted(slices.Values(crowded)) {
		ranges[i] = claims.Range{From: b, To: b + 1}
	}
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
