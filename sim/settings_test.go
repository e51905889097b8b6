package sim

import (
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// settings are those of a poller that may change while it has work: the instances learn of it one after the other.
type settings struct {
	ordering poller.Ordering
	policy   poller.Policy
	own      bool // the order key is the row's own, whatever the table's rows share
}

// firstSettings are those of the profile.
func (w *world) firstSettings() *settings {
	return &settings{ordering: w.pro.Ordering, policy: w.pro.Policy}
}

// resettle changes a setting. Instances that are idle start anew with it; those at work go on with the old one for as long as
// their tick lasts.
func (w *world) resettle() {
	s := *w.set
	var what string
	switch n := w.rng.IntN(6); {
	case n < 3:
		s.ordering = []poller.Ordering{poller.OrderKey, poller.OrderNone, poller.OrderSource}[w.rng.IntN(3)]
		s.policy.Block = s.policy.Block && s.ordering == poller.OrderKey // else it is refused
		what = "ordering=" + string(s.ordering)
	case n < 4 && w.pro.Groups > 0:
		s.own = !s.own
		what = "another order_key"
	case n < 5:
		s.policy.MaxAttempts = 1 + w.rng.IntN(4)
		what = "max_attempts"
	default:
		s.policy.Delays = []time.Duration{w.span(0, 10*time.Second), w.span(0, time.Minute)}
		what = "retry_delays"
	}
	w.set = &s
	w.tally.Settings++
	w.loose = w.loose || s.ordering == poller.OrderNone
	w.fewest = min(w.fewest, s.policy.MaxAttempts)
	w.say("set", "%s", what)
}

// update replaces an idle instance that has old settings, and reports whether it did.
func (w *world) update(slot int) bool {
	p := w.slots[slot]
	if p.dead || p.busy || p.set == w.set {
		return false
	}
	w.slots[slot] = w.newProcess(slot)
	return true
}

// keyed gives events the order key that a process has set.
func (p *process) keyed(events []change.Event) {
	for i := range events {
		if p.set.own {
			events[i].OrderKey = events[i].Key
		}
	}
}
