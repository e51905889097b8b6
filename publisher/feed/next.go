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

func newSession(p *shared, owner string, only, start int) *session {
	return &session{
		shared: p, cfg: &p.cfg, owner: owner, only: only, start: start, settled: make(chan struct{}, 1),
		parked: map[string]int{}, refs: map[*change.Outbox]event.Ref{}, inFlight: newInFlight(),
	}
}

// lookEvery is how often a session that holds claims asks whether an operator has paused the outbox.
const lookEvery = time.Second

// Next returns the next batch. While there is nothing to do, it costs one round trip and writes nothing: that is look
// before the session has claims, and the fetch itself afterwards.
func (s *session) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	grant, err := s.next(ctx, limit)
	s.failed = s.failed || err != nil
	return grant, err
}

func (s *session) next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	if s.over() {
		return poller.Grant{}, nil // what ended it has said why
	}
	if err := s.checkUnmarked(); err != nil {
		return poller.Grant{}, err
	}
	if s.hold != nil {
		if err := s.check(); err != nil {
			return poller.Grant{}, &poller.Fault{Event: poller.LostLease, Err: err}
		}
		if err := s.rebalance(ctx); err != nil {
			return poller.Grant{}, err
		}
	}
	if more, err := s.look(ctx); err != nil || !more {
		return poller.Grant{}, err
	}
	if s.hold == nil {
		if err := s.acquire(ctx); err != nil {
			return poller.Grant{}, err
		}
	}
	if s.strategy == claims.SkipLocked && !s.unread {
		if err := s.pick(ctx); err != nil {
			return poller.Grant{}, faultOf(poller.LeaseAcquireFailed, "looking for partitions with work", err)
		}
	}
	ranges, some := s.ranges(s.hold.active())
	if !some {
		return s.nothing(ctx), nil
	}
	grant, err := s.retries(ctx, ranges, limit)
	s.unread = len(grant.Batch.Events) > 0
	if err != nil || s.unread || s.blocked {
		return grant, err
	}
	return s.fetch(ctx, ranges, limit)
}

// nothing is what a session without partitions to fetch from returns. Under skip_locked, those whose events are in
// flight may have more.
func (s *session) nothing(ctx context.Context) (grant poller.Grant) {
	if s.strategy == claims.SkipLocked && s.anyInFlight() {
		s.await(ctx)
		grant.Batch.More = true
	}
	s.idle = !grant.Batch.More
	return grant
}

// look asks whether the outbox is paused and whether there is anything to do, if that is due. It reports false if no
// fetch is needed.
func (s *session) look(ctx context.Context) (bool, error) {
	if s.hold != nil && time.Since(s.looked) < lookEvery {
		return true, nil
	}
	g, err := s.glance(ctx)
	switch {
	case err != nil:
		return false, faultOf(poller.FetchFailed, "looking at the outbox", err)
	case g.Paused:
		return false, &poller.Fault{Event: poller.Paused,
			Err: fmt.Errorf("the outbox is paused %s: `rowrelay outbox resume %s` lets it go on", g.By, s.cfg.Poller)}
	}
	s.looked = time.Now()
	// After a crash, or an operator's work beside a running session, events may be WAITING for nothing: nothing else would
	// ever find them.
	if g.Waiting {
		mended, err := s.mend(ctx)
		if err != nil {
			return false, err
		}
		g.Work = g.Work || mended
	}
	if g.Work && s.idle {
		s.bringForward(0) // it may be a FAILED event that is due
	}
	return g.Work || s.hold != nil && !s.idle, nil
}

func (s *session) glance(ctx context.Context) (event.Glance, error) {
	if s.outbox == nil {
		o, err := s.shared.open(ctx)
		if err != nil {
			return event.Glance{}, err
		}
		s.outbox = o
	}
	return s.outbox.Events.Look(ctx)
}

// mend does so if that is due, and reports whether it made events publishable. It needs no claims: see Events.
func (s *session) mend(ctx context.Context) (bool, error) {
	if !s.shared.mendNow() {
		return false, nil
	}
	n, err := s.outbox.Events.Mend(ctx)
	if err != nil {
		return false, faultOf(poller.FetchFailed, "mending states", err)
	}
	return n > 0, nil
}

// Parked reports whether an event of this order key failed in this session, and its retry is not settled yet.
func (s *session) Parked(orderKey []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.parked[string(orderKey)]
	return ok
}

// Other returns the first event of another aggregate.
func (s *session) Other(ctx context.Context, avoid [][]byte) (poller.Grant, error) {
	if s.over() || s.hold == nil {
		return poller.Grant{}, nil
	}
	var aggregates []event.Aggregate
	for _, key := range avoid {
		if a, ok := aggregateOf(key); ok {
			aggregates = append(aggregates, a)
		}
	}
	ranges, some := s.ranges(s.hold.partitions())
	if !some {
		return poller.Grant{}, nil
	}
	one := poller.Limit{Rows: 1}
	rows, err := s.outbox.Events.Others(ctx, ranges, aggregates, one)
	if err != nil {
		s.failed = true
		return poller.Grant{}, faultOf(poller.FetchFailed, "looking for an event of another aggregate", err)
	}
	rows, _ = s.fresh(rows, one, false)
	if len(rows) == 0 || rows[0].Broken != nil || rows[0].Early > 0 || rows[0].Expired {
		return poller.Grant{}, nil
	}
	now := time.Now()
	list := eventsOf(rows, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(avoid, func(k []byte) bool { return string(k) == string(list[0].OrderKey) }) {
		return poller.Grant{}, nil
	}
	s.inFlight.probing = true
	return s.grant(list, "probe", now), nil
}

// Close gives back everything that the session may hold, also after a failure. Where all went well, the claims may go
// on with the next session.
func (s *session) Close(ctx context.Context, report *poller.Report) error {
	s.mu.Lock()
	s.ended = true
	warnings, deadLettered, expired, failure := s.warnings, s.deadLettered, s.expired, cmp.Or(s.unwritten, s.unmarked)
	well, parked := !s.failed && !s.unsettled, len(s.parked) > 0
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout(s.cfg.ClaimTTL))
	defer cancel()
	if s.hold != nil {
		s.cancel(errReleased)
		s.past.ended.Wait()
		if err := s.shared.leave(ctx, s.hold, well && s.strategy != claims.SkipLocked && s.only < 0); err != nil {
			warnings = append(warnings, fmt.Sprintf("the claims of %s could not be released, others have to wait for their end (%s): %v",
				s.owner, s.cfg.ClaimTTL, err))
		}
	}
	report.Warnings = append(report.Warnings, warnings...)
	report.DeadLettered = append(report.DeadLettered, deadLettered...)
	report.Expired += expired
	if report.Outbox = s.shared.count(ctx, parked); report.Outbox != nil {
		report.Parked = int(report.Outbox.Failed + report.Outbox.HeldUp())
	}
	return failure
}

// checkUnmarked returns an error while so many rows are left alone that nothing is sent.
func (s *session) checkUnmarked() error {
	if n, _ := s.shared.unmarked.load(); n >= mostUnmarked {
		return &poller.Fault{Event: poller.CommitFailed, Err: fmt.Errorf("%d events or more were sent, and their rows "+
			"did not take the mark: nothing is sent for up to %s", mostUnmarked, unmarkedPause)}
	}
	return nil
}
