package poller

import (
	"math/rand/v2"
	"slices"
	"time"
)

// recently is how long an acceptance shows that the destination works.
const recently = 5 * time.Minute

// evidence is what a tick knows about failures, until it is known what they mean.
type evidence struct {
	lastErr   error       // of a request
	exclusive bool        // a step or a probe is in flight: nothing else is begun
	taken     acceptances // what the destination accepted last
	suspects  []suspect   // without evidence
	// parked counts, by order key, the events that were rejected or absorbed and are not settled.
	parked map[string]int

	// The search (bisect.go).
	failed [][]*item // events of requests that failed together, to be searched
	step   []*item   // what is sent next
	rest   []*item   // where the search goes on if that is accepted

	// The probes (probe.go).
	probed    int      // that failed in a row
	limited   int      // of these: the destination had no room for them
	ahead     bool     // one of them was a row ahead of its place
	asked     int      // how often the session was asked for one since one was accepted
	exhausted bool     // it has none, or none that may be sent
	avoided   [][]byte // order keys of events that were probes without being settled, or could not be
	rand      *rand.Rand

	// Of the tick before (bisect.go).
	groups []group
	tried  map[string]trial
	known  map[string]suspect

	outage bool // the destination is unavailable: what this tick learned about events means nothing
	down   bool // the same, and no answer was about an event: there is nothing that another tick soon could find out
}

func newEvidence(h *hint) evidence {
	e := evidence{parked: make(map[string]int), groups: h.groups, tried: h.tried, known: h.suspects}
	if e.tried == nil {
		e.tried = make(map[string]trial)
	}
	return e
}

// acceptance is a request that the destination accepted, and one of the keys that it held.
type acceptance struct{ number, key uint64 }

// acceptances are the two latest of different keys, the latest first: enough to say of any key whether another one was
// accepted since.
type acceptances [2]acceptance

func (a *acceptances) add(number, key uint64) {
	switch {
	case number == 0: // none
	case key == a[0].key && a[0].number > 0:
		a[0].number = max(a[0].number, number)
	case number >= a[0].number:
		a[0], a[1] = acceptance{number, key}, a[0]
	case number >= a[1].number:
		a[1] = acceptance{number, key}
	}
}

// after reports whether another key than this one was accepted by a request that was begun after number since.
func (a *acceptances) after(since, key uint64) bool {
	return a[0].number > since && a[0].key != key || a[1].number > since && a[1].key != key
}

// suspect is an event that failed alone, or was named, while there is no evidence yet that it is to blame.
type suspect struct {
	item      *item
	key       uint64 // see lanes.hash
	since     uint64 // see failure.since
	rejection Rejection
	answered  bool // the destination said something
	general   bool // see FailedEvent.General
	busy      bool // see failure.busy; but not for too long (busyLimit)
	// clear says that the answer is about this very event: it was named, or the status is in RejectStatus.
	clear    bool
	ofSender bool // see ofSender; and the answer is not clear
	// convicted says that this very event was rejected before this tick, and that the answer is clear. That is no reason
	// not to ask, the destination may refuse everything by now; but it is enough where there is nobody to ask.
	convicted bool
	// acceptedBefore says that shortly before it failed alone, the destination accepted an event of another key; where it
	// did not answer, that it had failed alone before that as well. A retry of one that counted needs no more.
	acceptedBefore bool
	// earlier says that it failed in an earlier tick, which had no time for a verdict.
	earlier bool
	// acceptedAfter says that an earlier tick that did not fetch it accepted an event of another key after that.
	acceptedAfter bool
}

// silent reports whether the destination said nothing, or only that it is away: neither is about the event.
func (s *suspect) silent() bool { return !s.answered || s.busy }

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
	counted  []string // the ids of those: a replayed event is no further one
	// unexplained of these were set aside without any evidence, the last for the answer why: ticks fail until there is an
	// acceptance.
	unexplained int
	why         error
	// busy is when events were first answered 503 while the destination accepted others, by id; shut when they were last
	// answered by a status that is about who sends.
	busy, shut map[string]time.Time
	// admitted is when the last request was begun that was accepted.
	admitted time.Time
	// silent are events that were not answered when they were sent alone, before another was accepted. That they were
	// stays known when nothing is accepted after that: the event may be what takes the destination down.
	silent map[string]bool
	// until is when the destination, which had no room for anything, wants to be asked again.
	until time.Time
}

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

// setBusy remembers when an event was first answered 503 while others were accepted.
func (h *hint) setBusy(id string, at time.Time) {
	if h.busy[id].IsZero() {
		set(&h.busy, id, at)
	}
}

// letIn reports whether the destination has accepted what was sent after it had last answered to an event as if nobody
// were let in, and remembers that it has answered so again. Then that is about the event. Each such answer needs an
// acceptance of its own: a key may expire twice.
func (h *hint) letIn(id string, at time.Time) bool {
	since, known := h.shut[id]
	set(&h.shut, id, at)
	return known && h.admitted.After(since)
}

// set remembers a time by the id of an event.
func set(times *map[string]time.Time, id string, at time.Time) {
	if *times == nil || len(*times) == maxBusy {
		*times = make(map[string]time.Time)
	}
	(*times)[id] = at
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

// refused counts an event that the destination refused, the first time, while it accepted nothing.
func (h *hint) refused(id string) {
	if h.aside < maxProbes && !slices.Contains(h.counted, id) {
		h.aside, h.counted = h.aside+1, append(h.counted, id)
	}
}

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

// maxProbes is how many probes in a row must fail.
const maxProbes = 3

// busyLimit is how long an event may be answered 503 while others are accepted, until that counts against it like any
// other answer: a part of the destination may be away for a while, and comes back.
const busyLimit = time.Hour

// maxBusy bounds hint.busy, shut and silent: beyond it they begin anew for all.
const maxBusy = 1000
