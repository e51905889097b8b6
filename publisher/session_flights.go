package publisher

import (
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// flights are the events that a session has handed out and not settled, and what a fetch that is under way must not
// believe.
type flights struct {
	of     map[event.Ref]flight
	fetch  int  // the number of the fetch that was begun last
	during bool // it is under way

	recent map[event.Ref]bool // settled while it was: it may show them as they were
	// order keys with events whose state a settlement changed otherwise than to PUBLISHED, while it was
	stirred map[string]bool
	settles map[string]bool // the same of the settlement under way
	waiters map[string]int  // order key → how many of its events in flight have waits set
	// aggregates counts the events in flight of each aggregate that is claimed (skip_locked).
	aggregates map[event.Aggregate]int
	retries    int // of the events in flight, those that are FAILED
	// probing says that a probe was handed out: it is not settled, so that it is known to be over only when nothing
	// is in flight.
	probing bool
}

// flight is an event in flight.
type flight struct {
	bucket, bytes int
	aggregate     event.Aggregate
	orderKey      string
	waits, retry  bool
}

func newFlights() flights {
	return flights{
		of: map[event.Ref]flight{}, recent: map[event.Ref]bool{}, stirred: map[string]bool{}, settles: map[string]bool{},
		waiters:    map[string]int{},
		aggregates: map[event.Aggregate]int{},
	}
}

// begin notes that a fetch begins, end that what it brought has been dealt with.
func (f *flights) begin() {
	f.fetch++
	f.during = true
}

func (f *flights) end() {
	f.during = false
	clear(f.recent)
	clear(f.stirred)
}

// within counts the events in flight that a fetch of a range of buckets may show again.
func (f *flights) within(r claims.Range) (rows, bytes int) {
	for _, e := range f.of {
		if r.From <= e.bucket && e.bucket < r.To {
			rows++
			bytes += e.bytes
		}
	}
	return rows, bytes
}

// known reports whether a fetched row is in flight, or was when the fetch began.
func (f *flights) known(r event.Ref) bool {
	_, flies := f.of[r]
	return flies || f.recent[r]
}

func (f *flights) add(r event.Ref, e flight) {
	f.of[r] = e
	f.aggregates[e.aggregate]++
	if e.waits {
		f.waiters[e.orderKey]++
	}
	if e.retry {
		f.retries++
	}
}

// landed takes a settled event out.
func (f *flights) landed(r event.Ref) {
	e, flies := f.of[r]
	if !flies {
		return
	}
	delete(f.of, r)
	if f.during {
		f.recent[r] = true
	}
	if f.aggregates[e.aggregate]--; f.aggregates[e.aggregate] <= 0 {
		delete(f.aggregates, e.aggregate)
	}
	if e.waits {
		if f.waiters[e.orderKey]--; f.waiters[e.orderKey] <= 0 {
			delete(f.waiters, e.orderKey)
		}
	}
	if e.retry {
		f.retries--
	}
	if len(f.of) == 0 {
		f.probing = false
	}
}

// flying reports whether an event of an order key is in flight.
func (f *flights) flying(orderKey string) bool {
	for _, e := range f.of {
		if e.orderKey == orderKey {
			return true
		}
	}
	return false
}
