package publisher

import "time"

// marks are what one settlement makes of rows.
type marks struct {
	published []ref
	// retried are published rows that were FAILED before: their aggregates' waiting events become pending.
	retried []marked
	failed  []failure
	// waiting become WAITING, unless no earlier event of their aggregate is in the way any more.
	waiting []marked
	// returned become PENDING again (skip_locked: they are PUBLISHING).
	returned []ref
	// freed are aggregates whose claim ends with this settlement (skip_locked).
	freed []aggregate
}

type marked struct {
	ref       ref
	aggregate aggregate
}

// failure is a rejected event.
type failure struct {
	marked
	attempts int           // failed ones, this one included
	delay    time.Duration // until the next
	dead     bool          // it was the last
	reason   string        // at most 1000 characters, never the payload
}

// state is what the event becomes.
func (f *failure) state() State {
	if f.dead {
		return Dead
	}
	return Failed
}

// empty says that no row changes its state.
func (m *marks) empty() bool {
	return len(m.published)+len(m.retried)+len(m.failed)+len(m.waiting)+len(m.returned) == 0
}

// plain says that events were published, and nothing else happened.
func (m *marks) plain() bool {
	return len(m.retried)+len(m.failed)+len(m.waiting)+len(m.returned)+len(m.freed) == 0
}

// unblocked are the aggregates whose waiting events may go on: those of a retried event, and of a dead one where that does
// not block.
func (m *marks) unblocked(block bool) []aggregate {
	var list []aggregate
	for _, r := range m.retried {
		list = append(list, r.aggregate)
	}
	for i := range m.failed {
		if f := &m.failed[i]; f.dead && !block {
			list = append(list, f.aggregate)
		}
	}
	return list
}
