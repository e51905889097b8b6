package leased

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
)

// bindingSession shares the changes of a tick as the Azure SQL trigger binding does (source__compat=binding). One batch
// is under way at a time. It is processed as a whole, or none of it is: then it comes again when its leases have
// lapsed. An attempt is counted when a row is taken, so that a crash counts as well. After the fifth the row is
// dropped, and so is whatever it becomes later. Nobody checks whose a lease is.
//
// What is dropped or jumped over the binding tells nobody. Here it is a dead letter, or a warning.
type bindingSession struct {
	*session
	held   *bindingBatch // nil: nothing is under way
	untold error         // of dead letters, for the next settlement
}

// bindingBatch are the rows under way, whose leases a goroutine renews.
type bindingBatch struct {
	marks  []engine.LeaseMark
	cancel context.CancelFunc
	ended  chan struct{} // closed when the renewal has ended
}

// Next takes a batch, and tells of rows that have used their attempts up.
func (s *bindingSession) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	s.mu.Lock()
	busy := s.ended || s.held != nil
	s.mu.Unlock()
	if busy {
		return poller.Grant{}, nil
	}
	limit.Bytes = math.MaxInt // a batch is whole
	begun := time.Now()
	s.feed.mu.Lock()
	read := s.feed.read
	s.feed.mu.Unlock()
	b, err := s.inTables(ctx, func() (source.Batch, error) {
		return s.cfg.Changes.Take(ctx, source.Taking{Limit: limit, Read: read, TTL: s.cfg.TTL, Number: s.number})
	})
	if err != nil {
		return poller.Grant{}, err
	}
	told := &b.Told
	switch {
	case !told.Looked:
		return poller.Grant{}, nil
	case !told.Known:
		return poller.Grant{}, s.unknown()
	case told.Missed > 0:
		s.warn(fmt.Sprintf("%d versions were jumped over, to version %d, from which on changes are complete: what was written in "+
			"them may be missing (CHANGE_RETENTION has passed, or the table was truncated, or nothing was written to it for as long; "+
			"source__compat=binding goes on, as the binding does)", told.Missed, told.Valid))
	case told.From > told.Head:
		s.warn(fmt.Sprintf("the shared state stands at version %d, ahead of the database's %d: it was restored to an earlier state. "+
			"Nothing is delivered until its versions have passed that one: rowrelay state reset %s --to latest", told.From, told.Head,
			s.cfg.Poller))
	}
	s.feed.mu.Lock()
	if s.feed.read = -1; max(told.Held, told.Dropped) < limit.Rows && told.From <= told.Head {
		s.feed.read = told.Head
	}
	s.feed.mu.Unlock()
	events := make([]change.Event, len(b.Rows))
	h := &bindingBatch{ended: make(chan struct{})}
	for i := range b.Rows {
		events[i] = b.Rows[i].Event
		h.marks = append(h.marks, engine.LeaseMark{Key: b.Rows[i].Key, Done: true})
	}
	if len(events) > 0 {
		s.keep(h)
	}
	if s.untold = s.drop(ctx, b.Dropped); s.untold != nil && len(events) == 0 {
		return poller.Grant{}, s.untold
	}
	now := time.Now()
	return poller.Grant{
		Batch:   change.Batch{ID: s.batchID(now), Kind: change.Live, Events: events, Fetched: now, FetchTime: now.Sub(begun)},
		Context: context.WithoutCancel(ctx), Origin: s.origin, Check: func() error { return nil },
	}, nil
}

// drop tells of rows that the binding would drop without a word: each is a dead letter. Of which people were told is
// remembered, so that a crash before that tells it again.
func (s *bindingSession) drop(ctx context.Context, rows []source.LeasedRow) error {
	if len(rows) == 0 {
		return nil
	}
	s.letters.Begin(ctx)
	var marks []engine.LeaseMark
	var dead []poller.DeadLetter
	var failed error
	for i := range rows {
		e := &rows[i].Event
		why := poller.Rejection{Cause: poller.Refused, At: time.Now(), Reason: "it was taken " + strconv.Itoa(e.Attempts) +
			" times and not processed: source__compat=binding drops it, and whatever it becomes later"}
		letter, err := s.bury(ctx, e, e.Attempts, why)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		dead = append(dead, letter.Reported())
		marks = append(marks, engine.LeaseMark{Key: rows[i].Key, Dead: true, Attempts: e.Attempts, Reason: why.Reason})
	}
	if len(marks) > 0 {
		if err := s.cfg.Changes.Settle(ctx, 0, marks); err != nil {
			return faultOf(poller.CommitFailed, err)
		}
	}
	s.mu.Lock()
	s.dead = append(s.dead, dead...)
	s.mu.Unlock()
	if failed != nil {
		s.feed.mu.Lock()
		s.feed.read = -1
		s.feed.mu.Unlock()
	}
	return failed
}

// keep has the leases of a batch renewed four times in their ttl, until it is let go.
func (s *bindingSession) keep(h *bindingBatch) {
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	s.mu.Lock()
	s.held = h
	s.mu.Unlock()
	go func() {
		defer close(h.ended)
		for clock.Sleep(ctx, s.cfg.TTL/4) == nil {
			if _, err := s.cfg.Changes.Renew(ctx, 0, s.cfg.TTL, h.marks...); err != nil && ctx.Err() == nil {
				s.warn("leases could not be renewed; when they have lapsed, another may deliver the rows as well: " + err.Error())
			}
		}
	}()
}

// end ends the renewal of a batch. Its leases stay.
func (h *bindingBatch) end() {
	h.cancel()
	<-h.ended
}

// Settle has the batch processed, if all of it was accepted.
func (s *bindingSession) Settle(ctx context.Context, offered poller.Settlement) (int, error) {
	n, why := 0, poller.Rejection{}
	whole := true
	for i := range offered.Batches {
		b := &offered.Batches[i]
		n += len(b.Outcomes)
		for at, o := range b.Outcomes {
			if whole = whole && o == poller.Accepted; o == poller.Rejected && why.Reason == "" {
				why = b.Rejections[at]
			}
		}
	}
	s.mu.Lock()
	h := s.held
	s.mu.Unlock()
	if h == nil {
		return 0, nil
	}
	h.end()
	defer func() { // now another may be taken
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = nil
	}()
	if !whole {
		s.mu.Lock()
		s.failed += n
		s.mu.Unlock()
		if why.Reason == "" {
			return 0, s.untold // it was not delivered: the tick says why
		}
		return 0, &poller.Fault{Event: poller.HandlerFailed, Err: fmt.Errorf("the batch of %d rows failed, and comes again "+
			"when its leases have lapsed (source__compat=binding): %s", n, why.Reason)}
	}
	if err := s.cfg.Changes.Settle(ctx, 0, h.marks); err != nil {
		return 0, faultOf(poller.CommitFailed, err)
	}
	return n, s.untold
}

// Close releases nothing: what was not processed comes again when its leases have lapsed.
func (s *bindingSession) Close(ctx context.Context, report *poller.Report) error {
	s.mu.Lock()
	h := s.held
	s.mu.Unlock()
	if h != nil {
		h.end()
	}
	return s.session.Close(ctx, report)
}
