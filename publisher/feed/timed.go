package feed

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

const (
	// longestHold is how long an event is held at once: then it is looked at again. SQL Server adds no more than 24 days
	// to a time, and who has changed available_at by hand need not wait for what was.
	longestHold = 20 * 24 * time.Hour
	heldReason  = "not before its available_at"
)

// timed takes what has a time out of rows that were read, and marks it: too early becomes DELAYED, DELAYED whose time
// has come becomes PENDING (of rows that are due), expired is given up. What stands behind an event that becomes
// DELAYED is left out, too. moved says that there was such a row: the next page shows what has become of them.
func (s *session) timed(ctx context.Context, rows []event.Row, due bool) (rest []event.Row, moved bool, err error) {
	var m event.Marks
	held := map[event.Aggregate]bool{}
	rest = rows[:0]
	for i := range rows {
		r := &rows[i]
		mark, a := event.Marked{Ref: r.Ref, Aggregate: r.Aggregate()}, r.Aggregate()
		switch {
		case s.behind(held, a):
		case r.Waits:
			rest = append(rest, *r)
		case r.Expired:
			m.Expired = append(m.Expired, mark)
		case r.Early > 0 && (!due || r.Attempts == 0):
			m.Held = append(m.Held, event.Failure{Marked: mark, Delay: min(r.Early, longestHold), Reason: heldReason})
			held[a] = true
		case due && r.Timed && r.Attempts == 0:
			m.Woken = append(m.Woken, mark)
		default:
			rest = append(rest, *r)
		}
	}
	if m.Empty() {
		return rest, false, nil
	}
	s.hold.exclusive <- struct{}{}
	defer func() { <-s.hold.exclusive }()
	if err := s.store(ctx, &m); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired += len(m.Expired)
	for i := range m.Held {
		s.bringForwardLocked(m.Held[i].Delay)
	}
	if due || len(held) > 0 && s.cfg.Ordering == poller.OrderSource {
		s.bringForwardLocked(0) // there may be more; or: everything waits for this one
	}
	return rest, true, nil
}

// behind reports whether an event of an aggregate waits for one that becomes DELAYED.
func (s *session) behind(held map[event.Aggregate]bool, a event.Aggregate) bool {
	return s.cfg.Ordering == poller.OrderSource && len(held) > 0 ||
		s.cfg.Ordering == poller.OrderKey && a.ID != "" && held[a]
}
