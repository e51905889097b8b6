package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// fakeDB is a model of an outbox with its claims, as the contract of table says: states, order, guards, expiry by its own
// clock. Several fakeTables, which are instances' connections to it, share it.
type fakeDB struct {
	mu       sync.Mutex
	ahead    time.Duration // of its clock before ours
	ordering poller.Ordering
	block    bool
	mapped   bool // without buckets
	rows     []*fakeRow
	claims   map[string]fakeClaim
	members  map[string]time.Time
	token    uint64
	parts    int
	strategy Strategy // in force
	chunk    int      // how many events of an aggregate a settlement lets go at once; 0: all
	rnd      *rand.Rand
	pausedBy string
	log      func(format string, args ...any)
}

type fakeRow struct {
	seq       int64
	bucket    int
	agg       aggregate
	state     State
	attempts  int
	next      time.Time
	committed bool
}

type fakeClaim struct {
	owner   string
	token   uint64
	expires time.Time
	agg     *aggregate // skip_locked
}

func newFakeDB() *fakeDB {
	return &fakeDB{
		ahead: 7 * time.Hour, ordering: poller.OrderKey, block: true, claims: map[string]fakeClaim{}, members: map[string]time.Time{},
		log: func(string, ...any) {},
	}
}

func (db *fakeDB) now() time.Time { return time.Now().Add(db.ahead) }

// insert begins a transaction that writes an event, and returns its commit.
func (db *fakeDB) insert(id string) (seq int64, commit func()) {
	db.mu.Lock()
	defer db.mu.Unlock()
	h := 0
	for _, c := range []byte(id) {
		h = (h*131 + 389*int(c)) % Buckets
	}
	r := &fakeRow{seq: int64(len(db.rows) + 1), bucket: h, agg: aggregate{"order", id}, state: Pending}
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
func (db *fakeDB) states() []State {
	db.mu.Lock()
	defer db.mu.Unlock()
	states := make([]State, len(db.rows))
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
		if b.committed && b.agg == r.agg && (b.state == Failed || b.state == Waiting && !heads || b.state == Dead && db.block) {
			return true
		}
	}
	return false
}

// flip makes WAITING events PENDING that wait for nothing; agg nil means all.
func (db *fakeDB) flip(agg *aggregate) (n int) {
	for _, r := range db.rows {
		if r.state == Waiting && (agg == nil || r.agg == *agg) && !db.blocked(r, true) {
			r.state = Pending
			n++
		}
	}
	return n
}

