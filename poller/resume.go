package poller

import (
	"slices"

	"github.com/rowrelay/rowrelay/change"
)

// hint is where the search of a tick that found no end goes on in the next tick of this process, by event id: a receiver
// that is slow, or hangs at one row, would otherwise keep every tick busy with the beginning of the same search.
// It decides nothing: each verdict is found anew, by answers of one tick. Another instance, or a process after a crash, begins
// the search from the start.
type hint struct {
	groups [][]string
	tried  map[string]bool // failed alone already: one more try will do
	// avoid are order keys of events from elsewhere that failed as probes: the source shows others before it shows them again.
	avoid [][]byte
}

// keep stores the hint for the next tick.
func (t *tick) keep() {
	h := hint{tried: make(map[string]bool), avoid: t.hint.avoid}
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
