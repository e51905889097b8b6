package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// begun checks what must hold at the moment at which a call leaves an instance.
func (w *world) begun(c *call) {
	q := c.request
	if q == nil || c.p.dead {
		return
	}
	q.begun = c.at
	q.shows = make([]show, len(q.d.Events))
	w.mu.Lock()
	check := c.p.check
	for i := range q.d.Events {
		e := &q.d.Events[i]
		q.shows[i] = w.shows.latest(e.ID, q.d.Token, q.d.BatchID)
		if q.shows[i].seq == 0 {
			w.fail("%s sends %s, which its session has not handed out", c.p.name, w.id(e.ID))
		}
	}
	w.mu.Unlock()
	w.early(q)
	r := rank{q.d.Token, q.d.Number}
	if w.sink.numbers[r] {
		w.fail("%s uses the delivery number %d of token %d again", c.p.name, q.d.Number, q.d.Token)
	}
	w.sink.numbers[r] = true
	if check != nil && c.at.Equal(time.Now()) {
		if err := check(); err != nil {
			w.fail("%s begins a request after its right has ended: %v", c.p.name, err)
		}
	}
	if c.p.paused && w.doc.Paused != nil {
		w.fail("%s sends in a tick that began while the poller was paused", c.p.name)
	}
	for i := range q.d.Events {
		// What a retry or a probe sends comes from a read that shows no incarnation (docs/simulation.md), whatever a fetch
		// beside it has brought.
		e, from := &q.d.Events[i], &q.shows[i]
		if w.human.gap() && c.p.foreign[e.ID] && from.kind != change.Retry && !from.probe {
			w.fail("%s sends %s of a restored database", c.p.name, w.id(e.ID))
		}
	}
	if l := &w.doc.Lease; !w.store.shaky && q.d.Token >= w.human.broken {
		switch {
		case l.FencingToken > q.d.Token:
			w.fail("%s begins a request with token %d after token %d was given", c.p.name, q.d.Token, l.FencingToken)
		case l.FencingToken == q.d.Token && l.OwnerID == "":
			w.fail("%s begins a request after its lease was given back", c.p.name)
		}
	}
	if c.p.set.ordering == poller.OrderNone {
		return
	}
	seen := map[string]int{}
	for i := range q.d.Events {
		order := string(q.d.Events[i].OrderKey)
		if seen[order]++; seen[order] > w.several(c.p) {
			w.fail("%s sends %d events of %s in one request", c.p.name, seen[order], order)
		}
	}
	for _, o := range w.waiting {
		if o.request == nil || o.p != c.p || o.gaveUp {
			continue
		}
		for i := range o.request.d.Events {
			if e := &o.request.d.Events[i]; seen[string(e.OrderKey)] > 0 {
				w.fail("%s has two requests for %s in flight", c.p.name, e.OrderKey)
			}
		}
	}
}

// documentWritten checks a write of the state document that has just landed.
func (w *world) documentWritten(p *process, _, now *entry) {
	doc, err := state.Decode(now.data)
	if err != nil {
		w.fail("%s wrote a document that cannot be read: %v", p.name, err)
		return
	}
	if len(now.data) > state.MaxDocument {
		w.fail("the document has %d bytes", len(now.data))
	}
	was := w.doc
	w.doc = doc
	if doc.Paused == nil {
		for _, o := range w.slots {
			o.paused = o.paused && o.out != p.out
		}
	}
	if doc.Lease.OwnerID == "" && was.Lease.OwnerID != "" {
		w.freeSince = time.Now()
	}
	w.say("doc", "%s", w.tellDocument())
	w.stored(p)
	w.wholeBegun(&was, &w.doc)
	if was.PollerName == "" {
		return
	}
	if doc.Lease.FencingToken < was.Lease.FencingToken {
		w.fail("the fencing token went back from %d to %d", was.Lease.FencingToken, doc.Lease.FencingToken)
	}
	acquired := doc.Lease.LeaseID != was.Lease.LeaseID
	moved := !doc.Checkpoint.Cursor.Equal(was.Checkpoint.Cursor)
	switch {
	case p.human:
		w.human.commanded(p, &was)
	case acquired:
		w.acquired(p, &was)
		if moved {
			w.fail("an acquisition by %s moved the checkpoint", p.name)
		}
	case moved && w.resynced(p, &was):
	case was.Lease.OwnerID == "" && moved:
		w.fail("%s moved the checkpoint without the lease", p.name)
	case w.holder != p:
		w.fail("%s wrote the document under the lease of %s", p.name, w.holder.name)
	}
	if mode := was.Late.Mode; !p.human && mode != "" && doc.Late.Mode != mode {
		w.fail("%s goes on under late_commits=%s, and the document was written under %s", p.name, doc.Late.Mode, mode)
	}
	if moved && !p.human {
		from, err := placeOf(was.Checkpoint.Cursor)
		to, err2 := placeOf(doc.Checkpoint.Cursor)
		order, err3 := to.compare(from)
		if err := errors.Join(err, err2, err3); err != nil || order < 0 && !w.mayGoBack() {
			w.fail("%s moved the checkpoint from %s to %s: %v", p.name, from, to, err)
		}
	}
	if doc.Lease.OwnerID == "" && was.Lease.OwnerID != "" && !p.human {
		for _, c := range w.waiting {
			if c.request != nil && c.p == p && !c.gaveUp && !p.dead && c.request.d.Token == doc.Lease.FencingToken {
				w.fail("%s gave the lease back while a request was in flight", p.name)
			}
		}
	}
	w.readParked()
	w.letters.stored()
	w.checkLoss()
	w.human.backfilled(&was, &w.doc)
}

