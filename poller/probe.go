package poller

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/rowrelay/rowrelay/change"
)

// This file tells bad events from a destination that is unavailable. While suspects are unresolved, the tick sends only
// one probe at a time: an event of another key, alone. (If all suspects are retries, other retries may start.) If the
// destination accepts it, the suspects are to blame. If it accepts none of a few, the destination is unavailable. If
// there is none, what is known decides (conclude).
//
// Under ordering=source nothing may be sent before the suspect, so that there are no probes.

const (
	// maxConvicted is how many retries are tried before a probe: a destination that refuses everything gets no more.
	maxConvicted = 32
	// MaxAvoid is how many order keys a source is asked to leave out (Source.Other).
	MaxAvoid = 100
)

// beginProbe begins the next probe, and reports whether the tick may go on at once. If not, a request or fetch in
// flight may bring a probe, or the tick has ended. Events that were not tried yet come first, from the queue and then
// from the source. Events that may be to blame themselves come last. But the last probe is an event that was accepted
// before in this tick, where there is one: bad events must not clear each other.
func (t *tick) beginProbe() bool {
	switch {
	case t.cfg.Ordering == OrderSource:
		return t.askSilent() || t.conclude()
	case t.probed == maxProbes:
		t.refusesAll()
		return false
	case t.probed == maxProbes-1 && t.repeat():
		return true
	case t.probed == maxProbes-1 && !t.exhausted:
		if t.requests == 0 && !t.fetching {
			t.ask() // all that was fetched may be bad: the last probe comes from the source
		}
		return false
	case t.probeQueue(func(it *item) bool { return !it.failed && it.event().Attempts == 0 }):
		return true
	case t.requests > 0 || t.fetching:
		return false // what is in flight may make room for another event
	case !t.exhausted:
		t.ask()
		return false
	case t.probeQueue(func(*item) bool { return true }), t.probeFailed():
		return true
	case !t.proven() && t.repeat():
		return true
	default:
		return t.askSilent() || t.conclude()
	}
}

// refusesAll ends the tick, because as many probes failed as make an outage.
func (t *tick) refusesAll() {
	t.hint.aside = maxProbes
	t.unavailable(nil)
}

// moreRetries reports whether the next event is a retry as well, while all suspects are retries that need one answer
// only. A probe after some of them decides on all of them. It costs a request, often one for an event that was accepted
// already.
func (t *tick) moreRetries() bool {
	queue := t.lanes.queue()
	if t.cfg.Ordering == OrderSource || len(queue) == 0 || len(t.suspects) >= maxConvicted {
		return false
	}
	// One that is never sent would take the place of the probe.
	if e := queue[0].event(); e.Attempts == 0 || e.Unsent() || t.suspected(queue[0].key) {
		return false
	}
	return !slices.ContainsFunc(t.suspects, func(s suspect) bool { return !s.convicted })
}

// probeQueue sends a fit event of the queue. It is a random one, so that its neighbours do not decide the same way in
// each tick.
func (t *tick) probeQueue(fit func(*item) bool) bool {
	for {
		i := t.pick(t.lanes.queue(), fit)
		if i < 0 {
			return false
		}
		if it := t.lanes.remove(i); !t.withheld(it) {
			t.begin(t.newRequest(probe, []*item{it}, t.cfg.Retries))
			return true
		}
	}
}

// probeFailed sends an event of a group that waits to be searched.
func (t *tick) probeFailed() bool {
	for g, group := range t.failed {
		i := t.pick(group, func(*item) bool { return true })
		if i < 0 {
			continue
		}
		it := group[i]
		t.failed[g] = append(group[:i:i], group[i+1:]...)
		if len(t.failed[g]) == 0 {
			t.failed = append(t.failed[:g:g], t.failed[g+1:]...)
		}
		t.begin(t.newRequest(probe, []*item{it}, t.cfg.Retries))
		return true
	}
	return false
}

// pick returns the index of a random fit event of another key than the suspects'; -1 when there is none.
func (t *tick) pick(items []*item, fit func(*item) bool) int {
	if len(items) == 0 {
		return -1
	}
	first := t.random().IntN(len(items))
	for n := range items {
		if i := (first + n) % len(items); fit(items[i]) && !t.suspected(items[i].key) {
			return i
		}
	}
	return -1
}

// random is the tick's own, seeded by its clock: two ticks do not choose alike, and a simulation can repeat one.
func (t *tick) random() *rand.Rand {
	if t.rand == nil {
		t.rand = rand.New(rand.NewPCG(uint64(t.report.Started.UnixNano()), t.number.Load())) //nolint:gosec // nothing secret
	}
	return t.rand
}

// ask asks the session for an event of a key that was not fetched. Like a fetch, it has the session for itself.
func (t *tick) ask() {
	t.fetching = true
	t.asked++
	avoid := t.avoid()
	go func() {
		grant, sent, err := t.batch(func() (Grant, error) { return t.session.Other(t.fetchCtx, avoid) })
		t.post(func() { t.other(grant, sent, err) })
	}()
}

