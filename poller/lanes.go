package poller

import (
	"hash/maphash"

	"github.com/rowrelay/rowrelay/change"
)

// Ordering says which events must wait for which.
type Ordering string

// The orderings of the setting `ordering`.
const (
	// OrderKey: an event waits for the earlier events of its order key; different keys run side by side.
	OrderKey Ordering = "key"
	// OrderSource: every event waits for all earlier ones: one lane.
	OrderSource Ordering = "source"
	// OrderNone: no event waits.
	OrderNone Ordering = "none"
)

// lanes decides which events may be sent now. Events enter in fetch order, batch after batch. An event is ready when
// all earlier events of its order key are done with: accepted, rejected or absorbed. The events of an order key that
// wait form a chain. That takes constant time per event, whatever the number of keys, and lets the next batch begin
// while the last requests of the one before are in flight.
type lanes struct {
	ordering Ordering
	tails    tails
	ready    []*item // sendable, in fetch order of their becoming so
	head     int     // ready[head:] is the queue
}

func newLanes(ordering Ordering) *lanes {
	return &lanes{
		ordering: ordering,
		tails:    newTails(),
	}
}

// seed is the process's: what a tick keeps of a key for the next one is to be compared there.
var seed = maphash.MakeSeed()

// hash stands for what an event is parked by: its order key, or without any order the row's own key. Two keys with one
// hash only wait for each other, or are no evidence for each other, without need.
func (l *lanes) hash(e *change.Event) uint64 {
	if l.ordering == OrderNone {
		return maphash.Bytes(seed, e.Key)
	}
	return maphash.Bytes(seed, e.OrderKey)
}

// add lets the events of a batch enter.
func (l *lanes) add(p *inFlight) {
	items := make([]item, len(p.sent))
	for i := range items {
		it := &items[i]
		*it = item{batch: p, index: i, key: l.hash(&p.sent[i])}
		if l.ordering != OrderKey {
			l.ready = append(l.ready, it)
			continue
		}
		if tail := l.tails.put(it); tail != nil {
			tail.next = it
		} else {
			l.ready = append(l.ready, it)
		}
	}
}

// hold lets later events of the same order key wait for one that is sent without having entered. Its key has no event
// that waits or is in flight.
func (l *lanes) hold(it *item) {
	if l.ordering == OrderKey {
		l.tails.put(it)
	}
}

// occupied reports whether an event of the same order key waits or is in flight.
func (l *lanes) occupied(key uint64) bool { return l.tails.of(key) != nil }

// queue returns the sendable events, oldest first.
func (l *lanes) queue() []*item { return l.ready[l.head:] }

// bounds are those of a request: so many events, of one order key so many, and so many bytes (the first always fits).
type bounds struct {
	events, ofKey, bytes int
	size                 func(*change.Event) int
}

// take removes the events of the next request, of batches that may travel together, from the queue. Two of one order
// key are never ready together: where a request may hold several, those that come next follow the one that is ready. An
// event that failed before goes alone: it would probably fail the others, and has to fail alone to count. Events for
// which withheld reports true are done with already, and are left out. The result is empty when nothing is left to
// send.
func (l *lanes) take(b *bounds, withheld func(*item) bool) []*item {
	var taken []*item
	most := b.events
	total := 0
	for l.head < len(l.ready) && len(taken) < most {
		it := l.ready[l.head]
		if len(taken) > 0 && !it.batch.joins(taken[0].batch) {
			break
		}
		if !withheld(it) {
			e := it.event()
			if total += b.size(e); len(taken) > 0 && (total > b.bytes || e.Attempts > 0) {
				break
			}
			if e.Attempts > 0 {
				most = 1
			}
			if taken == nil {
				taken = make([]*item, 0, min(most, len(l.ready)-l.head))
			}
			taken = append(taken, it)
			for n := 1; n < b.ofKey && len(taken) < most && it.next != nil; n++ {
				it = it.next
				if e := it.event(); !it.batch.joins(taken[0].batch) || e.Waits || e.Unsent() || e.Attempts > 0 ||
					total+b.size(e) > b.bytes {
					break
				}
				total += b.size(it.event())
				it.follows = true
				taken = append(taken, it)
			}
		}
		l.ready[l.head] = nil // a settled batch must not be kept in memory by the queue
		l.head++
	}
	if l.head == len(l.ready) {
		l.ready, l.head = l.ready[:0], 0
	} else if l.head > 4096 && l.head > len(l.ready)/2 {
		n := copy(l.ready, l.ready[l.head:])
		clear(l.ready[n:])
		l.ready, l.head = l.ready[:n], 0
	}
	return taken
}

