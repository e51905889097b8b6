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
	w   *world
	ids map[string]bool
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
	}
	o.p.ask(ctx, &call{what: "dead letter", arg: w.id(d.Event.ID), wire: keep, resolve: func(c *call) bool {
		if c.gaveUp {
			err = ctx.Err()
			return true
		}
		w.letters.judge(&d)
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

// judge checks that there was evidence for each attempt that is held against an event: the sink refused it alone or by name, and
// took an event of another order key afterwards; or it answered, had refused few events since it took the last one, and that was
// lately or the answer is about this event.
func (l *letters) judge(d *poller.DeadLetter) {
	w, e := l.w, &d.Event
	if d.Cause == poller.Impossible {
		if b := w.sink.bad[e.ID]; b == nil || b.cause != poller.Impossible {
			w.fail("%s is dead-lettered as impossible, which it was not", w.id(e.ID))
		}
		return
	}
	attempts, open, known := 0, 0, false
	refused := map[*process]map[string]bool{} // since the last acceptance, by who knows of it
	var accepted time.Time
	for _, a := range w.sink.history {
		clear := a.status == 200 || slices.Contains(rejectStatus, a.status) // named, or refused for what it is
		if refused[a.by] == nil || a.accepted {
			refused[a.by] = map[string]bool{}
		}
		if !a.accepted && a.lone {
			refused[a.by][a.id] = true
		}
		switch {
		case a.accepted:
			accepted = a.at
			if a.order != string(w.laneOf(e)) {
				attempts += open
				known = known || open > 0
				open = 0
			}
		case a.id != e.ID || !a.lone:
		case a.cause == poller.Impossible:
			attempts++ // it needs no evidence, and is some for what follows
			known = true
		case a.status == 429, a.status == 503: // says nothing about the event
		case clear && known, a.status != 0 && len(refused[a.by]) <= 3 && (clear || a.at.Sub(accepted) < 5*time.Minute):
			attempts++
			known = known || clear
		default:
			open = 1 // repetitions of a request are one attempt
		}
	}
	need := max(1, w.pro.Policy.MaxAttempts-1) // the first attempt counts without evidence as well (Policy.Failed)
	if w.pro.Ordering == poller.OrderNone {
		need = 1 // a retry and a live copy of one event may fail side by side, and both count
	}
	if attempts < need {
		w.fail("%s is dead-lettered after %d attempts with evidence, of %d", w.id(e.ID), attempts, need)
	}
}
