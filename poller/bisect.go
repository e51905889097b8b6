package poller

import (
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// This file finds the event that a request of several failed for. The first half is sent. If it fails the search goes
// on within it, else within the second half, until one event is alone. The other events go back to the queue. A tick
// does one search at a time, and begins nothing else meanwhile: so a destination that accepts nothing costs a tick the
// logarithm of one request, and a few. What a tick has no time for goes on in the next one (keep, resume).

// descend goes on with the search among events of which at least one seems to be to blame. None ends it.
func (t *tick) descend(group []*item) {
	half := (len(group) + 1) / 2
	t.step, t.rest = group[:half:half], group[half:]
}

// beginStep sends the first half. A single event has all its tries, unless it failed alone in an earlier tick: a flaky
// destination must not count as the event's failure.
func (t *tick) beginStep() {
	tries := 1
	if len(t.step) == 1 && t.tried[t.step[0].event().ID] == 0 {
		tries = t.cfg.Retries
	}
	q := t.newRequest(step, t.step, tries)
	t.step = nil
	t.begin(q)
}

// stepped goes on after a step. failed are its events that failed together. found says that one of them was found to be
// to blame, or is a suspect.
func (t *tick) stepped(failed []*item, found bool) {
	rest := t.rest
	t.rest = nil
	switch {
	case len(failed) > 0:
		t.lanes.giveBack(rest)
		t.descend(failed)
	case found:
		t.lanes.giveBack(rest)
	default:
		t.descend(rest)
	}
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
