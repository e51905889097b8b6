package poller

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// send begins requests while there is a free place and something that may be sent.
func (t *tick) send() {
	for !t.stopped() && !t.exclusive && t.requests < t.places() && t.next() {
	}
}

// places is how many requests may be in flight. One, of one event, shows whether a destination that was down is back:
// all that waits would be sent to it in vain, a few times over, with each tick that asks.
func (t *tick) places() int {
	if t.cautious {
		return 1
	}
	return t.cfg.Concurrency
}

// bounds are those of the next ordinary request.
func (t *tick) bounds() *bounds {
	if t.cautious {
		return &bounds{1, 1, t.cfg.RequestBytes, t.cfg.Size}
	}
	return &bounds{t.cfg.RequestEvents, t.cfg.KeyEvents, t.cfg.RequestBytes, t.cfg.Size}
}

// next begins the next request, and reports whether it did. The search for events that are to blame comes first.
func (t *tick) next() bool {
	switch {
	case len(t.step) > 0:
	case len(t.suspects) > 0:
		if !t.moreRetries() {
			return t.beginProbe()
		}
	case len(t.failed) > 0:
		t.descend(t.failed[0])
		t.failed = t.failed[1:]
	}
	if len(t.step) > 0 {
		t.beginStep()
		return true
	}
	items := t.lanes.take(t.bounds(), t.withheld)
	if len(items) == 0 || t.stopped() {
		return false
	}
	t.begin(t.newRequest(ordinary, items, t.cfg.Retries))
	return true
}

// begin sends a request.
func (t *tick) begin(q *request) {
	for _, it := range q.items {
		if p := it.batch; p.begun.IsZero() {
			p.begun = time.Now()
		}
	}
	t.exclusive = t.exclusive || q.role != ordinary
	t.requests++
	if t.mine == nil {
		t.mine = q // of the goroutine that has the turn
		return
	}
	go t.work(q)
}

// answered takes the result of a request. err is a fault that ends the tick.
func (t *tick) answered(q *request, err error) {
	t.requests--
	for _, a := range q.answers {
		t.report.answered(a)
	}
	if q.role != ordinary {
		t.exclusive = false
	}
	q.part()
	if q.role == extra {
		t.extras--
		t.lanes.done(q.items[0])
	} else {
		now := time.Now()
		for i, it := range q.items {
			if q.outcomes[i] == Accepted {
				t.report.accepted(it.batch.grant.Batch.Kind, it.event(), now)
				t.finish(it, Accepted)
				delete(t.hint.busy, it.event().ID)
				delete(t.hint.shut, it.event().ID)
			}
		}
	}
	if slices.Contains(q.outcomes, Accepted) {
		t.recordAccepted(time.Now(), q.admitted)
		t.cautious = false
	}
	for _, a := range q.taken {
		t.taken.add(a.number, a.key)
	}
	if q.err != nil {
		t.lastErr = q.err
	}
	if err != nil {
		t.fail(FaultOf(err, HandlerFailed))
		return
	}
	if q.role == probe || q.role == extra {
		t.probedBy(q)
	}
	if q.role != extra {
		t.failedOf(q)
	}
	if len(t.suspects) > 0 {
		t.weigh()
	}
}

// failedOf takes the events of a request that were not accepted.
func (t *tick) failedOf(q *request) {
	var together []*item
	found := false
	for i, it := range q.items {
		switch {
		case q.outcomes[i] == Accepted:
		case q.failures != nil && q.failures[i].err != nil && (!q.cut || q.failures[i].proven) && t.judge(it, &q.failures[i]):
			found = true
		default:
			if q.failures != nil && q.failures[i].alone && !errors.Is(q.err, ErrCut) {
				t.triedAlone(it)
			}
			it.failed = true
			together = append(together, it)
		}
	}
	switch {
	case q.role == step:
		t.stepped(together, found)
	case len(together) > 0:
		t.failed = append(t.failed, together)
	}
}

// triedAlone remembers that an event failed alone, although its tries were not used up.
func (t *tick) triedAlone(it *item) {
	trial := triedAlone
	if t.otherAccepted(it) {
		trial = otherAccepted
	}
	t.tried[it.event().ID] = trial
}

// batch gets a batch from the session, and makes of its events what is sent.
func (t *tick) batch(get func() (Grant, error)) (grant Grant, sent []change.Event, err error) {
	err = Guard(func() (err error) {
		if grant, err = get(); err == nil {
			sent, err = t.shaped(grant.Batch.Events)
		}
		return err
	})
	return grant, sent, err
}

// shaped is what is sent of events.
func (t *tick) shaped(events []change.Event) ([]change.Event, error) {
	if t.cfg.Shape == nil {
		return events, nil
	}
	sent := make([]change.Event, len(events))
	for i := range events {
		if t.ctx.Err() != nil { // it may take long
			return nil, context.Cause(t.ctx)
		}
		var err error
		if sent[i], err = t.cfg.Shape(&events[i]); err != nil {
			return nil, &Fault{ConfigInvalid, err}
		}
	}
	return sent, nil
}
