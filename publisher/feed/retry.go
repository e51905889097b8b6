package feed

import (
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

const (
	// maxRetries bounds the FAILED events of one batch: each may be sent alone, and several times.
	maxRetries = 100
	// dueEvery is how often FAILED events are asked for while none is known: an operator may have requeued some. dueAgain
	// is how often while some are known.
	dueEvery = 5 * time.Second
	dueAgain = time.Second
)

// retries returns the FAILED events whose next attempt is due, as a batch of their own. It asks for none before the
// time of the next one, if that is known.
func (s *session) retries(ctx context.Context, ranges []claims.Range, limit poller.Limit) (poller.Grant, error) {
	s.mu.Lock()
	early := time.Now().Before(s.dueAt)
	trying := s.inFlight.retries > 0 && s.cfg.Ordering == poller.OrderSource
	s.mu.Unlock()
	switch {
	case trying: // another may be due that nothing shows before this one is settled
		return s.again(ctx), nil
	case early:
		return poller.Grant{}, nil
	}
	s.mu.Lock()
	s.dueAt = time.Now().Add(dueEvery) // a failure that is settled meanwhile brings it forward
	s.inFlight.beginFetch()
	s.mu.Unlock()
	defer s.endFetch()
	begun := time.Now()
	limit.Rows = min(limit.Rows, maxRetries)
	rows, next, err := s.outbox.Events.Due(ctx, ranges, s.wider(limit, ranges, true))
	if err != nil {
		return poller.Grant{}, faultOf(poller.FetchFailed, "fetching events to be tried again", err)
	}
	rows, _ = s.fresh(rows, limit, false)
	if s.cfg.Ordering == poller.OrderSource {
		if s.blocked = next >= 0 && len(rows) == 0; s.blocked {
			s.waitInOrder(next)
			return poller.Grant{}, nil
		}
	}
	switch {
	case len(rows) > 0 && s.cfg.Ordering == poller.OrderSource:
		s.bringForward(0) // what comes after it may be the next that everything waits for
	case len(rows) > 0:
		s.bringForward(dueAgain)
	case next >= 0:
		s.bringForward(next)
	}
	rows, moved, err := s.timed(ctx, rows, true)
	if err != nil {
		return poller.Grant{}, err
	}
	if moved && len(rows) == 0 && s.cfg.Ordering == poller.OrderSource {
		return s.again(ctx), nil // another may be the one that everything waits for
	}
	grant, _ := s.handOut(rows, change.Retry, begun)
	// Events that were not tried yet must not wait for the retries, nor for the poll interval.
	grant.Batch.More = len(rows) > 0
	s.idle = s.idle && len(rows) == 0
	return grant, nil
}

// again is for ordering=source: nothing is fetched before FAILED events were asked for once more.
func (s *session) again(ctx context.Context) (grant poller.Grant) {
	s.blocked, grant.Batch.More = true, true
	if s.anyInFlight() {
		s.await(ctx)
	}
	return grant
}

// waitInOrder is for ordering=source: nothing is sent before the failed event's next attempt. The tick goes on asking.
func (s *session) waitInOrder(next time.Duration) {
	s.bringForward(max(next, 10*time.Millisecond))
	if !s.warned {
		s.warned = true
		s.warn(fmt.Sprintf("ordering=source: nothing is sent before the next attempt of a failed event, in %s",
			next.Round(time.Millisecond)))
	}
}
