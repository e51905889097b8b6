package sim

import (
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// limit is what the sink answers for an order key: 429, and when to come again.
type limit struct {
	until time.Time
	after time.Duration // Retry-After; 0: what is left until then
}

// limitOf returns the limit of an event's order key, as the table has it, at this moment; nil where there is none.
func (s *sink) limitOf(id string) *limit {
	if l := s.limited[string(s.w.versions[id].event.OrderKey)]; l != nil && time.Now().Before(l.until) {
		return l
	}
	return nil
}

// badness is why the sink refuses one event.
type badness struct {
	status int
	until  int  // how many refusals it lasts; 0 for ever
	named  bool // named in the answer, the others of the request are accepted
	cause  poller.Cause
	silent bool          // no answer comes to a request that holds it
	after  time.Duration // Retry-After
	seen   int
	over   bool // it is taken from now on
}

// mostBad is how many rows are bad at a time, but in runs with a crowd of them.
const mostBad = 3

// badNow counts the rows that the sink refuses and that have not arrived.
func (s *sink) badNow() int {
	n := 0
	for _, r := range s.w.table.rows {
		for _, v := range []*version{r.cur, r.written} {
			if v != nil && s.refuses(v.event.ID) != nil && !s.w.letters.ids[v.event.ID] {
				n++
			}
		}
	}
	return n
}

// maybeBad makes a new row version one that the sink refuses.
func (s *sink) maybeBad(v *version) {
	w := s.w
	if w.fate(w.pro.Limits) {
		l := &limit{until: time.Now().Add(w.span(time.Second, longestLimit))}
		if w.chance(0.5) {
			l.after = w.span(time.Second, longestLimit)
		}
		order := string(v.event.OrderKey)
		s.limited[order] = l
		w.say("sink", "limits the rate of %s until %.0f", order, l.until.Sub(w.began).Seconds())
	}
	before := v.row.cur != nil && s.refuses(v.row.cur.event.ID) != nil
	if (w.fate(w.pro.BadRow) || before && w.fate(w.pro.StaysBad)) && s.badNow() < w.pro.MostBad {
		s.spoil(v)
	}
}

// spoil makes a row version one that the sink refuses.
func (s *sink) spoil(v *version) {
	w := s.w
	b := &badness{status: statuses[1+w.rng.IntN(len(statuses)-1)], named: w.chance(0.4)}
	b.cause = causeOf(b.status)
	switch {
	case b.named:
		b.cause, b.status = poller.Refused, 200
	case w.chance(0.15):
		b.cause, b.status = poller.Impossible, 0
	}
	if w.chance(0.5) {
		b.until = 1 + w.rng.IntN(6)
	}
	if b.busy() {
		b.until = untilFaultsStop // such a row is never given up
	}
	s.bad[v.event.ID] = b
	w.say("sink", "will refuse %s: status %d, named %v, %d times", w.id(v.event.ID), b.status, b.named, b.until)
}

// untilFaultsStop is how many refusals a row gets that is refused until then.
const untilFaultsStop = 1 << 30

// busy reports whether the answer said that the receiver has no room now, and nothing about the event.
func (a *attempt) busy() bool { return a.status == 429 || a.status == 503 }

// clear ends what hinders, but for events that are refused for ever.
func (s *sink) clear() {
	s.outage = outage{}
	clear(s.limited)
	for _, b := range s.bad { // the order does not matter
		if b.until > 0 {
			b.over = true
		}
	}
}

func causeOf(status int) poller.Cause {
	if status >= 400 && status < 500 && status != 408 && status != 429 {
		return poller.Refused
	}
	return poller.Unavailable
}

// refuses reports whether an event is refused at this moment.
func (s *sink) refuses(id string) *badness {
	if b := s.bad[id]; b != nil && !b.over && (b.until == 0 || b.seen < b.until) {
		return b
	}
	return nil
}
