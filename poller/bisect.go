package poller

// This file finds the event that a request of several failed for. The first half is sent. If it fails the search goes
// on within it, else within the second half, until one event is alone. The other events go back to the queue. A tick
// does one search at a time, and begins nothing else meanwhile: so a destination that accepts nothing costs a tick the
// logarithm of one request, and a few.

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