// mayGoBack reports whether the position may have gone back by itself. By the document a process knows what the
// database's clock showed when the store's showed something. So where the store's jumped ahead, or its answers are
// apart by more than 2 s (late.clockTolerance), the database's seems to have been set back: in overlap mode the
// position goes back too, which costs duplicates.
func (w *world) mayGoBack() bool {
	apart := w.store.shaky || max(w.pro.Margin, w.store.slowest) > 2*time.Second
	return w.pro.falls() || w.pro.Clock && apart && w.doc.Late.Mode == string(late.Overlap)
}

// acquired checks an acquisition by p upon the document was.
func (w *world) acquired(p *process, was *state.Document) {
	if w.doc.Lease.FencingToken != was.Lease.FencingToken+1 {
		w.fail("%s took the lease with token %d after %d", p.name, w.doc.Lease.FencingToken, was.Lease.FencingToken)
	}
	w.free(p, was, "took the lease")
	w.holder = p
}

// free checks that nobody else holds the lease, where a process did something that takes it for free.
func (w *world) free(p *process, was *state.Document, what string) {
	h := w.holder
	if h == nil || h.dead || h == p || was.Lease.OwnerID == "" || w.store.shaky {
		return
	}
	w.mu.Lock()
	check, token := h.check, h.token
	w.mu.Unlock()
	if check != nil && token == was.Lease.FencingToken && check() == nil {
		w.fail("%s %s while %s still holds it", p.name, what, h.name)
	}
}

// readParked reads the parked events that the document names.
func (w *world) readParked() {
	most := w.pro.Policy.MaxParked
	n := 0
	for i := range w.parked { // that one, too: it waits among others once ordering is another
		n += 1 + len(w.parked[i].Followers)
	}
	most, n = max(most, n), 0
	w.parked = nil
	ref := w.doc.Parked
	if ref.Object == "" {
		return
	}
	e := w.store.entries[ref.Object]
	if e == nil {
		w.fail("the document names %s, which is not there", w.store.short(ref.Object))
		return
	}
	var list struct {
		Entries []parking.Entry `json:"entries"`
	}
	if err := json.Unmarshal(e.data, &list); err != nil {
		w.fail("the parked events cannot be read: %v", err)
		return
	}
	w.parked = list.Entries
	var names []string
	for i := range w.parked {
		if string(w.parked[i].OrderKey) != waitsInOrder { // that one passes no position
			n += 1 + len(w.parked[i].Followers)
		}
		names = append(names, fmt.Sprintf("%s (%s, %d attempts, %d behind)", w.parked[i].OrderKey, w.id(w.parked[i].ID),
			w.parked[i].Attempts, len(w.parked[i].Followers)))
	}
	w.say("doc", "parked: %s", strings.Join(names, ", "))
	w.tally.Parked = max(w.tally.Parked, n)
	if n > most {
		w.fail("%d parked events and followers, of %d at most", n, most)
	}
}

// removed checks the deletion of a side object.
func (w *world) removed(p *process, key string) {
	for _, o := range w.outputs {
		if key == o.doc.Parked.Object || key == o.doc.Late.Memory.Object {
			w.fail("%s deleted %s, which the document names", p.name, w.store.short(key))
		}
	}
}

// waits reports whether a row is parked, or waits behind a parked one.
func (w *world) waits(v *version) bool { return w.behind(v, func(*parking.Entry) bool { return true }) }

// kept is waits but for the one that the position waits at (ordering=source): it comes at its place, or never.
func (w *world) kept(v *version) bool {
	return w.behind(v, func(e *parking.Entry) bool { return string(e.OrderKey) != waitsInOrder })
}

func (w *world) behind(v *version, which func(*parking.Entry) bool) bool {
	key := v.event.Key
	return slices.ContainsFunc(w.parked, func(e parking.Entry) bool {
		return which(&e) && (string(e.Key) == string(key) ||
			slices.ContainsFunc(e.Followers, func(f json.RawMessage) bool { return string(f) == string(key) }))
	})
}

// holdsApart reports whether a row is read apart, and its key is parked for an event of which what says that nobody
// delivers it soon.
func (w *world) holdsApart(v *version, what func(*parking.Entry) bool) bool {
	return w.isApart(v) && slices.ContainsFunc(w.parked, func(e parking.Entry) bool {
		return string(e.OrderKey) == string(v.event.OrderKey) && what(&e)
	})
}

// waitsApart reports whether such a key is read apart: a backfill waits for it.
func (w *world) waitsApart() bool {
	return slices.ContainsFunc(w.parked, func(e parking.Entry) bool {
		return (e.Blocked || w.unproven(e.ID)) && slices.ContainsFunc(w.doc.Apart, func(a state.Apart) bool {
			return string(a.OrderKey) == string(e.OrderKey)
		})
	})
}

// isApart reports whether a row is one of an order key that is read apart, and that the reading has not come to yet.
func (w *world) isApart(v *version) bool {
	return slices.ContainsFunc(w.doc.Apart, func(a state.Apart) bool {
		at, err := placeOf(a.At)
		return err == nil && string(a.OrderKey) == string(v.event.OrderKey) && !at.passed(v)
	})
}

// arrived reports whether a row's state needs nothing any more.
func (w *world) arrived(v *version) bool { return w.settled(v) || w.skipped[v] }

// settled is arrived without an operator, who may have let go what comes all the same: a row after the position.
func (w *world) settled(v *version) bool {
	return !w.sink.ruled.first[v.event.ID].IsZero() || w.letters.ids[v.event.ID]
}
