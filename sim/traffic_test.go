package sim

import (
	"fmt"
	"time"
)

// trafficEvery is how often good rows are inserted once faults have stopped: without an event of another key that is
// accepted there is no evidence against a bad one, and nothing happens to it (docs/failures.md).
const trafficEvery = 20 * time.Second

// mostTraffic bounds these rows: a memory of late commits that is small lets no more than so many through in a window.
const mostTraffic = 60

// traffic inserts rows with order keys of their own now and then.
func (t *table) traffic() {
	w := t.w
	if w.siege || time.Since(t.lastTraffic) < trafficEvery || t.inserted >= mostTraffic || w.missing() == "" {
		return
	}
	first := t.lastTraffic.IsZero()
	t.lastTraffic = time.Now()
	if w.pro.Quiet == nothingNew && !first || w.pro.Newest && t.sealed {
		return
	}
	for range 1 + w.rng.IntN(4) { // sometimes more than a page, so that there is one to probe with
		if w.pro.Quiet != sameKeys || first || len(t.rows) == 0 {
			t.insert(w.pro.Groups)
		} else if r := t.rows[w.rng.IntN(len(t.rows))]; r.cur != nil {
			t.rewrite(r)
		}
	}
}

// insert commits a row, with an order key of its own.
func (t *table) insert(groups int) *row {
	r := &row{key: len(t.rows), group: -1}
	if groups > 0 {
		r.group = ownGroup + r.key
	}
	t.rows = append(t.rows, r)
	t.rewrite(r)
	return r
}

// rewrite commits a row's next version, alone.
func (t *table) rewrite(r *row) {
	x := t.begin()
	t.inserted++
	t.draw(x, r)
	t.close(x, true)
}

// ownGroup is above all groups that rows share.
const ownGroup = 1000

// seal writes the last row of all, and it is a bad one: nothing comes after it that could be accepted.
func (t *table) seal() {
	t.sealed = true
	r := t.insert(t.w.pro.Groups)
	t.w.each(func() {
		for b := (*badness)(nil); b == nil || b.until > 0; b = t.w.sink.bad[r.cur.event.ID] {
			t.w.sink.spoil(r.cur)
		}
	})
}

// waiting is a row that is parked.
func (t *table) waiting() *row {
	key := t.w.parked[t.w.rng.IntN(len(t.w.parked))].Key
	for _, r := range t.rows {
		if string(key) == fmt.Sprintf(`{"id":%d}`, r.key) {
			return r
		}
	}
	panic("sim: a parked row that the table never had: " + string(key))
}
