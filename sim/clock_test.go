package sim

import (
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
)

// era is the time between two jumps of the database's clock.
type era struct{ shift time.Duration }

// reading is what an answer said of the database's clock.
type reading struct {
	now, at time.Time // by that clock, and when it was read
	era     int
}

// clock is the database's time as a cursor value.
func (t *table) clock() int64 {
	return (time.Since(t.w.began) + t.jumped + longAgo).Milliseconds()
}

// dates reads positions as times, where the cursor is one.
func (t *table) dates() *late.Dates {
	if !t.w.pro.Clock || t.w.pro.Windows {
		return nil
	}
	zero := t.w.began.Add(t.clockShift - t.jumped - longAgo) // the time of the value 0
	return &late.Dates{
		Span: func(c change.Cursor) (time.Time, time.Time, bool) {
			p, err := placeOf(c)
			at := zero.Add(time.Duration(p.at.value) * time.Millisecond)
			return at, at, err == nil && p.begun && p.at.key != last
		},
		Before: func(at time.Time) change.Cursor {
			return cursorOf(pos{at.Sub(zero).Milliseconds() - 1, last})
		},
	}
}

// longAgo is how much the database's clock may go back.
const longAgo = 100 * 24 * time.Hour

// jump sets the database's clock to another time.
func (t *table) jump() {
	w := t.w
	w.tally.Jumps++
	d := w.span(-w.pro.Jump, w.pro.Jump)
	t.jumped += d
	t.fell = t.fell || d < 0
	t.clockShift += d
	t.eras = append(t.eras, era{t.jumped})
	w.say("db", "the clock jumps by %s", d)
}

// unread reports whether a row can be missed, because the clock fell by more than the window (less the time for which
// the row's transaction was open), and rose again before anybody who lived on had read it: the row was written in
// between, below what the clock, as it was after that, would have shown at the reading before.
func (w *world) unread(v *version) bool {
	t := w.table
	if !w.pro.Clock || len(t.eras) == 1 {
		return false
	}
	before, after := reading{era: -1}, reading{era: -1}
	for _, r := range w.readings() {
		switch {
		case r.era == v.era:
			return false
		case r.era < v.era && r.at.After(before.at):
			before = r
		case r.era > v.era && (after.era < 0 || r.at.Before(after.at)):
			after = r
		}
	}
	if before.era < 0 || after.era < 0 {
		return false
	}
	was, then, is := t.eras[before.era].shift, t.eras[v.era].shift, t.eras[after.era].shift
	first := (before.at.Sub(w.began) + is + longAgo).Milliseconds()
	return was-then > w.pro.Window-v.open-2*time.Second && v.value < first
}

// readings are those of the processes of an output that live, and of those that have died since they wrote the
// document.
func (w *world) readings() []reading {
	all := w.read
	for _, p := range w.slots {
		if p.out == w.output && !p.dead {
			p.reads.Lock()
			all = append(all[:len(all):len(all)], p.read...)
			p.reads.Unlock()
		}
	}
	return all
}

// stored takes the readings of a process as known, once the document keeps one of them.
func (w *world) stored(p *process) {
	p.reads.Lock()
	defer p.reads.Unlock()
	for i, r := range p.read {
		if r.now.Truncate(time.Microsecond).Equal(w.doc.Late.Clock) {
			w.read, p.read = append(w.read, p.read[:i+1]...), p.read[i+1:]
			return
		}
	}
}

// held reports whether a row waits for its time (source__future_rows), or has come to it just now.
func (w *world) held(v *version) bool {
	now := w.table.clock()
	if v.ahead || len(w.table.eras) > 1 {
		now -= time.Minute.Milliseconds()
	}
	return w.pro.FutureRows != "" && w.pro.Clock && v.value > now
}

// early says what of a request should be held still. The clock is known from readings that are a minute old, and took
// long.
func (w *world) early(q *request) {
	if w.pro.FutureRows == "" || len(w.table.eras) > 1 {
		return
	}
	limit := w.table.clock() + (w.pro.Window + 4*time.Minute).Milliseconds()
	for i := range q.d.Events {
		s, v := &q.shows[i], w.versions[q.d.Events[i].ID]
		if v.value > limit && !s.probe && (s.kind == change.Live || s.kind == change.Sweep) {
			w.fail("%s sends %s, which is dated ahead of the database's clock", q.life.name, w.id(v.event.ID))
		}
	}
}
