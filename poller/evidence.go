package poller

import (
	"net/http"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// This file decides what a failure means. Evidence decides, the status is a hint. An event that failed alone, or was
// named, is a suspect. It is rejected
//   - when the destination accepts an event of another key after that (weigh);
//   - when there is nothing else to send, the destination has answered, and it accepted any event recently (conclude).
//
// Without such evidence an answer still sets the event aside, so that it does not hold up others. That does not count
// to its last attempt. At most maxProbes events are set aside so since the last acceptance. If more fail, or the
// destination does not answer at all, it is an outage: nothing is held against any event.
//
// A crash forgets what was only suspected: the event is sent again.

// judge decides what the failure of an event means. It reports false where the event failed together with others: then
// the event to blame has to be searched for.
func (t *tick) judge(it *item, f *failure) bool {
	r := Rejection{Cause: max(f.Cause, Refused), Status: f.Status, Reason: f.text(), At: f.at, Again: f.again}
	busy := f.busy() && (f.Status != http.StatusServiceUnavailable || !f.again.IsZero() ||
		!t.hint.busyTooLong(it.event().ID, f.at))
	if busy {
		r.Cause = Unavailable
	}
	single, hinted := f.alone || f.Named, t.rejects(f.Status)
	if hinted && it.refused == 0 {
		it.refused = f.since
	}
	switch {
	case t.cfg.Whole:
		t.reject(it, r)
	case f.proven, single && f.Cause == Impossible:
		t.reject(it, r)
	case single:
		s := suspect{
			item: it, key: it.key, since: f.since, rejection: r, answered: f.answered(), busy: busy,
			clear: f.Named || hinted, convicted: (f.Named || hinted) && it.event().Attempts > 0,
			ofSender:       !f.Named && !hinted && ofSender(f.Status) && !t.hint.letIn(it.event().ID, f.at),
			acceptedBefore: t.otherAccepted(it),
		}
		if !s.answered {
			s.general = f.General
			s.acceptedBefore = !f.General && (it.event().Refused || t.hint.silent[it.event().ID])
		}
		if hinted {
			s.since = it.refused
		}
		t.suspects = append(t.suspects, s)
	default:
		return false
	}
	return true
}

// ofSender reports whether a status is about who sends, or where to, and no event: a key that has expired, a receiver
// that has moved, or is stopped (403 on Azure App Service). Only what is sent and accepted after it shows that it was
// about the event: see letIn.
func ofSender(status int) bool {
	reason := statusReason(status)
	return reason == Denied || reason == Redirected
}

// otherAccepted reports whether the destination accepted an event of another key in this tick, or since this event
// failed alone in an earlier one.
func (t *tick) otherAccepted(it *item) bool {
	return t.tried[it.event().ID] == otherAccepted || t.taken.after(0, it.key)
}

// weigh rejects the suspects for which there is evidence now. An outage may have ended since an earlier tick, or since
// a request that was not answered: such an event is at fault only if another key was accepted before as well. Otherwise
// it is sent again.
func (t *tick) weigh() {
	t.suspects = slices.DeleteFunc(t.suspects, func(s suspect) bool {
		switch {
		case !s.acceptedAfter && !t.taken.after(s.since, s.key):
			return false
		case (s.earlier || !s.answered) && !s.acceptedBefore:
			if !s.answered && !s.general {
				t.hint.setSilent(s.item.event().ID)
			}
			t.askAgain(&s)
			return true
		case s.busy:
			t.hint.setBusy(s.item.event().ID, s.rejection.At)
		}
		t.reject(s.item, s.rejection)
		return true
	})
	if len(t.suspects) == 0 {
		t.cleared()
	}
}

// askAgain has an event that failed alone in an earlier tick sent once more, alone.
func (t *tick) askAgain(s *suspect) {
	if s.acceptedAfter || t.taken.after(0, s.key) {
		t.tried[s.item.event().ID] = otherAccepted
	}
	t.failed = append(t.failed, []*item{s.item})
}

// askSilent sends the silent suspects of earlier ticks again: without an answer there is no verdict. It reports whether
// there was such a suspect.
func (t *tick) askSilent() bool {
	before := len(t.suspects)
	t.suspects = slices.DeleteFunc(t.suspects, func(s suspect) bool {
		again := s.earlier && s.silent()
		if again {
			t.askAgain(&s)
		}
		return again
	})
	return len(t.suspects) < before
}

// verdict is what is decided about a suspect when there is nothing else to send.
type verdict uint8

const (
	undecided verdict = iota // it may be an outage
	setAside                 // not counted to its last attempt
	held                     // an attempt counts
)

// verdict decides by what is known already. Where several events were refused since the last acceptance, none of them
// is held to be at fault. (With ordering=source they come one after the other, when the one before was given up: few
// are no outage yet.)
func (t *tick) verdict(s *suspect) verdict {
	first := s.item.event().Attempts == 0
	refused, several := t.hint.aside+t.firsts(), 1
	if t.cfg.Ordering == OrderSource {
		several = maxProbes
	}
	switch {
	case !s.answered, first && refused > maxProbes:
		return undecided
	case s.busy && first && s.rejection.Again.IsZero():
		return undecided // as much an outage as no answer
	case s.busy, s.ofSender, refused > several:
		return setAside
	case t.acceptedRecently(s.rejection.At):
		return held
	case s.clear && first, t.probed == 0 && (s.item.event().Refused || s.convicted && t.uncounted() <= several):
		return held // retry_delays may be longer than an acceptance is fresh
	default:
		return setAside
	}
}

// firsts is the number of suspects that were not rejected before, nor counted: one may have been replayed.
func (t *tick) firsts() int {
	n := 0
	for i := range t.suspects {
		if e := t.suspects[i].item.event(); e.Attempts == 0 && !slices.Contains(t.hint.counted, e.ID) {
			n++
		}
	}
	return n
}

// uncounted is the number of suspects of which no attempt counted last: they were set aside, maybe by another process.
func (t *tick) uncounted() int {
	n := 0
	for i := range t.suspects {
		if !t.suspects[i].item.event().Refused {
			n++
		}
	}
	return n
}

// acceptedRecently reports whether the destination accepted an event at about this time.
func (t *tick) acceptedRecently(at time.Time) bool {
	return !t.hint.accepted.IsZero() && at.Sub(t.hint.accepted).Abs() < recently
}

// proven reports whether all suspects are held to be at fault, so that no further evidence is needed.
func (t *tick) proven() bool {
	return !slices.ContainsFunc(t.suspects, func(s suspect) bool { return t.verdict(&s) != held })
}

// conclude carries the verdicts out, when there is nothing else to send. It reports whether no suspect is left;
// otherwise the tick ends.
func (t *tick) conclude() bool {
	verdicts := make([]verdict, len(t.suspects)) // all by what was known before the first is carried out
	for i := range t.suspects {
		verdicts[i] = t.verdict(&t.suspects[i])
	}
	open := t.suspects[:0]
	for i, s := range t.suspects {
		if s.item.event().Attempts == 0 && s.answered && verdicts[i] != undecided {
			t.hint.refused(s.item.event().ID)
		}
		switch verdicts[i] {
		case undecided:
			open = append(open, s)
			continue
		case setAside:
			if s.rejection.Cause = Unavailable; !s.busy || !t.acceptedRecently(s.rejection.At) {
				t.hint.setAside(s.item.event().Attempts == 0, t.lastErr)
			}
		case held:
		}
		t.reject(s.item, s.rejection)
	}
	clear(t.suspects[len(open):])
	t.suspects = open
	if len(open) > 0 {
		t.unavailable(nil)
		return false
	}
	t.cleared()
	if t.ahead {
		t.stopWith(errAhead)
	}
	return true
}

// recordAccepted records that the destination accepted an event: of this process now, or of another one before.
func (t *tick) recordAccepted(at, begun time.Time) {
	t.hint.accepted, t.hint.aside, t.hint.unexplained = at, 0, 0
	if begun.After(t.hint.admitted) {
		t.hint.admitted = begun
	}
	t.hint.counted = nil
}

// cleared resets the probes: there is no suspect any more.
func (t *tick) cleared() { t.probed, t.limited, t.asked, t.exhausted, t.avoided = 0, 0, 0, false, nil }

// suspected reports whether an event of this key is a suspect.
func (t *tick) suspected(key uint64) bool {
	return slices.ContainsFunc(t.suspects, func(s suspect) bool { return s.key == key })
}

// reject holds an attempt against an event. Later events of its order key are absorbed from now on. The settlement
// parks it. Under ordering=source nothing after it may be sent, and the settlement says how long to wait.
func (t *tick) reject(it *item, r Rejection) {
	p := it.batch
	if p.rejections == nil {
		p.rejections = make(map[int]Rejection)
	}
	p.rejections[it.index] = r
	if t.cfg.Ordering == OrderSource {
		t.stopWith(errInOrder)
	}
	t.park(it, Rejected)
}

// park finishes an event that is parked, or waits for a parked one. Until that is settled no later event of its order
// key is sent, even where a retry is accepted meanwhile: after a crash this one would come again, after the later one.
func (t *tick) park(it *item, outcome Outcome) {
	if t.cfg.Ordering == OrderKey {
		t.parked[string(it.event().OrderKey)]++
		it.batch.parks = true
	}
	t.finish(it, outcome)
}

// unpark counts out the first rows events of a settled batch: from now on the session says whether their keys are
// parked.
func (t *tick) unpark(p *inFlight, rows int) {
	if !p.parks {
		return
	}
	for i, outcome := range p.outcomes[:rows] {
		if outcome != Rejected && outcome != Absorbed {
			continue
		}
		key := string(p.grant.Batch.Events[i].OrderKey)
		if t.parked[key]--; t.parked[key] <= 0 {
			delete(t.parked, key)
		}
	}
}

// withheld finishes an event that must not be sent, and reports whether it did: because an earlier one of its order key
// is parked, or because it can never be sent, or shall not be. The destination has accepted none of them. Retries are
// what a parked key waits for.
func (t *tick) withheld(it *item) bool {
	e := it.event()
	if t.cfg.Ordering == OrderKey && it.batch.grant.Batch.Kind != change.Retry &&
		(e.Waits || t.session.Parked(e.OrderKey) || len(t.parked) > 0 && t.parked[string(e.OrderKey)] > 0) {
		t.park(it, Absorbed)
		return true
	}
	if e.Broken != nil {
		t.reject(it, Rejection{Cause: Impossible, Reason: e.Broken.Error(), At: time.Now()})
		return true
	}
	if e.Aside {
		t.report.Filtered++
		t.finish(it, Accepted)
		return true
	}
	return false
}

// unresolved is the number of events that may be to blame for failures, without a verdict.
func (t *tick) unresolved() int {
	n := len(t.suspects) + len(t.step) + len(t.rest)
	for _, group := range t.failed {
		n += len(group)
	}
	return n
}

// finish records what became of an event, and lets the next one of its order key through.
func (t *tick) finish(it *item, outcome Outcome) {
	p := it.batch
	p.outcomes[it.index] = outcome
	if p.open--; p.open == 0 {
		p.ended = time.Now()
		t.adapt(p)
	}
	t.lanes.done(it)
}
