package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// sink is the receiver. It keeps two accounts of what it accepted: without and with the rule that a request with a
// lower (token, number) than the highest one seen for an order key is refused (docs/duplicates.md).
type sink struct {
	w       *world
	plain   account
	ruled   account
	highest map[string]rank // of each order key
	outage  outage
	bad     map[string]*badness // event ids that it refuses
	limited map[string]*limit   // order keys whose rate it limits
	history []attempt
	// lastAccepted is when it accepted an event last. refused are the events that it has refused since and that had no
	// attempt counted: as the product does (hint.refused), not those that it refuses for the first time ever.
	lastAccepted time.Time
	refused      map[string]time.Time // by event id
	numbers      map[rank]bool
}

// rank orders requests: the token first, then the number under it.
type rank struct{ token, number uint64 }

func (r rank) below(o rank) bool {
	return r.token < o.token || r.token == o.token && r.number < o.number
}

// outage is weather that hits every request.
type outage struct {
	on     bool
	status int // 0: nobody answers the telephone
	named  bool
	silent bool
	after  time.Duration // Retry-After
}

// attempt is one failure or acceptance of an event that the sink answered for, in order.
type attempt struct {
	id, key, order string
	accepted       bool
	lone           bool // it failed alone, or was named
	named          bool
	batch          string // repetitions of a request are one attempt
	at             time.Time
	by             *process
	status         int
	cause          poller.Cause
}

func newSink(w *world) *sink {
	return &sink{
		w: w, plain: newAccount(), ruled: newAccount(), highest: map[string]rank{}, bad: map[string]*badness{},
		limited: map[string]*limit{}, refused: map[string]time.Time{}, numbers: map[rank]bool{},
	}
}

// ofSender is the one of these statuses that is about who sends, and about an event only where others are accepted.
const ofSender = 401

// statuses of an outage; 0 is a connection that is refused.
var statuses = []int{0, 500, 502, 503, 429, 400, 401, 404, 413, 422}

// rejectStatus is the setting output__reject_status.
var rejectStatus = []int{400, 413, 422}

// weather begins or ends an outage.
func (s *sink) weather() {
	w := s.w
	if s.outage.on {
		s.outage = outage{}
		w.say("sink", "the outage ends")
		return
	}
	w.tally.Outages++
	s.outage = outage{on: true, status: statuses[w.rng.IntN(len(statuses))], named: w.chance(0.2), silent: w.chance(0.1)}
	if w.chance(0.5) && w.pro.Limits > 0 {
		s.outage = outage{on: true, status: 429, after: w.span(time.Second, longestLimit)}
	}
	w.say("sink", "an outage begins: status %d, named %v, silent %v", s.outage.status, s.outage.named, s.outage.silent)
}

// busy reports whether the answer says that the receiver has no room now, and nothing about the row.
func (b *badness) busy() bool {
	return b.status == 429 || b.status == 503 || b.after > 0
}

// clear reports whether the answer is about this very row.
func (b *badness) clear() bool { return b.named || slices.Contains(rejectStatus, b.status) }

// sinkOf is one instance's way to the sink.
type sinkOf struct{ p *process }

var _ poller.Output = sinkOf{}

var (
	errSink = errors.New("the simulated sink")
	errGone = errors.New("the connection to the simulated sink broke")
)

// request is one delivery on its way.
type request struct {
	d     change.Delivery
	life  *process
	shows []show
	begun time.Time
}

// Deliver implements poller.Output.
func (o sinkOf) Deliver(ctx context.Context, d change.Delivery) (err error) {
	w := o.p.w
	d.Events = slices.Clone(d.Events)
	q := &request{d: d, life: o.p}
	err = over
	all := func() { w.sink.accept(q, nil) }
	o.p.ask(ctx, &call{what: "deliver", arg: names(w, d.Events), wire: all, request: q, resolve: func(c *call) bool {
		if c.gaveUp {
			if !c.effected && w.fate(w.pro.SinkLate) {
				w.tally.SinkLate++
				w.later(o.p.name+" deliver "+c.arg, all)
				w.say(o.p.name, "deliver %s: given up, still on its way", c.arg)
			} else {
				w.say(o.p.name, "deliver %s: given up", c.arg)
			}
			err = context.Cause(ctx)
			w.sink.unheard(q)
			return true
		}
		if c.effected {
			w.say(o.p.name, "deliver %s: its slow answer arrives: %s", c.arg, verdict(err))
			return true
		}
		err = w.sink.answer(q, c)
		if c.notBefore.After(time.Now()) {
			return false
		}
		w.say(o.p.name, "deliver %s (token %d, attempt %d): %s", c.arg, d.Token, d.Attempt, verdict(err))
		return true
	}})
	return err
}

