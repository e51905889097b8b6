package event

import (
	"slices"
	"time"
)

// Marks are what one settlement makes of rows.
type Marks struct {
	Published []Ref
	// Retried are published rows that were FAILED before: their aggregates' waiting events become pending.
	Retried []Marked
	Failed  []Failure
	// Waiting become WAITING, unless no earlier event of their aggregate is in the way any more.
	Waiting []Marked
	// Held become DELAYED: they are pending, or are DELAYED still. Woken were, and become pending with what waited for
	// them.
	Held  []Failure
	Woken []Marked
	// Expired are given up unpublished.
	Expired []Marked
}

// Marked is an event that a settlement marks, and whose order it is in.
type Marked struct {
	Ref       Ref
	Aggregate Aggregate
}

// Failure is a rejected event.
type Failure struct {
	Marked
	Attempts int           // failed ones, this one included
	Delay    time.Duration // until the next
	Dead     bool          // it was the last
	Reason   string        // at most 1000 characters, never the payload; it may hold bytes that are no text
}

// State is what the event becomes.
func (f *Failure) State() State {
	if f.Dead {
		return Dead
	}
	return Failed
}

// Empty says that no row changes its state.
func (m *Marks) Empty() bool {
	return len(m.Published) == 0 && m.Plain()
}

// Plain says that events were published, and nothing else happened.
func (m *Marks) Plain() bool {
	return len(m.Retried)+len(m.Failed)+len(m.Waiting)+len(m.Held)+len(m.Woken)+len(m.Expired) == 0
}

// Accepted are the rows of the events that are published.
func (m *Marks) Accepted() []Ref {
	list := slices.Clone(m.Published)
	for _, r := range m.Retried {
		list = append(list, r.Ref)
	}
	return list
}

// Unblocked are the aggregates whose waiting events may go on: those of a retried, a woken and an expired event, and of
// a dead one where that does not block.
func (m *Marks) Unblocked(block bool) []Aggregate {
	var list []Aggregate
	for _, r := range slices.Concat(m.Retried, m.Woken, m.Expired) {
		list = append(list, r.Aggregate)
	}
	for i := range m.Failed {
		if f := &m.Failed[i]; f.Dead && !block {
			list = append(list, f.Aggregate)
		}
	}
	return list
}
