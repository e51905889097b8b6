package poller

import (
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// hint is where a search that was not finished goes on in the next tick of this process, by event id. Without it, a
// receiver that is slow, or hangs at one row, would keep every tick busy with the beginning of the same search. Another
// instance, or a process after a crash, begins the search from the start.
type hint struct {
	groups []group
	tried  map[string]trial
	// suspects had no verdict when the tick ended, by event id; their item is nil.
	suspects map[string]suspect
	// probed and limited are the probes that failed in a row, see evidence.
	probed, limited int
	// avoid are order keys of events from the source that failed as probes: the source shows others before it shows them
	// again.
	avoid [][]byte
	// accepted is when the destination last accepted an event; aside counts the events that it refused since, up to
	// maxProbes: then it seems to accept nothing.
	accepted time.Time
	aside    int
	// unexplained of these were set aside without any evidence, the last for the answer why: ticks fail until there is an
	// acceptance.
	unexplained int
	why         error
	// busy is when events were first answered 503 while the destination accepted others, by id.
	busy map[string]time.Time
	// silent are events that were not answered when they were sent alone, before another was accepted. That they were
	// stays known when nothing is accepted after that: the event may be what takes the destination down.
	silent map[string]bool
	// until is when the destination, which had no room for anything, wants to be asked again.
	until time.Time
}

// group are the ids of events that failed together, and when. live says that all of them are live rows.
type group struct {
	ids  []string
	live bool
	at   time.Time
}

// trial is what is known of an event that failed alone; the zero value is: nothing.
type trial uint8

const (
	triedAlone    trial = 1 + iota // one more try will do
	otherAccepted                  // the same, and since then the destination has accepted an event of another key
)

// maxPause bounds hint.until: who asks for more is asked in between.
const maxPause = time.Minute

// pause keeps until when the destination wants to be left alone, and what it said.
func (h *hint) pause(suspects []suspect, why error) {
	h.why = why
	for i := range suspects {
		if again := suspects[i].rejection.Again; again.After(h.until) {
			h.until = again
		}
	}
	if latest := time.Now().Add(maxPause); h.until.After(latest) {
		h.until = latest
	}
}

const (
	// busyLimit is how long an event may be answered 503 while others are accepted, until that counts against it like any
	// other answer: a part of the destination may be away for a while, and comes back.
	busyLimit = time.Hour
	// maxBusy bounds hint.busy, and hint.silent: beyond it they begin anew for all.
	maxBusy = 1000
)

// setBusy remembers when an event was first answered 503 while others were accepted.
func (h *hint) setBusy(id string, at time.Time) {
	if !h.busy[id].IsZero() {
		return
	}
	if h.busy == nil || len(h.busy) == maxBusy {
		h.busy = make(map[string]time.Time)
	}
	h.busy[id] = at
}

// setSilent remembers an event that was not answered, before another was accepted.
func (h *hint) setSilent(id string) {
	if h.silent == nil || len(h.silent) == maxBusy {
		h.silent = make(map[string]bool)
	}
	h.silent[id] = true
}

// busyTooLong reports whether that has been so for too long.
func (h *hint) busyTooLong(id string, at time.Time) bool {
	since, known := h.busy[id]
	return known && at.Sub(since) >= busyLimit
}

// refused counts events that the destination refused, each the first time, while it accepted nothing.
func (h *hint) refused(events int) { h.aside = min(h.aside+events, maxProbes) }

// forget ends the search: every event was judged, or none can be.
func (h *hint) forget() { h.groups, h.tried, h.suspects, h.probed, h.limited = nil, nil, nil, 0, 0 }

// setAside counts an event that was set aside without evidence, for the first time or again.
func (h *hint) setAside(first bool, why error) {
	if h.why = why; first || h.unexplained == 0 {
		h.unexplained++
	}
}

// left is what is left of the search: two for each event that nothing is known of, one for another.
func (h *hint) left() int {
	left := 0
	for _, group := range h.groups {
		for _, id := range group.ids {
			left++
			if _, suspected := h.suspects[id]; !suspected && h.tried[id] == 0 {
				left++
			}
		}
	}
	return left
}

// keep stores what the next tick needs to go on with the search.
func (t *tick) keep() {
	h := t.hint
	h.forget()
	h.tried, h.suspects, h.probed, h.limited = make(map[string]trial), make(map[string]suspect), t.probed, t.limited
	add := func(g group) {
		if len(g.ids) == 0 {
			return
		}
		h.groups = append(h.groups, g)
		for _, id := range g.ids { // of the others nothing needs to be known any more
			if trial := t.tried[id]; trial > 0 {
				h.tried[id] = trial
			}
		}
	}
	add(groupOf(t.step, t.rest))
	for _, s := range t.suspects {
		id := s.item.event().ID
		add(groupOf([]*item{s.item}))
		s.item, s.since, s.earlier = nil, 0, true
		s.acceptedBefore = s.acceptedBefore && t.probed == 0 // a probe that fails is evidence against it
		h.suspects[id] = s
	}
	for _, group := range t.failed {
		add(groupOf(group))
	}
	for _, group := range t.groups { // this tick did not get to them
		add(group)
		for _, id := range group.ids {
			if s, known := t.known[id]; known {
				s.acceptedAfter = s.acceptedAfter || t.taken.after(0, s.key)
				h.suspects[id] = s
			}
		}
	}
	t.hint = h
}

// forgetGone forgets what was not among all that the session had: it is gone. But late rows are not looked for in each
// session, so that what is known of them stays for a while.
func (t *tick) forgetGone() {
	t.groups = slices.DeleteFunc(t.groups, func(g group) bool { return g.live || time.Since(g.at) >= recently })
}

func groupOf(parts ...[]*item) group {
	g := group{live: true, at: time.Now()}
	for _, part := range parts {
		for _, it := range part {
			g.ids = append(g.ids, it.event().ID)
			g.live = g.live && it.batch.grant.Batch.Kind == change.Live
		}
	}
	return g
}

// resume takes the events of a new batch that the hint names out of the queue, to be searched at once. The hint's
// suspects are suspects again. Live rows that are not in the first batch of such are not next, and are forgotten.
func (t *tick) resume(p *inFlight) {
	var left []group
	for _, g := range t.groups {
		wanted := make(map[string]bool, len(g.ids))
		for _, id := range g.ids {
			wanted[id] = true
		}
		var found []*item
		for i := 0; i < len(t.lanes.queue()); {
			it := t.lanes.queue()[i]
			if it.batch != p || !wanted[it.event().ID] || t.cfg.Ordering == OrderSource && i > 0 {
				i++
				continue
			}
			it = t.lanes.remove(i)
			delete(wanted, it.event().ID)
			s, known := t.known[it.event().ID]
			switch {
			case t.withheld(it):
			case known:
				s.item = it
				t.suspects = append(t.suspects, s)
				t.probed, t.limited = t.hint.probed, t.hint.limited
			default:
				found = append(found, it)
			}
		}
		if len(found) > 0 {
			t.failed = append(t.failed, found)
		}
		// What is resumed is this tick's: kept once more, one refusal would count again in each tick that follows.
		g.ids = slices.DeleteFunc(slices.Clone(g.ids), func(id string) bool { return !wanted[id] })
		if len(g.ids) > 0 && (!g.live || p.grant.Batch.Kind != change.Live) {
			left = append(left, g)
		}
	}
	t.groups = left
	if len(t.suspects) > 0 {
		t.weigh() // what was accepted in this tick came after they had failed
	}
}