// answer is what the sink does with a request, and says of it.
func (s *sink) answer(q *request, c *call) error {
	w, p := s.w, &s.w.pro
	if s.outage.on {
		return s.down(q, c)
	}
	if c.notBefore.IsZero() {
		switch {
		case w.fate(p.SinkSilent):
			w.tally.SinkFaults++
			return s.mute(c)
		case w.fate(p.SinkFail):
			w.tally.SinkFaults++
			return s.failAll(q, 503, poller.Unavailable, 0)
		case w.fate(p.SinkLate):
			w.tally.SinkLate++
			w.later(c.p.name+" deliver "+c.arg, func() { s.accept(q, nil) })
			s.unheard(q)
			return fmt.Errorf("%w (it is still on its way)", errGone)
		case w.fate(p.SinkSlow):
			w.tally.SinkFaults++
			if w.chance(0.5) {
				c.hold(w.span(100*time.Millisecond, 2*p.Timeout))
				w.say(c.p.name, "deliver %s: waits", c.arg)
				return nil
			}
			err := s.judge(q)
			c.effected = true
			c.hold(w.span(100*time.Millisecond, 2*p.Timeout))
			w.say(c.p.name, "deliver %s: taken, the answer is slow", c.arg)
			return err
		}
	}
	for i := range q.d.Events {
		if b := s.refuses(q.d.Events[i].ID); b != nil && b.silent {
			return s.mute(c)
		}
	}
	err := s.judge(q)
	if w.fate(p.SinkLost) {
		w.tally.SinkLost++
		s.unheard(q)
		return fmt.Errorf("%w after the sink had judged: %s", errGone, verdict(err))
	}
	return err
}

// mute lets a request wait for as long as anybody has patience.
func (s *sink) mute(c *call) error {
	c.hold(time.Hour)
	s.w.say(c.p.name, "deliver %s: no answer comes", c.arg)
	return nil
}

// down is the answer in an outage.
func (s *sink) down(q *request, c *call) error {
	o := s.outage
	switch {
	case o.silent:
		return s.mute(c)
	case o.named:
		f := &poller.DeliveryError{Err: fmt.Errorf("%w names all of them", errSink)}
		for i := range q.d.Events {
			f.Failed = append(f.Failed, poller.FailedEvent{Index: i, Cause: poller.Refused, Status: 200, Named: true})
			s.note(q, i, attempt{lone: true, named: true, status: 200, cause: poller.Refused})
		}
		return f
	default:
		return s.failAll(q, o.status, causeOf(o.status), o.after)
	}
}

func (s *sink) failAll(q *request, status int, cause poller.Cause, after time.Duration) error {
	for i := range q.d.Events {
		s.note(q, i, attempt{lone: len(q.d.Events) == 1, status: status, cause: cause})
	}
	f := poller.FailAll(len(q.d.Events), cause, status, fmt.Errorf("%w answers %d", errSink, status))
	switch {
	case after > 0:
		f.RetryAfter = after
	case status == 429:
		f.RetryAfter = s.w.span(100*time.Millisecond, 3*time.Second)
	}
	return f
}

// lastRefused is when an event was refused last.
func (s *sink) lastRefused(id string) (at time.Time) {
	for i := range s.history {
		if a := &s.history[i]; a.id == id && !a.accepted {
			at = a.at
		}
	}
	return at
}

// unheard notes a request whose answer did not come: for the product it failed.
func (s *sink) unheard(q *request) {
	for i := range q.d.Events {
		s.note(q, i, attempt{lone: len(q.d.Events) == 1})
	}
}

func (s *sink) note(q *request, i int, a attempt) {
	e := &q.d.Events[i]
	a.id, a.key, a.order, a.at, a.by = e.ID, string(e.Key), string(e.OrderKey), time.Now(), q.life
	a.batch = fmt.Sprint(q.d.Token, q.d.BatchID)
	switch {
	case a.accepted:
		s.lastAccepted = a.at
		// What was refused at this moment may have been sent after this.
		maps.DeleteFunc(s.refused, func(_ string, at time.Time) bool { return at.Before(a.at) })
	case a.status > 0 && a.lone && s.refused[a.id].IsZero() &&
		(e.Attempts == 0 || !e.Refused && a.at.Sub(s.lastAccepted) >= recently):
		s.refused[a.id] = a.at
	}
	s.history = append(s.history, a)
}

