package sim

import (
	"slices"
	"time"
)

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

// begin draws a transaction's cursor value.
func (t *table) begin() *tx {
	t.txs++
	x := &tx{id: t.txs, began: time.Now(), value: t.clock(), era: len(t.eras) - 1}
	if old := t.w.pro.Old; old > 0 && t.w.chance(0.3) { // the application drew it before
		x.value -= t.w.span(0, old).Milliseconds()
	}
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
			if r.group = 0; w.pro.Busy == 0 || !w.chance(w.pro.Busy) {
				r.group = w.rng.IntN(w.pro.Groups)
			}
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
	v.writer, v.began = t.numberOf(x), x.began
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
