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
}

// tx is an open transaction.
type tx struct {
	id     int
	began  time.Time
	value  int64 // with a clock as the cursor
	era    int   // of that clock
	writes []*version
	number uint64    // where rows tell who wrote them; it is taken with the first write
	until  time.Time // it stays open at least so long: where the server shows it, beyond the window
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

// begin draws a transaction's cursor value.
func (t *table) begin() *tx {
	t.txs++
	x := &tx{id: t.txs, began: time.Now(), value: t.clock(), era: len(t.eras) - 1}
	if !t.w.pro.LateCommit { // then the order of the cursor is that of the commits
		x.value = max(x.value, t.sequence+1)
		t.sequence = x.value
	}
	return x
}

// longest is how long a transaction may stay open where the server does not show it: the promise of overlap mode ends
// at the window.
func (t *table) longest() time.Duration { return t.w.pro.Window * 8 / 10 }

// expire ends transactions that have been open for as long as they may.
func (t *table) expire() {
	for i := 0; i < len(t.open); i++ {
		if x := t.open[i]; !t.w.pro.Shown && time.Since(x.began) >= t.longest() {
			t.close(x, t.w.chance(0.8))
			i--
		}
	}
}

// atMost shortens a wait so that no transaction is open for longer than it may.
func (t *table) atMost(d time.Duration) time.Duration {
	for _, x := range t.open {
		if left := t.longest() - time.Since(x.began); !t.w.pro.Shown && left < d {
			d = max(left, time.Millisecond)
		}
	}
	return d
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

// write inserts, updates or deletes a row in an open transaction.
func (t *table) write(x *tx) {
	w := t.w
	var r *row
	if len(t.rows) > 0 && (w.chance(0.5) || w.pro.Keys > 0 && len(t.rows) >= w.pro.Keys && !w.calm) {
		r = t.rows[w.rng.IntN(len(t.rows))]
		if w.pro.Hot {
			r = t.rows[0]
		}
		if w.pro.Moves > 0 && len(w.parked) > 0 && w.chance(0.4) {
			r = t.waiting()
		}
		if r.writer != nil && r.writer != x || r.cur == nil && r.writer != x && w.pro.Deletes == 0 {
			return // it waits for the other's lock, or is gone
		}
		if r.there() && w.chance(w.pro.Deletes) {
			t.remove(x, r)
			return
		}
	} else {
		r = &row{key: len(t.rows), group: -1}
		if w.pro.Groups > 0 {
			r.group = w.rng.IntN(w.pro.Groups)
		}
		t.rows = append(t.rows, r)
		w.tally.Rows++
	}
	t.draw(x, r)
}

// remove deletes a row in an open transaction.
func (t *table) remove(x *tx, r *row) {
	if t.w.pro.Tracked {
		if t.w.chance(0.3) {
			t.rekey(x, r)
		} else {
			t.erase(x, r)
		}
		return
	}
	t.w.tally.Deletes++
	v := &version{row: r, gone: true}
	r.writer, r.written = x, v
	x.writes = append(slices.DeleteFunc(x.writes, func(o *version) bool { return o.row == r }), v)
	t.w.say("db", "tx%d deletes row %d", x.id, r.key)
}

// draw writes a row's next version in an open transaction.
func (t *table) draw(x *tx, r *row) { t.drawAs(x, r, false) }

func (t *table) drawAs(x *tx, r *row, gone bool) {
	w := t.w
	v := &version{row: r, value: t.sequence, rev: r.revs, group: r.group, era: x.era, gone: gone}
	// from, to or within those that are shared
	if r.group >= 0 && r.group < w.pro.Groups && v.rev > 0 && w.chance(w.pro.Moves) {
		v.group = w.rng.IntN(w.pro.Groups + 2)
	}
	switch {
	case w.pro.Tracked:
		v.value = t.versionOf(x, r)
	case w.pro.Clock:
		if v.value = x.value; w.chance(w.pro.Future) && !w.calm {
			v.value += w.span(time.Second, w.pro.Ahead).Milliseconds()
		}
	default:
		t.sequence++
	}
	v.ahead = v.value > t.clock()
	v.writer = t.numberOf(x)
	r.revs++
	if v.rev > 0 {
		w.tally.Updates++
	}
	r.writer, r.written = x, v
	v.event = t.eventOf(v)
	w.name(&v.event, v)
	w.versions[v.event.ID] = v
	x.writes = append(slices.DeleteFunc(x.writes, func(o *version) bool { return o.row == r }), v)
	w.say("db", "tx%d writes row %d rev %d with cursor %d (%s)", x.id, r.key, v.rev, v.value, w.id(v.event.ID))
	w.each(func() { w.sink.maybeBad(v) })
}

// numberOf is the number that a write bears: its transaction's, or that of a savepoint, which is a later one.
func (t *table) numberOf(x *tx) uint64 {
	if !t.w.pro.Writers {
		return 0
	}
	if x.number == 0 {
		t.number++
		x.number = t.number
	} else if t.w.chance(0.4) {
		t.number++
		return t.number
	}
	return x.number
}

// ended is the number below which every transaction has ended.
func (t *table) ended() uint64 {
	ended := t.number + 1
	for _, x := range t.open {
		if x.number > 0 {
			ended = min(ended, x.number)
		}
	}
	return ended
}

// close commits or rolls back.
func (t *table) close(x *tx, commit bool) {
	w := t.w
	t.open = slices.DeleteFunc(t.open, func(o *tx) bool { return o == x })
	if commit {
		t.commits++
	}
	for _, v := range x.writes {
		v.row.writer = nil
		if commit {
			if v.gone && !w.pro.Tracked {
				v.row.cur = nil
				continue
			}
			v.commit, v.open, v.committed = t.commits, time.Since(x.began), time.Now()
			v.row.cur, v.row.group = v, v.group
			w.each(func() { t.skip(v) })
		}
	}
	switch {
	case len(x.writes) == 0:
	case commit:
		for _, v := range x.writes {
			for _, r := range t.rows {
				if r.cur != nil && w.pro.LateCommit && !v.gone && r.cur.value > v.value {
					w.tally.LateCommits++
					break
				}
			}
		}
		w.say("db", "tx%d commits", x.id)
		w.each(w.checkLoss)
	default:
		w.tally.Rollbacks++
		w.say("db", "tx%d rolls back", x.id)
	}
}

// settleOpen ends every open transaction.
func (t *table) settleOpen() {
	for len(t.open) > 0 {
		t.close(t.open[0], t.w.chance(0.8))
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
