package poller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/change"
)

// timeoutError is the cause of a request's context when its time is over.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no answer within %s (output__timeout)", e.after)
}

// The back-off between the attempts of one request, before jitter.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// request carries some events of one batch to the output, with its repetitions.
type request struct {
	tick     *tick
	items    []*item
	grant    *Grant
	outcomes []Outcome // of items
	pending  []int     // indices into items that are not accepted yet
	adjacent bool      // the items' indices in the batch ascend without a gap
	reason   Cause     // why the last attempt failed
}

func (t *tick) newRequest(items []*item) *request {
	q := &request{
		tick: t, items: items, grant: &items[0].batch.grant, outcomes: make([]Outcome, len(items)),
		pending: make([]int, len(items)), adjacent: true,
	}
	for i := range items {
		q.pending[i] = i
		q.adjacent = q.adjacent && items[i].index == items[0].index+i
	}
	return q
}

// run makes attempts until every event is accepted, the attempts are used up, or the tick stops. The outcomes hold
// whatever it returns; an event that nobody vouched for stays Deferred.
func (q *request) run(stop context.Context) error {
	cfg := &q.tick.cfg
	var pauses *backoff.ExponentialBackOff // made when it is needed
	for attempt := 1; ; attempt++ {
		// A process that was frozen wakes up here with contexts that look alive: the clocks decide.
		if err := q.grant.Check(); err != nil {
			return &Fault{LostLease, err}
		}
		err := q.attempt(cfg, attempt)
		if err == nil {
			return nil
		}
		if q.grant.Right.Err() != nil {
			return &Fault{LostLease, context.Cause(q.grant.Right)}
		}
		if q.reason == Impossible || attempt >= cfg.Retries {
			return fmt.Errorf("delivering %d of %d events failed after attempt %d: %w", len(q.pending), len(q.items), attempt, err)
		}
		if pauses == nil {
			pauses = &backoff.ExponentialBackOff{
				InitialInterval: firstPause, MaxInterval: lastPause, Multiplier: 2, RandomizationFactor: 0.5,
			}
			pauses.Reset()
		}
		wait := pauses.NextBackOff()
		var failure *DeliveryError
		if errors.As(err, &failure) {
			wait = max(wait, failure.RetryAfter)
		}
		if pause(stop, wait) != nil {
			return fmt.Errorf("delivering %d of %d events failed, and the tick ended before attempt %d: %w",
				len(q.pending), len(q.items), attempt+1, err)
		}
	}
}

// attempt makes one attempt for the pending events, and notes what became of them.
func (q *request) attempt(cfg *Config, attempt int) error {
	ctx, cancel := context.WithTimeoutCause(q.grant.Right, cfg.Timeout, &timeoutError{cfg.Timeout})
	defer cancel()
	err := cfg.To.Deliver(ctx, q.delivery(cfg, attempt))
	if err == nil {
		for _, i := range q.pending {
			q.outcomes[i] = Accepted
		}
		q.pending = nil
		return nil
	}
	var failure *DeliveryError
	if !errors.As(err, &failure) || len(failure.Failed) == 0 {
		failure = FailAll(len(q.pending), Unavailable, 0, err)
	}
	if !inOrder(failure.Failed, len(q.pending)) {
		// An output that does not know what it failed at vouches for nothing.
		failure = FailAll(len(q.pending), Unavailable, 0, err)
		err = fmt.Errorf("the output named events as failed that were not in the request: %w", err)
	}
	q.reason = Unavailable
	failed := make([]int, 0, len(failure.Failed))
	next := 0 // the next pending event that the output has not said to have failed
	for _, f := range failure.Failed {
		for ; next < f.Index; next++ {
			q.outcomes[q.pending[next]] = Accepted
		}
		i := q.pending[f.Index]
		if f.Cause != Unavailable {
			q.outcomes[i] = Rejected
		} else {
			q.outcomes[i] = Deferred
		}
		q.reason = max(q.reason, f.Cause)
		failed = append(failed, i)
		next = f.Index + 1
	}
	for ; next < len(q.pending); next++ {
		q.outcomes[q.pending[next]] = Accepted
	}
	q.pending = failed
	return err
}

// inOrder reports whether the failed events are events of a request of n, in ascending order.
func inOrder(failed []FailedEvent, n int) bool {
	next := 0
	for _, f := range failed {
		if f.Index < next || f.Index >= n {
			return false
		}
		next = f.Index + 1
	}
	return true
}

func (q *request) delivery(cfg *Config, attempt int) change.Delivery {
	d := change.Delivery{
		App:         cfg.App,
		Poller:      cfg.Poller,
		Engine:      q.grant.Source.Engine,
		Table:       q.grant.Source.Table,
		Fingerprint: q.grant.Source.Fingerprint,
		BatchID:     q.grant.Batch.ID,
		Token:       q.grant.Token,
		Number:      q.tick.number.Add(1),
		Attempt:     attempt,
		Events:      q.events(),
	}
	return d
}

// events returns the pending events: as they stand in the batch where they follow one another, which they mostly do.
func (q *request) events() []change.Event {
	first, last := q.items[q.pending[0]].index, q.items[q.pending[len(q.pending)-1]].index
	if q.adjacent && last-first == len(q.pending)-1 { // pending ascends: what is missing is missing at an end
		return q.grant.Batch.Events[first : last+1 : last+1]
	}
	events := make([]change.Event, len(q.pending))
	for i, p := range q.pending {
		events[i] = *q.items[p].event()
	}
	return events
}