// avoid returns the order keys that an event from the source must not have: those of the suspects and of probes that
// failed first, then those of events that are not done with, then all others in flight.
func (t *tick) avoid() [][]byte {
	keys := make([][]byte, 0, MaxAvoid)
	seen := make(map[string]bool)
	add := func(key []byte) {
		if !seen[string(key)] && len(keys) < MaxAvoid {
			seen[string(key)] = true
			keys = append(keys, key)
		}
	}
	for _, s := range t.suspects {
		add(s.item.event().OrderKey)
	}
	for _, key := range slices.Concat(t.avoided, t.hint.avoid) {
		add(key)
	}
	for _, done := range []bool{false, true} {
		for _, p := range t.line {
			for i := range p.outcomes {
				if p.outcomes[i].Settles() == done {
					add(p.grant.Batch.Events[i].OrderKey)
				}
			}
		}
	}
	return keys
}

// other takes the answer to ask. An event that may not be sent before others of its key is not sent.
func (t *tick) other(grant Grant, events []change.Event, err error) {
	t.fetching = false
	switch {
	case t.stopped():
	case err != nil:
		t.unavailable(err)
	case len(events) == 0:
		// Probes that failed in earlier ticks are sent once more: they may succeed by now.
		t.exhausted, t.hint.avoid = len(t.hint.avoid) == 0, nil
	case t.usable(&events[0]):
		t.beginExtra(&inFlight{grant: grant, sent: events}, 0)
	default: // once more, without it
		t.avoided = append(t.avoided, events[0].OrderKey)
		t.exhausted = t.asked >= maxProbes
	}
}

// usable reports whether an event from the source may be sent now: nothing of its order key is in flight or parked.
func (t *tick) usable(e *change.Event) bool {
	if e.Unsent() || e.Waits || t.session.Parked(e.OrderKey) {
		return false
	}
	return !slices.ContainsFunc(t.line, func(p *inFlight) bool {
		return slices.ContainsFunc(p.grant.Batch.Events, func(other change.Event) bool {
			return bytes.Equal(other.OrderKey, e.OrderKey)
		})
	})
}

// repeat sends the last accepted event of some key again, and reports whether there was one. The next tick would send
// it again as well, since it is not settled.
func (t *tick) repeat() bool {
	seen := make(map[string]bool)
	for l := len(t.line) - 1; l >= 0; l-- {
		p := t.line[l]
		for i := len(p.outcomes) - 1; i >= 0; i-- {
			e := &p.sent[i]
			if seen[string(e.OrderKey)] {
				continue
			}
			seen[string(e.OrderKey)] = true
			key := t.lanes.hash(e)
			if p.outcomes[i] == Accepted && !e.Aside && (p.gone == nil || !p.gone[i]) && !t.lanes.occupied(key) &&
				!t.suspected(key) &&
				!t.wasProbe(e.OrderKey) {
				t.beginExtra(p, i)
				return true
			}
		}
	}
	return false
}

// wasProbe reports whether an event of this order key was a probe that is not settled by it, or could not be one.
func (t *tick) wasProbe(orderKey []byte) bool {
	return slices.ContainsFunc(t.avoided, func(key []byte) bool { return bytes.Equal(key, orderKey) })
}

// beginExtra sends one event as evidence only. Events of its order key that are fetched meanwhile wait for it.
func (t *tick) beginExtra(p *inFlight, index int) {
	it := &item{batch: &inFlight{grant: p.grant, sent: p.sent}, index: index}
	it.key = t.lanes.hash(it.event())
	t.avoided = append(t.avoided, it.event().OrderKey)
	t.lanes.hold(it)
	t.extras++
	t.begin(t.newRequest(extra, []*item{it}, t.cfg.Retries))
}

// unavailable ends the tick: nothing is held against any event. asking is why the source gave no further probe.
func (t *tick) unavailable(asking error) {
	// A place that is missing, full or closed for all that there is to send is as good as down.
	t.outage, t.down = true, !slices.ContainsFunc(t.suspects, func(s suspect) bool {
		return s.clear && (s.rejection.Cause != Misplaced || !t.exhausted)
	})
	if t.failure == nil {
		t.report.blameDestination(t.lastErr)
	}
	if t.probed > 0 && t.limited == t.probed {
		t.hint.pause(t.suspects, t.lastErr)
	}
	tried := fmt.Sprintf("%d were tried", t.probed)
	switch {
	case asking != nil && t.fetchCtx.Err() != nil:
		tried = "there was no time left to look for one"
	case asking != nil:
		tried = fmt.Sprintf("another could not be read: %v", asking)
	case t.probed == 0:
		tried = "there is no other to try"
	}
	t.fail(&Fault{HandlerFailed, fmt.Errorf("%w; %d event(s) failed on their own, and none of another key was accepted after "+
		"that (%s), so that no attempt is counted, and the position stays", t.lastErr, len(t.suspects), tried)})
}

// probedBy takes what a probe has shown.
func (t *tick) probedBy(q *request) {
	if q.outcomes[0] == Accepted {
		t.probed, t.limited, t.asked, t.exhausted, t.hint.avoid = 0, 0, 0, false, nil
		if t.ahead {
			t.stopWith(errAhead)
		}
		return
	}
	if q.failures == nil || errors.Is(q.err, ErrCut) {
		return // it had no time
	}
	if q.role == probe && q.items[0].event().Attempts > 0 && t.rejects(q.failures[0].Status) {
		return // it would have failed anyway, and says nothing about the destination
	}
	t.probed++
	if q.failures[0].busy() {
		t.limited++
	}
	if q.role == extra {
		t.ahead = true
		if len(t.hint.avoid) >= MaxAvoid/2 {
			t.hint.avoid = nil
		}
		t.hint.avoid = append(t.hint.avoid, q.items[0].event().OrderKey)
	}
}
