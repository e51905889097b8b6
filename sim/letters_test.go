package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// letters keeps dead letters, and knows whether each was deserved.
type letters struct {
	w    *world
	ids  map[string]bool
	down bool // nothing is kept, and nobody answers

	records  []*record
	replayed map[string]bool // by an operator
	since    map[string]int  // attempts that do not count any more, of those that were replayed
}

type lettersOf struct{ p *process }

var _ poller.DeadLetters = lettersOf{}

var errLetter = errors.New("the simulated dead-letter store is busy")

// Put implements poller.DeadLetters.
func (o lettersOf) Put(ctx context.Context, d poller.DeadLetter) (err error) {
	w := o.p.w
	err = over
	keep := func() {
		if !w.letters.ids[d.Event.ID] {
			w.tally.DeadLettered++
		}
		w.letters.ids[d.Event.ID] = true
		if !slices.ContainsFunc(w.letters.records, func(r *record) bool { return r.id == d.Event.ID }) {
			w.letters.records = append(w.letters.records, &record{d.Event.ID, d.Event.Key, d.Event.OrderKey})
		}
	}
	o.p.ask(ctx, &call{what: "dead letter", arg: w.id(d.Event.ID), wire: keep, resolve: func(c *call) bool {
		if c.gaveUp {
			err = ctx.Err()
			w.say(o.p.name, "dead letter %s: given up", c.arg)
			if !w.letters.down && w.fate(0.3) {
				w.late = append(w.late, lateEffect{o.p.name + " dead letter " + c.arg, keep})
			}
			return true
		}
		if c.notBefore.IsZero() {
			w.letters.judge(&d)
			if w.letters.down || w.fate(w.pro.LetterHang) {
				w.tally.LetterHangs++
				w.say(o.p.name, "dead letter %s: no answer comes", c.arg)
				return c.hold(time.Hour)
			}
		}
		switch {
		case w.fate(w.pro.LetterFail):
			err = errLetter
		case w.fate(w.pro.LetterLost):
			keep()
			err = errLetter
		default:
			keep()
			err = nil
		}
		w.say(o.p.name, "dead letter %s after %d attempts: %s", c.arg, d.Attempts, verdict(err))
		return true
	}})
	return err
}

// weather begins or ends an outage of the place for dead letters.
func (l *letters) weather() {
	l.down = !l.down
	l.w.say("dl", "out of order: %v", l.down)
}

// judge checks that there was evidence for each attempt that is held against an event: the sink refused it alone or by
// name, and took an event of another order key afterwards; for a status in rejectStatus, after its first failure.
func (l *letters) judge(d *poller.DeadLetter) {
	w, e := l.w, &d.Event
	if d.Cause == poller.Impossible {
		if b := w.sink.bad[e.ID]; b == nil || b.cause != poller.Impossible {
			w.fail("%s is dead-lettered as impossible, which it was not", w.id(e.ID))
		}
		return
	}
	attempts, open, hinted, known := 0, 0, false, false
	for _, a := range w.sink.history[l.since[e.ID]:] {
		switch {
		case a.id == e.ID && !a.accepted:
			hint := slices.Contains(rejectStatus, a.status)
			switch {
			case !a.lone:
			case a.cause == poller.Impossible:
				attempts++ // it needs no evidence, and is some for what follows
				known = true
			case hint && known:
				attempts++
			default:
				open = 1 // repetitions of a request are one attempt
			}
			hinted = hinted || hint
		case a.accepted && a.order != string(w.laneOf(e)):
			attempts += open
			known = known || hinted || open > 0
			open = 0
		}
	}
	need := w.fewest
	if w.loose {
		need = 1 // a retry and a live copy of one event may fail side by side, and both count
	}
	if attempts < need {
		w.fail("%s is dead-lettered after %d attempts with evidence, of %d", w.id(e.ID), attempts, need)
	}
}
