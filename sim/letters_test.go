package sim

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
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

	written map[string]bool  // by event id: the document does not say so yet
	freed   map[string][]int // after which shows the document did: from then on nothing waits for the event
}

// stored notes which dead letters the document that was just written lets go: it has passed them, and they are not
// parked.
func (l *letters) stored() {
	w := l.w
	front := w.doc.Late.Frontier
	if front.IsStart() {
		front = w.doc.Checkpoint.Cursor
	}
	at, err := placeOf(front)
	if err != nil {
		return // checkLoss says so
	}
	for id := range l.written {
		head := func(e parking.Entry) bool { return e.ID == id }
		if at.passed(w.versions[id]) && !slices.ContainsFunc(w.parked, head) {
			delete(l.written, id)
			l.freed[id] = append(l.freed[id], w.shows.seq)
		}
	}
}

// before is the last show up to another after which an event was let go; 0 where there is none.
func (l *letters) before(id string, upTo int) (last int) {
	for _, seq := range l.freed[id] {
		if seq <= upTo {
			last = seq
		}
	}
	return last
}

func newLetters(w *world) *letters {
	return &letters{
		w: w, ids: map[string]bool{}, replayed: map[string]bool{}, since: map[string]int{}, written: map[string]bool{},
		freed: map[string][]int{},
	}
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
		w.letters.ids[d.Event.ID], w.letters.written[d.Event.ID] = true, true
		if !slices.ContainsFunc(w.letters.records, func(r *record) bool { return r.id == d.Event.ID }) {
			w.letters.records = append(w.letters.records, &record{d.Event.ID, d.Event.Key, d.Event.OrderKey})
		}
	}
	o.p.ask(ctx, &call{what: "dead letter", arg: w.id(d.Event.ID), wire: keep, resolve: func(c *call) bool {
		if c.gaveUp {
			err = ctx.Err()
			w.say(o.p.name, "dead letter %s: given up", c.arg)
			if !w.letters.down && w.fate(0.3) {
				w.later(o.p.name+" dead letter "+c.arg, keep)
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

// recently is how long an acceptance shows that the receiver works (docs/failures.md).
const recently = 5 * time.Minute

// judge checks that there was evidence for each attempt but the first that is held against an event. It failed alone or
// by name; and the receiver took an event of another order key afterwards, or it answered, had refused few events since
// it took the last one, and that was lately, or the answer is about this event, or an attempt counted before. An answer
// that there is no room now says nothing.
func (l *letters) judge(d *poller.DeadLetter) {
	w, e := l.w, &d.Event
	if d.Cause == poller.Impossible {
		if b := w.sink.bad[e.ID]; b == nil || b.cause != poller.Impossible {
			w.fail("%s is dead-lettered as impossible, which it was not", w.id(e.ID))
		}
		return
	}
	proven, open := map[string]bool{}, map[string]bool{} // by batch: repetitions of a request are one attempt
	refused := map[*process]map[string]bool{}            // since the last acceptance, by who knows of it
	var accepted, shut time.Time                         // shut: the event was first answered by ofSender
	for i, a := range w.sink.history {
		if a.id == e.ID && a.status == ofSender && !a.named && shut.IsZero() {
			shut = a.at
		}
		about := a.named || a.cause == poller.Impossible || slices.Contains(rejectStatus, a.status)
		if a.accepted { // the document tells the others
			clear(refused)
		}
		if refused[a.by] == nil {
			refused[a.by] = map[string]bool{}
		}
		// What had no answer was not refused, nor what there was no room for.
		if !a.accepted && a.lone && !a.busy() && (a.status != 0 || a.cause == poller.Impossible) {
			refused[a.by][a.id] = true
		}
		switch {
		case a.accepted:
			accepted = a.at
			if a.other(e) {
				maps.Copy(proven, open)
				clear(open)
			}
		case a.id != e.ID, !a.lone, i < l.since[e.ID], a.busy():
		case a.cause == poller.Impossible, about && len(proven) > 0,
			a.status != 0 && len(refused[a.by]) <= w.pro.MostBad && (about || len(proven) > 0 || a.at.Sub(accepted) < recently &&
				(a.status != ofSender || accepted.After(shut))):
			proven[a.batch] = true
		default:
			open[a.batch] = true
		}
	}
	need := max(1, w.fewest-1) // the first attempt counts without evidence as well (Policy.Failed)
	if w.loose {
		need = 1 // a retry and a live copy of one event may fail side by side, and both count
	}
	if len(proven) < need {
		w.fail("%s is dead-lettered after %d attempts with evidence, of %d", w.id(e.ID), len(proven), need)
	}
}