// judge accepts a request, or refuses it for the bad events in it: the whole of it, or by name.
func (s *sink) judge(q *request) error {
	for i := range q.d.Events {
		if l := s.limitOf(q.d.Events[i].ID); l != nil {
			after := l.after
			if after == 0 {
				after = time.Until(l.until)
			}
			return s.failAll(q, 429, poller.Unavailable, after)
		}
	}
	var named []poller.FailedEvent
	skip := make([]bool, len(q.d.Events))
	after := s.after(q)
	for i := range q.d.Events {
		b := s.refuses(q.d.Events[i].ID)
		if after(i, b != nil) {
			named, skip[i] = append(named, poller.FailedEvent{Index: i}), true
			continue
		}
		if b == nil {
			continue
		}
		b.seen++
		if !b.named {
			return s.failAll(q, b.status, b.cause, b.after)
		}
		named = append(named, poller.FailedEvent{Index: i, Cause: poller.Refused, Status: 200, Named: true})
		skip[i] = true
	}
	s.accept(q, skip)
	if named == nil {
		return nil
	}
	for _, f := range named {
		if f.Named {
			s.note(q, f.Index, attempt{lone: true, named: true, status: 200, cause: poller.Refused})
		} else {
			s.note(q, f.Index, attempt{})
		}
	}
	// What was accepted in the same answer counts as evidence, so it is noted after the failures as well.
	for i := range q.d.Events {
		if !skip[i] {
			s.note(q, i, attempt{accepted: true})
		}
	}
	return &poller.DeliveryError{Failed: named, Err: fmt.Errorf("%w names %d", errSink, len(named))}
}

// several is how many events of an order key a request of a process may hold.
func (w *world) several(p *process) int {
	if p.set.ordering == poller.OrderKey {
		return max(1, w.pro.KeyEvents)
	}
	return 1
}

// after returns what says, of one event after the other, whether it comes after one of its order key that failed in the
// same request: where a request may hold several, none of these is accepted.
func (s *sink) after(q *request) func(i int, fails bool) bool {
	failed := map[string]bool{}
	return func(i int, fails bool) bool {
		if s.w.several(q.life) == 1 {
			return false
		}
		key := string(q.d.Events[i].OrderKey)
		if failed[key] {
			return true
		}
		failed[key] = fails
		return false
	}
}

// accept is the effect of a request: at once, late, or unheard.
func (s *sink) accept(q *request, skip []bool) {
	w := s.w
	after := s.after(q)
	for i := range q.d.Events {
		e := &q.d.Events[i]
		fails := skip != nil && skip[i] || skip == nil && (s.refuses(e.ID) != nil || s.limitOf(e.ID) != nil)
		if after(i, fails) || fails {
			continue
		}
		s.note(q, i, attempt{accepted: true})
		w.tally.Delivered++
		if !s.plain.first[e.ID].IsZero() {
			w.tally.Duplicates++
			w.repeated(e)
		}
		if by := s.plain.add(w, e, q.shows[i]); by != "" {
			w.tally.Inverted++
			w.say("sink", "inverted without the rule: %s after %s", w.id(e.ID), w.id(by))
		}
		order := q.shows[i].queue(e)
		r := rank{q.d.Token, q.d.Number}
		if r.below(s.highest[order]) && !q.shows[i].loose() { // then there is no order to keep
			w.tally.Refused++
			w.say("sink", "refuses %s by the rule: token %d is below", w.id(e.ID), q.d.Token)
			continue
		}
		s.highest[order] = r
		if b := w.overtook(e, &q.shows[i]); b != nil && s.ruled.first[e.ID].IsZero() {
			w.fail("inverted: %s was accepted before %s, which was committed before its transaction began", w.id(e.ID),
				w.id(b.event.ID))
		}
		if by := s.ruled.add(w, e, q.shows[i]); by != "" {
			w.fail("inverted: %s of %s was first accepted after %s, which was shown after it", w.id(e.ID), order, w.id(by))
		}
	}
}

// other reports whether the attempt was at another key than that of an event, as its process took it: settings change.
func (a *attempt) other(e *change.Event) bool {
	if a.by.set.ordering == poller.OrderNone {
		return a.key != string(e.Key)
	}
	return a.order != string(e.OrderKey)
}

// laneOf is the key whose events wait for each other, and are parked together.
func (w *world) laneOf(e *change.Event) []byte {
	if w.set.ordering == poller.OrderNone {
		return e.Key
	}
	return e.OrderKey
}