// joins reports whether events of two batches may travel in one request: they are the same, or both of live rows under
// one right to deliver them.
func (p *inFlight) joins(q *inFlight) bool {
	live := p.grant.Batch.Kind == change.Live && q.grant.Batch.Kind == change.Live
	return p == q || live && p.grant.Token == q.grant.Token
}

// remove takes event i of the queue out of it.
func (l *lanes) remove(i int) *item {
	i += l.head
	it := l.ready[i]
	copy(l.ready[i:], l.ready[i+1:])
	l.ready[len(l.ready)-1] = nil
	l.ready = l.ready[:len(l.ready)-1]
	return it
}

// giveBack puts events that were taken back to the front of the queue, in their order.
func (l *lanes) giveBack(items []*item) {
	for _, it := range items {
		it.failed = false
	}
	queue := make([]*item, 0, len(items)+len(l.ready)-l.head)
	queue = append(append(queue, items...), l.ready[l.head:]...)
	l.ready, l.head = queue, 0
}

// done makes the next event of the order key ready.
func (l *lanes) done(it *item) {
	if l.ordering != OrderKey {
		return
	}
	if it.next != nil {
		if !it.next.follows { // otherwise it is done with next
			l.ready = append(l.ready, it.next)
		}
		it.next = nil
	} else {
		l.tails.drop(it)
	}
}

// tails are the last events of order keys that are not done with, by hash. Every event enters and leaves, so this is an
// open-addressing table with linear probing over hashes that are already uniform: a Go map took a twelfth of the
// relay's processor time.
type tails struct {
	places []tail // a power of two, at most three quarters of them taken
	taken  int
}

type tail struct {
	key  uint64
	last *item // nil: an empty place
}

func newTails() tails { return tails{places: make([]tail, 64)} }

// place is where a key is, or the empty place where it belongs.
func (t *tails) place(key uint64) int {
	mask := len(t.places) - 1
	i := int(key) & mask //nolint:gosec // only the low bits count
	for t.places[i].last != nil && t.places[i].key != key {
		i = (i + 1) & mask
	}
	return i
}

// of returns the last event of an order key; nil where there is none.
func (t *tails) of(key uint64) *item { return t.places[t.place(key)].last }

// put makes an event the last of its order key, and returns the one that was.
func (t *tails) put(it *item) *item {
	i := t.place(it.key)
	before := t.places[i].last
	t.places[i] = tail{it.key, it}
	if before != nil {
		return before
	}
	if t.taken++; 4*t.taken > 3*len(t.places) {
		t.grow()
	}
	return nil
}

func (t *tails) grow() {
	old := t.places
	t.places = make([]tail, 2*len(old))
	for _, p := range old {
		if p.last != nil {
			t.places[t.place(p.key)] = p
		}
	}
}

// drop takes an order key out whose last event this is.
func (t *tails) drop(it *item) {
	free := t.place(it.key)
	if t.places[free].last != it {
		return
	}
	mask := len(t.places) - 1
	for i := (free + 1) & mask; t.places[i].last != nil; i = (i + 1) & mask {
		// One that was put after the free place, because its own was taken, moves up: it would not be found any more.
		if from := int(t.places[i].key) & mask; (i-from)&mask >= (i-free)&mask { //nolint:gosec // only the low bits count
			t.places[free] = t.places[i]
			free = i
		}
	}
	t.places[free] = tail{}
	t.taken--
}
