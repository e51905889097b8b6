package sim

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
)

// settings are those of a poller that may change while it has work: the instances learn of it one after the other.
type settings struct {
	ordering poller.Ordering
	policy   poller.Policy
	late     late.Mode
	own      bool // the order key is the row's own, whatever the table's rows share
}

// firstSettings are those of the profile.
func (w *world) firstSettings() *settings {
	return &settings{ordering: w.pro.Ordering, policy: w.pro.Policy, late: w.pro.Late}
}

// resettle changes a setting. Instances that are idle start anew with it; those at work go on with the old one for as
// long as their tick lasts.
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
	w.settle(&s, what)
	w.loose = w.loose || s.ordering == poller.OrderNone
	w.fewest = min(w.fewest, s.policy.MaxAttempts)
}

// settle makes settings those that instances learn of from now on.
func (w *world) settle(s *settings, what string) {
	w.set = s
	w.tally.Settings++
	w.say("set", "%s", what)
}

// modesOf are the values of late_commits that lose nothing on a table: none where transactions commit at once, exact
// where the cursor is a number.
func (p *profile) modesOf() []late.Mode {
	modes := []late.Mode{late.Overlap}
	if !p.LateCommit {
		modes = append(modes, late.None)
	}
	if !p.Clock {
		modes = append(modes, late.Exact)
	}
	return modes
}

// remode changes late_commits. The pollers stop until an operator accepts it (see operator.mode).
func (w *world) remode() {
	modes := w.pro.modesOf()
	s := *w.set
	if s.late = modes[w.rng.IntN(len(modes))]; s.late != w.set.late {
		w.settle(&s, "late_commits="+string(s.late))
	}
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

// mode reports whether the document was written under another late_commits than the settings name.
func (o *operator) mode() bool {
	stored := o.w.doc.Late.Mode
	return stored != "" && stored != string(o.w.set.late)
}

// acceptMode lets the poller go on at the stored position (rowrelay state accept-fingerprint), or start over. What is
// remembered is forgotten, and no row is.
func (o *operator) acceptMode() {
	if o.w.chance(0.3) {
		o.moveTo(place{}, "start over at")
		return
	}
	o.command("accept late_commits="+string(o.w.set.late), func(ctx context.Context, p *process, d *admin.Document) error {
		plan, err := d.AcceptFingerprint(ctx, "keep")
		return p.done(ctx, plan, err, nil)
	})
}
