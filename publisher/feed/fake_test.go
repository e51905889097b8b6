package feed

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// fakeDB is a model of an outbox with its claims, as the contract of table says: states, order, guards, expiry by its
// own clock. Several fakeTables, which are instances' connections to it, share it.
type fakeDB struct {
	mu       sync.Mutex
	ahead    time.Duration // of its clock before ours
	ordering poller.Ordering
	block    bool
	mapped   bool // without buckets
	rows     []*fakeRow
	claims   map[int]fakeClaim // of partitions
	members  map[string]time.Time
	token    uint64
	parts    int    // in force; 0: not said yet
	foreign  string // an instance that publishes in nobody knows how many partitions
	chunk    int    // how many events of an aggregate a settlement lets go at once; 0: all
	rnd      *rand.Rand
	pausedBy string
	log      func(format string, args ...any)
}

type fakeRow struct {
	seq       int64
	bucket    int
	agg       event.Aggregate
	state     event.State
	attempts  int
	next      time.Time
	available time.Time // zero: at once
	expires   time.Time // zero: never
	committed bool
	stuck     bool // an UPDATE of it changes nothing
}

type fakeClaim struct {
	owner   string
	token   uint64
	expires time.Time
}

func newFakeDB() *fakeDB {
	return &fakeDB{
		ahead: 7 * time.Hour, ordering: poller.OrderKey, block: true, claims: map[int]fakeClaim{},
		members: map[string]time.Time{},
		log:     func(string, ...any) {},
	}
}

func (db *fakeDB) now() time.Time { return time.Now().Add(db.ahead) }

// insert begins a transaction that writes an event, and returns its commit.
func (db *fakeDB) insert(id string) (seq int64, commit func()) {
	db.mu.Lock()
	defer db.mu.Unlock()
	h := 0
	for _, c := range []byte(id) {
		h = (h*131 + 389*int(c)) % claims.Buckets
	}
	r := &fakeRow{seq: int64(len(db.rows) + 1), bucket: h, agg: event.Aggregate{Type: "order", ID: id},
		state: event.Pending}
	db.rows = append(db.rows, r)
	return r.seq, func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		r.committed = true
	}
}

// add writes events of the aggregates, in order.
func (db *fakeDB) add(aggregates ...string) {
	for _, a := range aggregates {
		_, commit := db.insert(a)
		commit()
	}
}

// states shows the rows' states, by seq from 1.
func (db *fakeDB) states() []event.State {
	db.mu.Lock()
	defer db.mu.Unlock()
	states := make([]event.State, len(db.rows))
	for i, r := range db.rows {
		states[i] = r.state
	}
	return states
}

func (db *fakeDB) at(seq int64) *fakeRow { return db.rows[seq-1] }

// blocked: an earlier event of the aggregate is in the way; of heads, WAITING ones do not count.
func (db *fakeDB) blocked(r *fakeRow, heads bool) bool {
	if db.ordering == poller.OrderNone {
		return false
	}
	for _, b := range db.rows[:r.seq-1] {
		if b.committed && (b.agg == r.agg || db.ordering == poller.OrderSource) &&
			(b.state == event.Failed || b.state == event.Waiting && !heads || b.state == event.Dead && db.block) {
			return true
		}
	}
	return false
}

// flip makes WAITING events PENDING that wait for nothing; agg nil means all.
func (db *fakeDB) flip(agg *event.Aggregate) (n int) {
	for _, r := range db.rows {
		of := agg == nil || r.agg == *agg || db.ordering == poller.OrderSource
		if of && r.state == event.Waiting && !db.blocked(r, true) {
			r.state = event.Pending
			n++
		}
	}
	return n
}

// letGo is flip for a settlement: only the first events at once, and the rest after a while, or, where the instance
// crashes in between, with mend.
func (db *fakeDB) letGo(agg event.Aggregate) {
	if db.chunk == 0 {
		db.flip(&agg)
		return
	}
	n := 0
	for _, r := range db.rows {
		if r.state != event.Waiting || r.agg != agg && db.ordering != poller.OrderSource || db.blocked(r, true) {
			continue
		}
		if n++; n <= db.chunk {
			r.state = event.Pending
			continue
		}
		if db.rnd.IntN(4) > 0 {
			time.AfterFunc(time.Duration(db.rnd.IntN(int(3*time.Second))), func() {
				db.mu.Lock()
				defer db.mu.Unlock()
				db.letGo(agg)
			})
		}
		return
	}
}

// work: it is publishable now.
func (db *fakeDB) work(r *fakeRow) bool {
	return r.committed && (r.state == event.Pending || r.state == event.Failed && !r.next.After(db.now()))
}

func (db *fakeDB) live(partition int) (fakeClaim, bool) {
	c, ok := db.claims[partition]
	return c, ok && c.expires.After(db.now())
}

func (db *fakeDB) member(owner string) bool { return db.members[owner].After(db.now()) }

func (db *fakeDB) holds(owner string) (n int) {
	for i := range db.claims {
		if c, live := db.live(i); live && c.owner == owner {
			n++
		}
	}
	return n
}

// Operators.

func (db *fakeDB) pause(by string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.pausedBy = by
}

func (db *fakeDB) change(from, to event.State) (n int) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, r := range db.rows {
		if r.state == from {
			r.state, r.attempts, r.next = to, 0, db.now()
			n++
		}
	}
	if to == event.Discarded {
		db.flip(nil)
	}
	return n
}
