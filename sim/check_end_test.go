package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// checkLoss looks whether the checkpoint has passed a row that is neither delivered nor kept.
func (w *world) checkLoss() {
	if w.doc.PollerName == "" || w.doc.Checkpoint.Incarnation != w.table.incarnation {
		return
	}
	if w.pro.Clock && w.table.fell {
		return // the position goes back to the clock when the poller has seen that: what must arrive in the end tells
	}
	at, err := placeOf(w.doc.Checkpoint.Cursor)
	if err != nil {
		w.fail("the checkpoint is %s: %v", w.doc.Checkpoint.Cursor, err)
		return
	}
	for _, r := range w.table.rows {
		if v := r.cur; v != nil && at.passed(v) && !w.arrived(v) && !w.waits(v) && !w.inWhole(w.doc.Backfill, v) &&
			!w.isApart(v) {
			w.fail("lost: row %d rev %d (%s) is behind the checkpoint %s, and was neither delivered nor kept", r.key, v.rev,
				w.id(v.event.ID), brief(w.doc.Checkpoint.Cursor))
		}
	}
}

// finished reports whether everything has arrived.
func (w *world) finished() bool { return len(w.late) == 0 && w.missing() == "" }

// missing says what has not arrived at some output; "" when nothing is missing.
func (w *world) missing() (what string) {
	w.each(func() {
		if missing := w.missingHere(); missing != "" && what == "" {
			what = strings.TrimSuffix(missing+" at "+w.output.name, " at ")
		}
	})
	return what
}

func (w *world) missingHere() string {
	stopped := w.doc.Backfill != nil && w.full() // what is left of the whole table has to wait
	for _, r := range w.table.rows {
		v := r.cur
		if v == nil || stopped && w.isParked(v) {
			continue
		}
		if !w.arrived(v) && !w.blocked(v) && !w.doubtful(v) && !w.held(v) && !w.unread(v) {
			return fmt.Sprintf("row %d rev %d (%s) has not arrived", r.key, v.rev, w.id(v.event.ID))
		}
	}
	for i := range w.parked {
		if e := &w.parked[i]; !e.Blocked && string(e.OrderKey) != waitsInOrder && !w.unproven(e.ID) {
			return fmt.Sprintf("%s is still parked for %s", e.OrderKey, w.id(e.ID))
		}
	}
	switch {
	case w.human.busy:
		return "a command has not ended"
	case w.doc.Paused != nil:
		return "the poller is still paused"
	case w.doc.Backfill != nil && !w.stands() && !stopped && !w.waitsApart() && !w.doubtfulWhole():
		return "the backfill has not ended"
	}
	return ""
}

// waitsInOrder is the order key of the entry of ordering=source, which says how often one event was tried. It may
// outlive the event, where that is gone, superseded, or passed over by an operator.
const waitsInOrder = "[]"

// blocked reports whether a row waits behind a dead letter, for an operator to act (after_dead_letter=block).
func (w *world) blocked(v *version) bool {
	if w.holdsApart(v, func(e *parking.Entry) bool { return e.Blocked }) {
		return true
	}
	return slices.ContainsFunc(w.parked, func(e parking.Entry) bool {
		return e.Blocked && (w.pro.Settings > 0 || string(e.OrderKey) == string(w.laneOf(&v.event)))
	}) && w.waits(v)
}

// unproven reports whether nothing shows that an event which is refused for good is at fault: several were refused
// since the receiver accepted one; or it accepted nothing for so long, and its answer is not about this event. It is
// set aside, and not given up before something is accepted.
func (w *world) unproven(id string) bool {
	b, several := w.sink.refuses(id), 1
	if w.set.ordering == poller.OrderSource {
		several = mostBad
	}
	switch {
	case b == nil:
		return false
	case len(w.sink.refused) > several:
		return true
	case !b.named && b.status == ofSender && w.sink.lastRefused(id).After(w.sink.lastAccepted):
		return true
	case time.Since(w.sink.lastAccepted) < recently+time.Minute:
		return false
	}
	return !b.clear() || w.sink.badNow() > mostBad // more than that look like an outage
}

// doubtful reports whether a row waits for such an event: it is one, and parked unless there are many, or it waits
// behind one.
func (w *world) doubtful(v *version) bool {
	if w.set.ordering == poller.OrderSource {
		return w.stands()
	}
	if w.unproven(v.event.ID) && (w.waits(v) || w.sink.badNow() > mostBad) {
		return true
	}
	if w.holdsApart(v, func(e *parking.Entry) bool { return w.unproven(e.ID) }) {
		return true
	}
	return slices.ContainsFunc(w.parked, func(e parking.Entry) bool {
		return w.unproven(e.ID) && slices.ContainsFunc(e.Followers, func(f json.RawMessage) bool {
			return string(f) == string(v.event.Key)
		})
	})
}

// doubtfulWhole reports whether a read of the whole table waits for such events: what is left of it are some, and there
// are so many that they look like an outage.
func (w *world) doubtfulWhole() bool {
	return w.sink.badNow() > mostBad && slices.ContainsFunc(w.table.rows, func(r *row) bool {
		return r.cur != nil && w.inWhole(w.doc.Backfill, r.cur) && w.unproven(r.cur.event.ID) && !w.settled(r.cur)
	})
}

// stands reports whether the poller may stand at such an event under ordering=source, and all else with it.
func (w *world) stands() bool {
	at, err := placeOf(w.doc.Checkpoint.Cursor)
	return err == nil && w.set.ordering == poller.OrderSource && slices.ContainsFunc(w.table.rows, func(r *row) bool {
		// A dead letter comes once more where the position is still before it, and maybe as a change after the whole table.
		return r.cur != nil && (!w.settled(r.cur) || w.pro.Tracked || !at.passed(r.cur)) && w.unproven(r.cur.event.ID)
	})
}

// ticked looks at the report of a tick.
func (w *world) ticked(p *process, r *poller.Report) {
	text := ""
	if r.Err != nil {
		text = ": " + r.Err.Error()
	}
	if r.Event == poller.LostLease { // a request and the lease itself say so at one moment, in one order or the other
		w.say(p.name, "tick ends: %s, %d rows", r.Event, r.Rows)
	} else {
		w.say(p.name, "tick ends: %s, %d rows%s", r.Event, r.Rows, text)
	}
	l := &w.doc.Lease
	for _, c := range w.waiting {
		p.excused = p.excused || c.p == p && c.what != ending // the store has not answered yet
	}
	if w.holder == p && l.OwnerID != "" && l.FencingToken > p.at && !p.excused && !w.store.shaky {
		w.fail("%s left its lease behind", p.name)
	}
	var held *state.HeldError
	if errors.As(r.Err, &held) && l.OwnerID == "" && w.freeSince.Before(p.began) {
		w.fail("%s waited for a lease that was free", p.name)
	}
	if strings.Contains(text, "panic:") {
		w.fail("%s panicked", p.name)
	}
}
