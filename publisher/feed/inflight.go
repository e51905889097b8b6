package feed

import (
	"slices"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// inFlight are the events that a session has handed out and not settled. A fetch reads them again, and leaves them out.
// It also keeps what a fetch under way must not believe: settlements change rows while it reads them.
type inFlight struct {
	events   map[event.Ref]sent
	of       map[event.Aggregate]load // of those that have an id
	fetches  int                      // the number of the fetch that was begun last
	fetching bool                     // that fetch is under way

	// settled are the events that were settled during the fetch: it may show them as they were before.
	settled map[event.Ref]bool
	// changed are order keys of which a settlement made an event FAILED, WAITING or PENDING during the fetch. settling are
	// those of the settlement that is under way.
	changed, settling map[string]bool
	// waiting counts the events in flight of an order key that wait for an earlier one.
	waiting map[string]int
	// retries counts those that are FAILED.
	retries int
	// probing says that a probe was handed out. A probe is not settled: it is known to be over when nothing is in flight.
	probing bool
}

// sent is an event in flight.
type sent struct {
	bucket, bytes int
	aggregate     event.Aggregate
	orderKey      string
	waits, retry  bool
}

func newInFlight() inFlight {
	return inFlight{
		events: map[event.Ref]sent{}, of: map[event.Aggregate]load{}, settled: map[event.Ref]bool{},
		changed: map[string]bool{}, settling: map[string]bool{}, waiting: map[string]int{},
	}
}

// beginFetch notes that a fetch begins. endFetch notes that its events were handed out.
func (f *inFlight) beginFetch() {
	f.fetches++
	f.fetching = true
}

func (f *inFlight) endFetch() {
	f.fetching = false
	clear(f.settled)
	clear(f.changed)
}

// within counts the events in flight, or only the retries among them, that a fetch of ranges of buckets may show again.
func (f *inFlight) within(ranges []claims.Range, retries bool) (rows, bytes int) {
	for _, e := range f.events {
		if contain(ranges, e.bucket) && (e.retry || !retries) {
			rows++
			bytes += e.bytes
		}
	}
	return rows, bytes
}

// busiest is the largest load of an aggregate in a bucket.
func (f *inFlight) busiest(bucket int) (most load) {
	for _, l := range f.of {
		if l.bucket == bucket {
			most.events, most.bytes = max(most.events, l.events), max(most.bytes, l.bytes)
		}
	}
	return most
}

// known reports whether a fetched row is in flight, or was when the fetch began.
func (f *inFlight) known(r event.Ref) bool {
	_, known := f.events[r]
	return known || f.settled[r]
}

func (f *inFlight) add(r event.Ref, e sent) {
	f.events[r] = e
	if e.aggregate.ID != "" {
		l := f.of[e.aggregate].with(1, e.bytes)
		l.bucket = e.bucket
		f.of[e.aggregate] = l
	}
	if e.waits {
		f.waiting[e.orderKey]++
	}
	if e.retry {
		f.retries++
	}
}

// remove takes a settled event out.
func (f *inFlight) remove(r event.Ref) {
	e, known := f.events[r]
	if !known {
		return
	}
	delete(f.events, r)
	if l := f.of[e.aggregate].with(-1, -e.bytes); l.events > 0 {
		f.of[e.aggregate] = l
	} else {
		delete(f.of, e.aggregate)
	}
	if f.fetching {
		f.settled[r] = true
	}
	if e.waits {
		if f.waiting[e.orderKey]--; f.waiting[e.orderKey] <= 0 {
			delete(f.waiting, e.orderKey)
		}
	}
	if e.retry {
		f.retries--
	}
	if len(f.events) == 0 {
		f.probing = false
	}
}

// has reports whether an event of an order key is in flight.
func (f *inFlight) has(orderKey string) bool {
	for _, e := range f.events {
		if e.orderKey == orderKey {
			return true
		}
	}
	return false
}

func contain(ranges []claims.Range, bucket int) bool {
	return slices.ContainsFunc(ranges, func(r claims.Range) bool { return r.From <= bucket && bucket < r.To })
}

// load is what an aggregate has in flight.
type load struct {
	events, bytes, bucket int
	full                  bool // the page had more
}

// ofOne is what one aggregate may have in flight; one event may be larger.
func ofOne(limit poller.Limit) poller.Limit {
	return poller.Limit{Rows: min(maxOfOne, max(limit.Rows/2, 1)), Bytes: limit.Bytes / 8}
}

func (l load) room(most poller.Limit) bool {
	return l.events == 0 || l.events < most.Rows && l.bytes < most.Bytes
}

func (l load) with(events, bytes int) load {
	l.events += events
	l.bytes += bytes
	return l
}

// maxOfOne bounds the events of one aggregate that are in flight, together with half of batch_size and an eighth of
// batch_bytes. More of them are fetched when half are settled.
const maxOfOne = 64
