package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// table is the one database table, with the transactions that write it. A row's cursor value is drawn when it is
// written, and the row is shown when its transaction commits.
type table struct {
	w           *world
	rows        []*row // by key, from 0
	open        []*tx
	sequence    int64
	incarnation string
	lives       int
	txs         int
	number      uint64        // the last that a transaction or savepoint took
	commits     int           // how many transactions were committed: a snapshot is that number
	clockShift  time.Duration // of the database's clock
	jumped      time.Duration // of that since the run began
	fell        bool          // it was set back
	eras        []era         // between its jumps

	lastTraffic time.Time
	inserted    int // by traffic
	sealed      bool

	copied bool // there is a copy to restore: what each row was
	copy   []*version
	copySq int64
	copyNo uint64

	floor floor // of changes
}

// row is one row and its history.
type row struct {
	key     int
	group   int      // its order key's, as it is committed; -1 where that is its own
	cur     *version // what a reader sees; nil before its insert is committed, and after its delete
	written *version // the last one written, committed or not
	writer  *tx      // the open transaction that holds its lock
	revs    int
}

// version is one state of a row.
type version struct {
	row    *row
	value  int64 // the cursor's
	rev    int
	group  int           // of the row's order key
	commit int           // the number of the transaction among those committed
	era    int           // of the database's clock, when it drew the value
	open   time.Duration // how long its transaction was open after that
	event  change.Event
	gone   bool // the row's delete
	// Of change tracking: the change was removed; the row was there before; when it was committed.
	purged, unrecorded bool
	committed          time.Time
	ahead              bool // of the clock, when it was written
	writer             uint64
	began              time.Time // its transaction
}

// pos is a position in the table's order.
type pos struct {
	value int64
	key   int
}

func (p pos) compare(q pos) int {
	return cmp.Or(cmp.Compare(p.value, q.value), cmp.Compare(p.key, q.key))
}

func (v *version) pos() pos { return pos{v.value, v.row.key} }

// last is a key above all.
const last = 1 << 30

func cursorOf(p pos) change.Cursor {
	return change.Cursor(fmt.Sprintf(`{"kind":"sim","value":%d,"tiebreaker":{"id":%d}}`, p.value, p.key))
}

func newTable(w *world) *table {
	return &table{w: w, incarnation: "life-1", lives: 1, sequence: 1, clockShift: w.span(-time.Hour, time.Hour),
		eras: make([]era, 1)}
}

// act is one step of the writers.
func (t *table) act() {
	w := t.w
	if w.pro.Tracked && w.chance(0.1) {
		t.elsewhere()
	}
	if n := len(t.open); n > 0 && (n >= 3 || w.chance(0.6)) {
		x := t.open[w.rng.IntN(n)]
		if len(x.writes) == 0 || len(x.writes) < 3 && w.chance(0.3) {
			t.write(x)
			return
		}
		if time.Now().Before(x.until) {
			return
		}
		t.close(x, w.chance(0.8))
		return
	}
	x := t.begin()
	t.open = append(t.open, x)
	if w.pro.Shown && w.chance(0.2) {
		x.until = time.Now().Add(w.span(w.pro.Window/2, 3*w.pro.Window))
	}
	if w.pro.LateCommit {
		w.say("db", "tx%d begins", x.id)
		return
	}
	most := 2
	if w.pro.Shared {
		most = 8 // more than a page
	}
	for range 1 + w.rng.IntN(most) {
		t.write(x)
	}
	t.close(x, true)
}

// backUp copies the table.
func (t *table) backUp() {
	t.copied, t.copySq, t.copyNo = true, t.sequence, t.number
	t.copy = t.copy[:0]
	for _, r := range t.rows {
		t.copy = append(t.copy, r.cur)
	}
	t.w.say("db", "is copied")
}

// restore brings the copy back: another life of the database.
func (t *table) restore() {
	w := t.w
	w.tally.Restores++
	w.each(func() { w.shows.restored = w.shows.seq })
	for len(t.open) > 0 {
		t.close(t.open[0], false)
	}
	for i, r := range t.rows {
		r.cur = nil
		if i < len(t.copy) {
			r.cur = t.copy[i]
		}
		if r.cur != nil {
			r.group = r.cur.group
		}
		t.skip(r.cur) // also the older versions of what an operator passed over
	}
	t.lives++
	t.incarnation = fmt.Sprintf("life-%d", t.lives)
	if !w.pro.Clock {
		t.sequence = max(t.copySq, t.floor.value+1) // the floor is not restored: what it says may be missing is
	}
	t.copied, t.number = false, t.copyNo // numbers are given again
	w.say("db", "is restored: %s", t.incarnation)
}

// skipTo notes that an operator moved the position, and what is behind it and was not delivered stays so.
func (t *table) skipTo(to place) {
	t.w.passed = append(t.w.passed, to)
	for _, r := range t.rows {
		t.skip(r.cur)
	}
}

// skip marks a version that an operator chose to pass over.
func (t *table) skip(v *version) {
	if v != nil && !t.w.arrived(v) && slices.ContainsFunc(t.w.passed, func(p place) bool { return p.passed(v) }) {
		t.w.skipped[v] = true
	}
}

// eventOf is the event that a source makes of a row's version. The id hashes the content where the cursor is not
// unique.
func (t *table) eventOf(v *version) change.Event {
	key := fmt.Appendf(nil, `{"id":%d}`, v.row.key)
	order := key
	if v.group >= 0 {
		order = fmt.Appendf(nil, `{"group":%d}`, v.group)
	}
	content := fmt.Appendf(nil, `{"id":%d,"rev":%d,"group":%d}`, v.row.key, v.rev, v.group)
	cursor := cursorOf(v.pos())
	hashed := content
	if !t.w.pro.Clock && t.w.pro.Restore == 0 { // a restored database draws numbers again
		hashed = nil
	}
	op := change.Upsert
	if v.gone {
		op, content = change.Delete, nil
	}
	return change.Event{
		ID: change.EventID("orders", op, key, cursor, hashed), Op: op, Key: key, OrderKey: order, Row: content,
		Cursor: cursor, Time: t.w.began, Writer: v.writer,
	}
}

// shown are the rows that a reader sees after a position, in order.
func (t *table) shown(after, upTo pos, end bool) []*version {
	var all []*version
	for _, r := range t.rows {
		if v := r.change(); v != nil && v.pos().compare(after) > 0 && (!end || v.pos().compare(upTo) <= 0) {
			all = append(all, r.cur)
		}
	}
	slices.SortFunc(all, func(a, b *version) int { return a.pos().compare(b.pos()) })
	return all
}

// safe is the position below which nothing can appear any more; open says whether something may be above it.
func (t *table) safe() (p pos, open bool) {
	lowest := int64(-1)
	for _, x := range t.open {
		for _, v := range x.writes {
			if (!v.gone || t.w.pro.Tracked) && (lowest < 0 || v.value < lowest) {
				lowest = v.value
			}
		}
	}
	if lowest < 0 {
		return pos{}, false
	}
	return pos{lowest - 1, last}, true
}
