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

// lanes decides which events may be sent now. Events enter in fetch order, batch after batch; an event is ready when all
// earlier events of its order key were accepted. It holds no lanes as such: a chain of waiting events per order key takes
// constant time per event, whatever the number of keys, and lets the next batch begin while the last requests of the one
// before are still out.
type lanes struct {
	ordering Ordering
	seed     maphash.Seed
	tails    map[uint64]*item // the last unaccepted event of each order key
	ready    []*item          // sendable, in fetch order of their becoming so
	head     int              // ready[head:] is the queue
}

// item is one event on its way.
type item struct {
	batch *passage
	index int    // in the batch
	key   uint64 // hash of the order key: two keys with one hash only wait for each other without need
	next  *item  // the next event of the same order key
}

func (it *item) event() *change.Event { return &it.batch.grant.Batch.Events[it.index] }

func newLanes(ordering Ordering) *lanes {
	return &lanes{
		ordering: ordering,
		seed:     maphash.MakeSeed(),
		tails:    make(map[uint64]*item),
	}
}

// add lets the events of a batch enter.
func (l *lanes) add(p *passage) {
	items := make([]item, len(p.grant.Batch.Events))
	for i := range items {
		it := &items[i]
		*it = item{batch: p, index: i, key: maphash.Bytes(l.seed, p.grant.Batch.Events[i].OrderKey)}
		if l.ordering != OrderKey {
			l.ready = append(l.ready, it)
			continue
		}
		if tail := l.tails[it.key]; tail != nil {
			tail.next = it
		} else {
			l.ready = append(l.ready, it)
		}
		l.tails[it.key] = it
	}
}

// waiting reports whether an event could be sent now.
func (l *lanes) waiting() bool { return l.head < len(l.ready) }

// take removes the events of the next request from the queue: at most max events of one batch, with at most bytes bytes
// (the first always fits). No two of them have one order key, unless no order is kept: two events of one key are never
// ready together.
func (l *lanes) take(max, bytes int, size func(*change.Event) int) []*item {
	first := l.ready[l.head]
	end, total := l.head, 0
	for end < len(l.ready) && end-l.head < max {
		it := l.ready[end]
		total += size(it.event())
		if it.batch != first.batch || (end > l.head && total > bytes) {
			break
		}
		end++
	}
	taken := append([]*item(nil), l.ready[l.head:end]...)
	clear(l.ready[l.head:end]) // a settled batch must not be kept in memory by the queue
	l.head = end
	if l.head == len(l.ready) {
		l.ready, l.head = l.ready[:0], 0
	} else if l.head > 4096 && l.head > len(l.ready)/2 {
		n := copy(l.ready, l.ready[l.head:])
		clear(l.ready[n:])
		l.ready, l.head = l.ready[:n], 0
	}
	return taken
}

// accepted lets the follower of an accepted event through.
func (l *lanes) accepted(it *item) {
	if l.ordering != OrderKey {
		return
	}
	if it.next != nil {
		l.ready = append(l.ready, it.next)
		it.next = nil
	} else if l.tails[it.key] == it {
		delete(l.tails, it.key)
	}
}
