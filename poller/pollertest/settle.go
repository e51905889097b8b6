package pollertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
)

// ErrFull is why a settlement fails that would park more than MaxParked.
var ErrFull = errors.New("max_parked is reached")

// Settle moves the position, parks what was rejected, and gives up what was rejected often enough.
func (s *tableSession) Settle(ctx context.Context, settlement poller.Settlement) (int, error) {
	if err := clock.Sleep(ctx, s.CommitTakes); err != nil {
		return 0, err
	}
	s.Lock()
	defer s.Unlock()
	if s.CommitErr != nil {
		return 0, s.CommitErr
	}
	if err := context.Cause(s.right); err != nil {
		return 0, &poller.Fault{Event: poller.LostLease, Err: err}
	}
	n, err := s.settle(settlement.Batches)
	s.ended = s.ended || settlement.Last || err != nil
	for len(s.pending) > 0 && s.pending[0] <= s.Position {
		s.pending = s.pending[1:]
	}
	s.Commits = append(s.Commits, Commit{n, settlement.Last})
	return n, err
}

func (s *tableSession) settle(batches []poller.Settled) (n int, err error) {
	for _, b := range batches {
		for i := range b.Batch.Events {
			if !b.Outcomes[i].Settles() {
				s.ended = true
				return n, nil
			}
			if err := s.settleEvent(b, i); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

func (s *tableSession) settleEvent(b poller.Settled, i int) error {
	event, outcome := &b.Batch.Events[i], b.Outcomes[i]
	if outcome == poller.Rejected {
		r, ok := b.Rejections[i]
		if !ok || r.Reason == "" || r.At.IsZero() {
			return &poller.Fault{Event: poller.CommitFailed,
				Err: fmt.Errorf("event %s is rejected without a reason: %+v", event.ID, r)}
		}
		s.Reasons[event.ID] = r
	}
	attempts := event.Attempts + 1
	cause := b.Rejections[i].Cause
	if cause == poller.Unavailable || cause == poller.Misplaced {
		attempts = max(1, event.Attempts)
	}
	next := Parked{ID: event.ID, Attempts: attempts, refused: cause == poller.Refused, due: time.Now().Add(s.Delay)}
	if s.Ordering == poller.OrderSource && outcome == poller.Rejected {
		s.Outcomes[event.ID] = append(s.Outcomes[event.ID], outcome)
		if s.inOrder = next; attempts < s.MaxAttempts {
			return &poller.Fault{Event: poller.HandlerFailed, Err: fmt.Errorf("attempt %d of %d", attempts, s.MaxAttempts)}
		}
		s.Dead, s.inOrder = append(s.Dead, event.ID), Parked{}
	} else if err := s.park(event, outcome, b.Batch.Kind, next); err != nil {
		return err
	} else {
		s.Outcomes[event.ID] = append(s.Outcomes[event.ID], outcome)
	}
	if b.Batch.Kind == change.Live {
		return s.advance(event.ID)
	}
	return nil
}

// park keeps what an outcome means for the entry of an event's key.
func (s *tableSession) park(event *change.Event, outcome poller.Outcome, kind change.Kind, next Parked) error {
	key := string(event.OrderKey)
	entry := s.Table.Parked[key]
	if entry == nil && (outcome == poller.Rejected || outcome == poller.Absorbed) {
		if len(s.Table.Parked) == s.MaxParked {
			return &poller.Fault{Event: poller.HandlerFailed, Err: ErrFull}
		}
		entry = &Parked{ID: event.ID, due: time.Now()}
		s.Table.Parked[key] = entry
	}
	switch {
	case outcome == poller.Rejected && next.Attempts == s.MaxAttempts:
		delete(s.Table.Parked, key)
		s.Dead = append(s.Dead, event.ID)
	case outcome == poller.Rejected:
		*entry = next
	case outcome == poller.Accepted && kind == change.Retry:
		delete(s.Table.Parked, key)
	}
	return nil
}

// advance moves the position past a row.
func (s *tableSession) advance(id string) error {
	var row int
	if _, err := fmt.Sscan(id, &row); err != nil {
		return err
	}
	if row < s.Position {
		return fmt.Errorf("row %d is settled, and the position is %d", row, s.Position)
	}
	for i := s.Position; i < row; i++ {
		if s.Newest[s.Rows[i]] <= i {
			return fmt.Errorf("row %d is settled, and row %d was left out", row, i)
		}
	}
	s.Position = row + 1
	return nil
}
