package poller

import (
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// hint is where the search of a tick that found no end goes on in the next tick of this process, by event id: a receiver
// that is slow, or hangs at one row, would otherwise keep every tick busy with the beginning of the same search.
// Another instance, or a process after a crash, begins the search from the start.
type hint struct {
	groups [][]string
	tried  map[string]bool // failed alone already: one more try will do
	// avoid are order keys of events from elsewhere that failed as probes: the source shows others before it shows them again.
	avoid [][]byte
	// accepted is when the destination last accepted an event; aside counts the events that it refused since, up to maxProbes:
	// then it seems to accept nothing.
	accepted time.Time
	aside    int
	// doubtful of these were set aside without any evidence, the last for the answer why: ticks fail until there is an acceptance.
	doubtful int
	why      error
	// until is when the destination, which had no room for anything, wants to be asked again.
	until time.Time
}

// maxPause bounds hint.until: who asks for more is asked in between.
const maxPause = time.Minute

// pause keeps until when the destination wants to be left alone.
func (h *hint) pause(suspects []suspect) {
	for i := range suspects {
		if again := suspects[i].rejection.Again; again.After(h.until) {
			h.until = again
		}
	}
	if latest := time.Now().Add(maxPause); h.until.After(latest) {
		h.until = latest
	}
}

// refused counts events that the destination refused, each the first time, while it accepted nothing.
func (h *hint) refused(events int) { h.aside = min(h.aside+events, maxProbes) }

// next is what is left of a hint when a tick begins.
func (h *hint) next() hint {
	return hint{avoid: h.avoid, accepted: h.accepted, aside: h.aside, doubtful: h.doubtful, why: h.why}
}

// doubt notes an event that was set aside without evidence, for the first time or again.
func (h *hint) doubt(first bool, why error) {
	if h.why = why; first || h.doubtful == 0 {
		h.doubtful++
	}
}

// keep stores the hint for the next tick.
func (t *tick) keep() {
	h := t.hint
	h.groups, h.tried = nil, make(map[string]bool)
	add := func(group []*item) {
		if len(group) == 0 {
			return
		}
		ids := make([]string, len(group))
		for i, it := range group {
			ids[i] = it.event().ID
			if t.tried[ids[i]] { // of the others nothing needs to be known any more
				h.tried[ids[i]] = true
			}
		}
		h.groups = append(h.groups, ids)
	}
	add(slices.Concat(t.step, t.rest))
	for _, s := range t.suspects {
		add([]*item{s.item})
		h.tried[s.item.event().ID] = true
	}
	for _, group := range t.failed {
		add(group)
	}
	t.hint = h
}

// resume takes the events of a new batch that the hint names out of the queue, to be searched at once. A batch of live rows
// ends the hint: what is not in the first one is not next.
func (t *tick) resume(p *passage) {
	for _, ids := range t.groups {
		wanted := make(map[string]bool, len(ids))
		for _, id := range ids {
			wanted[id] = true
		}
		var group []*item
		for i := 0; i < len(t.lanes.queue()); {
			it := t.lanes.queue()[i]
			if it.batch != p || !wanted[it.event().ID] || t.cfg.Ordering == OrderSource && i > 0 {
				i++
				continue
			}
			if it = t.lanes.remove(i); !t.withheld(it) {
				group = append(group, it)
			}
		}
		if len(group) > 0 {
			t.failed = append(t.failed, group)
		}
	}
	if p.grant.Batch.Kind == change.Live {
		t.groups = nil
	}
}