// letGo is flip for a settlement: only the first events at once, and the rest after a while, or, where the instance crashes
// in between, with mend.
func (db *fakeDB) letGo(agg aggregate) {
	if db.chunk == 0 {
		db.flip(&agg)
		return
	}
	n := 0
	for _, r := range db.rows {
		if r.state != Waiting || r.agg != agg || db.blocked(r, true) {
			continue
		}
		if n++; n <= db.chunk {
			r.state = Pending
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

func (db *fakeDB) live(unit string) (fakeClaim, bool) {
	c, ok := db.claims[unit]
	return c, ok && c.expires.After(db.now())
}

func (db *fakeDB) member(owner string) bool { return db.members[owner].After(db.now()) }

func unitOfAggregate(a aggregate) string { return fmt.Sprintf("a:%s/%s", a.typ, a.id) }

func (db *fakeDB) holds(owner string) (n int) {
	for unit := range db.claims {
		if c, live := db.live(unit); live && c.owner == owner {
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

func (db *fakeDB) change(from, to State) (n int) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, r := range db.rows {
		if r.state == from {
			r.state, r.attempts, r.next = to, 0, db.now()
			n++
		}
	}
	if to == Discarded {
		db.flip(nil)
	}
	return n
}

// fakeTable is one instance's connection. It fails in three ways: not done, done but reported failed, done later. After a
// crash no call has an effect.
type fakeTable struct {
	db    *fakeDB
	mu    sync.Mutex
	rnd   *rand.Rand // nil: it is quick, and never fails
	slow  time.Duration
	odds  int // of 1000 calls, how many fail
	stall time.Time
	dead  chan struct{}
	calls map[string]int
	fail  map[string]error // by method: it is not done
	gate  func(method string)
	bad   int // calls that failed
}

func (db *fakeDB) connect() *fakeTable {
	return &fakeTable{db: db, dead: make(chan struct{}), calls: map[string]int{}, fail: map[string]error{}}
}

var errCut = errors.New("the connection was cut")

func (t *fakeTable) crash() { close(t.dead) }

func (t *fakeTable) crashed() bool {
	select {
	case <-t.dead:
		return true
	default:
		return false
	}
}

func (t *fakeTable) faults() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bad
}

func (t *fakeTable) roll(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rnd == nil || n <= 0 {
		return 0
	}
	return t.rnd.IntN(n)
}

func (t *fakeTable) doze(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.dead:
		return errCut
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do runs a statement against the database, in the ways that a network allows.
func (t *fakeTable) do(ctx context.Context, method string, work func() error) error {
	_, err := ask(ctx, t, method, func() (struct{}, error) { return struct{}{}, work() })
	return err
}

// ask is do with an answer, which is not heard of where the statement is done later.
func ask[T any](ctx context.Context, t *fakeTable, method string, work func() (T, error)) (answer T, err error) {
	t.mu.Lock()
	t.calls[method]++
	fail, gate, stall, odds := t.fail[method], t.gate, t.stall, t.odds
	t.mu.Unlock()
	if gate != nil {
		gate(method)
	}
	if fail != nil {
		return answer, fail
	}
	apply := func() (answer T, err error) {
		t.db.mu.Lock()
		defer t.db.mu.Unlock()
		if t.crashed() {
			return answer, errCut
		}
		return work()
	}
	if t.rnd == nil {
		return apply()
	}
	if wait := time.Until(stall); wait > 0 {
		if err := t.doze(ctx, wait); err != nil {
			return answer, err
		}
	}
	if err := t.doze(ctx, time.Duration(t.roll(int(t.slow)))); err != nil {
		return answer, err
	}
	if odds > 0 && t.roll(1000) < odds {
		t.mu.Lock()
		t.bad++
		t.mu.Unlock()
		switch t.roll(3) {
		case 0:
		case 1:
			_, _ = apply()
		default:
			if slices.Contains([]string{"take", "pick", "join", "release", "settle"}, method) {
				time.AfterFunc(time.Duration(t.roll(int(3*time.Second))), func() { _, _ = apply() })
			}
		}
		return answer, errCut
	}
	if answer, err = apply(); err != nil {
		return answer, err
	}
	return answer, t.doze(ctx, time.Duration(t.roll(int(t.slow))))
}

func (t *fakeTable) describe(context.Context) (description, error) {
	own := !t.db.mapped
	return description{Description: poller.Description{Engine: "fake", Table: "outbox", Fingerprint: "sha256:0"}, own: own, buckets: own, skips: true}, nil
}

func (t *fakeTable) look(ctx context.Context) (g glance, err error) {
	err = t.do(ctx, "look", func() error {
		g = glance{paused: t.db.pausedBy != "", by: t.db.pausedBy, partitions: t.db.parts}
		for _, r := range t.db.rows {
			if _, claimed := t.db.live(unitOfAggregate(r.agg)); r.committed {
				g.work = g.work || r.state == Pending || r.state == Failed && !r.next.After(t.db.now()) || r.state == Publishing && !claimed
				g.waiting = g.waiting || r.state == Waiting
			}
		}
		return nil
	})
	return g, err
}

func (t *fakeTable) draw(ctx context.Context) (token uint64, err error) {
	err = t.do(ctx, "draw", func() error { t.db.token++; token = t.db.token; return nil })
	return token, err
}

func (t *fakeTable) survey(ctx context.Context, owner string, strategy Strategy, want int) (result survey, err error) {
	err = t.do(ctx, "survey", func() error {
		result = survey{held: map[int]string{}}
		claimed := false
		for unit := range t.db.claims {
			if c, live := t.db.live(unit); live {
				claimed = true
				if unit == leaderUnit {
					result.leader = c.owner
				}
				if i, ok := partitionOf(unit); ok {
					result.held[i] = c.owner
				}
			}
		}
		for member := range t.db.members {
			if t.db.member(member) {
				result.members = append(result.members, member)
			}
		}
		slices.Sort(result.members)
		alone := len(result.members) == 0 || len(result.members) == 1 && result.members[0] == owner
		if want > 0 && (t.db.parts == 0 || alone && !claimed) {
			t.db.parts = want
		}
		if t.db.strategy == "" || alone && !claimed {
			if t.db.strategy == SkipLocked && strategy != SkipLocked {
				for _, r := range t.db.rows {
					if r.state == Publishing {
						r.state = Pending
					}
				}
			}
			t.db.strategy = strategy
		}
		result.strategy, result.partitions = t.db.strategy, t.db.parts
		return nil
	})
	return result, err
}

func (t *fakeTable) join(ctx context.Context, owner string, ttl time.Duration) error {
	return t.do(ctx, "join", func() error { t.db.members[owner] = t.db.now().Add(ttl); return nil })
}

func (t *fakeTable) renew(ctx context.Context, owner string, ttl time.Duration) (n int, err error) {
	err = t.do(ctx, "renew", func() error {
		n = 0
		if !t.db.member(owner) {
			return errLost
		}
		for unit := range t.db.claims {
			if c, live := t.db.live(unit); live && c.owner == owner {
				c.expires = t.db.now().Add(ttl)
				t.db.claims[unit] = c
				n++
			}
		}
		t.db.members[owner] = t.db.now().Add(ttl)
		return nil
	})
	return n, err
}

func (t *fakeTable) take(ctx context.Context, owner string, token uint64, units []string, ttl time.Duration) ([]string, error) {
	return ask(ctx, t, "take", func() (got []string, err error) {
		for _, unit := range units {
			if c, live := t.db.live(unit); !live || c.owner == owner {
				t.db.claims[unit] = fakeClaim{owner: owner, token: token, expires: t.db.now().Add(ttl)}
				got = append(got, unit)
			}
		}
		return got, nil
	})
}

func (t *fakeTable) release(ctx context.Context, owner string, units []string) error {
	return t.do(ctx, "release", func() error {
		for unit, c := range t.db.claims {
			if c.owner != owner || units != nil && !slices.Contains(units, unit) {
				continue
			}
			if c.agg != nil {
				for _, r := range t.db.rows {
					if r.agg == *c.agg && r.state == Publishing {
						r.state = Pending
					}
				}
			}
			delete(t.db.claims, unit)
		}
		if units == nil {
			delete(t.db.members, owner)
		}
		return nil
	})
}

func (t *fakeTable) row(r *fakeRow) row {
	return row{
		ref: ref{seq: r.seq}, at: position{bucket: r.bucket, seq: r.seq}, attempts: r.attempts, waits: t.db.blocked(r, false),
		outbox: change.Outbox{
			AggregateType: r.agg.typ, AggregateID: r.agg.id, EventType: "Changed", IdempotencyKey: fmt.Sprintf("key-%d", r.seq),
			Payload: []byte(`{"a":1}`), JSON: true, CreatedAt: time.Now().UTC(),
		},
	}
}

func within(ranges []bucketRange, bucket int) bool {
	return ranges == nil || slices.ContainsFunc(ranges, func(r bucketRange) bool { return r.from <= bucket && bucket < r.to })
}

// sorted are the committed rows as a fetch goes through them: by bucket where there are ranges.
func (t *fakeTable) sorted(ranges []bucketRange) []*fakeRow {
	var rows []*fakeRow
	for _, r := range t.db.rows {
		if r.committed && within(ranges, r.bucket) {
			rows = append(rows, r)
		}
	}
	if ranges != nil {
		slices.SortStableFunc(rows, func(a, b *fakeRow) int { return cmp.Compare(a.bucket, b.bucket) })
	}
	return rows
}

func (t *fakeTable) fetch(ctx context.Context, ranges []bucketRange, after position, limit poller.Limit) (rows []row, more bool, err error) {
	err = t.do(ctx, "fetch", func() error {
		rows, more = nil, false
		list := t.sorted(ranges)
		if after.bySeq {
			slices.SortFunc(list, func(a, b *fakeRow) int { return cmp.Compare(a.seq, b.seq) })
		}
		for _, r := range list {
			behind := r.bucket > after.bucket || r.bucket == after.bucket && r.seq > after.seq
			if ranges == nil || after.bySeq {
				behind = r.seq > after.seq
			}
			switch {
			case r.state != Pending || !behind:
			case len(rows) == limit.Rows:
				more = true
				return nil
			default:
				rows = append(rows, t.row(r))
			}
		}
		return nil
	})
	return rows, more, err
}

func (t *fakeTable) pick(ctx context.Context, owner string, token uint64, ttl time.Duration, limit poller.Limit) ([]row, bool, error) {
	type page struct {
		rows []row
		more bool
	}
	p, err := ask(ctx, t, "pick", func() (p page, err error) {
		if !t.db.member(owner) {
			return p, errLost
		}
		mine := map[aggregate]bool{}
		for _, r := range t.sorted(nil) {
			if r.state != Pending && r.state != Publishing {
				continue
			}
			if _, claimed := t.db.live(unitOfAggregate(r.agg)); claimed && !mine[r.agg] {
				continue
			}
			if len(p.rows) == limit.Rows {
				p.more = true
				return p, nil
			}
			if !mine[r.agg] {
				mine[r.agg] = true
				t.db.claims[unitOfAggregate(r.agg)] = fakeClaim{owner, token, t.db.now().Add(ttl), &r.agg}
			}
			p.rows = append(p.rows, t.row(r))
			r.state = Publishing
		}
		return p, nil
	})
	return p.rows, p.more, err
}

func (t *fakeTable) due(ctx context.Context, ranges []bucketRange, limit poller.Limit, c claim) (rows []row, next time.Duration, err error) {
	err = t.do(ctx, "due", func() error {
		size := 0
		rows, next = nil, -1
		if c.owner != "" && !t.db.member(c.owner) {
			return errLost
		}
		for _, r := range t.sorted(ranges) {
			if r.state != Failed || t.db.blocked(r, true) {
				continue
			}
			if wait := r.next.Sub(t.db.now()); wait > 0 {
				if next < 0 || wait < next {
					next = wait
				}
				continue
			}
			size += len(t.row(r).outbox.Payload)
			if len(rows) >= limit.Rows || len(rows) > 0 && limit.Bytes > 0 && size > limit.Bytes {
				continue
			}
			if c.owner != "" {
				if _, claimed := t.db.live(unitOfAggregate(r.agg)); claimed {
					continue
				}
				t.db.claims[unitOfAggregate(r.agg)] = fakeClaim{c.owner, c.token, t.db.now().Add(c.ttl), &r.agg}
			}
			rows = append(rows, t.row(r))
		}
		return nil
	})
	return rows, next, err
}

func (t *fakeTable) other(ctx context.Context, ranges []bucketRange, avoid []aggregate) (found *row, err error) {
	err = t.do(ctx, "other", func() error {
		for _, r := range t.sorted(ranges) {
			_, claimed := t.db.live(unitOfAggregate(r.agg))
			claimed = claimed || slices.ContainsFunc(t.db.rows, func(b *fakeRow) bool { return b.agg == r.agg && b.state == Publishing })
			if r.state == Pending && !claimed && !t.db.blocked(r, false) && !slices.Contains(avoid, r.agg) {
				one := t.row(r)
				found = &one
				return nil
			}
		}
		return nil
	})
	return found, err
}

func (t *fakeTable) settle(ctx context.Context, owner string, held int, m marks) error {
	return t.do(ctx, "settle", func() error {
		if n := t.db.holds(owner); n < held || held == 0 {
			return fmt.Errorf("%w: %d of %d", errLost, n, held)
		}
		open := func(r *fakeRow) bool { return r.state == Pending || r.state == Publishing }
		for _, r := range m.published {
			if row := t.db.at(r.seq); open(row) {
				row.state = Published
			}
		}
		for _, f := range m.failed {
			row := t.db.at(f.ref.seq)
			if !open(row) && row.state != Failed || row.attempts != f.attempts && row.attempts != f.attempts-1 {
				continue
			}
			row.state, row.attempts, row.next = Failed, f.attempts, t.db.now().Add(f.delay)
			if f.dead {
				row.state = Dead
			}
			t.db.log("%s: %d of %v fails: %s", owner, row.seq, row.agg, row.state)
		}
		slices.SortFunc(m.waiting, func(a, b marked) int { return cmp.Compare(a.ref.seq, b.ref.seq) })
		for _, w := range m.waiting {
			if row := t.db.at(w.ref.seq); open(row) {
				row.state = Pending
				if t.db.blocked(row, false) {
					row.state = Waiting
				}
			}
		}
		for _, r := range m.retried {
			if row := t.db.at(r.ref.seq); row.state == Failed {
				row.state = Published
			}
			t.db.letGo(r.aggregate)
		}
		for _, f := range m.failed {
			t.db.letGo(f.aggregate)
		}
		for _, r := range m.returned {
			if row := t.db.at(r.seq); row.state == Publishing {
				row.state = Pending
			}
		}
		for _, a := range m.freed {
			if c, ok := t.db.claims[unitOfAggregate(a)]; ok && c.owner == owner {
				delete(t.db.claims, unitOfAggregate(a))
			}
		}
		return nil
	})
}

func (t *fakeTable) mend(ctx context.Context) (n int, err error) {
	err = t.do(ctx, "mend", func() error {
		n = t.db.flip(nil)
		for _, r := range t.db.rows {
			if _, claimed := t.db.live(unitOfAggregate(r.agg)); r.state == Publishing && !claimed {
				r.state = Pending
				n++
			}
		}
		return nil
	})
	return n, err
}

func (t *fakeTable) work(context.Context, int) ([]int, error) { return nil, errors.New("not modelled") }

func (t *fakeTable) figures(ctx context.Context) (f poller.OutboxFigures, err error) {
	err = t.do(ctx, "figures", func() error {
		f = poller.OutboxFigures{}
		for _, r := range t.db.rows {
			switch r.state {
			case Pending, Publishing:
				f.Pending++
			case Failed:
				f.Failed++
			case Waiting:
				f.Waiting++
			case Dead:
				f.Dead++
			}
		}
		return nil
	})
	return f, err
}

func (t *fakeTable) close() error { return nil }
