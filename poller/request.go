package poller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
)

// timeoutError is the cause of a request's context when its time is over.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no answer within %s (output__timeout)", e.after)
}

// ErrCut is in the error of an output that gave a request up because its process has no more time. It says nothing
// about the events, and ends the tick.
var ErrCut = errors.New("the process had to stop before the destination answered")

// The back-off between the attempts of one request, before jitter.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// role is what a request is sent for.
type role uint8

const (
	ordinary role = iota
	step          // of the search for the event that a request failed for (bisect.go)
	probe         // one event, alone, to learn whether the destination accepts anything (probe.go)
	extra         // a probe with an event that is not settled by it: it comes, or came, at its place
)

// request carries some events of one batch to the output, with its repetitions. It runs in a goroutine of its own; what
// it learned is read when it has ended.
type request struct {
	tick     *tick
	items    []*item
	grant    *Grant
	role     role
	adjacent bool  // the items' indices in the batch ascend without a gap
	cut      bool  // the tick, or the process, stopped before the tries of the pending events were used up
	tries    int   // attempts at most
	pending  []int // indices into items: those that the next attempt carries

	outcomes []Outcome   // of items: Accepted, or nobody vouched for it
	failures []failure   // of items, by index; nil while nothing failed
	taken    acceptances // of the last attempt that had any
	begun    time.Time   // the last attempt
	admitted time.Time   // the last attempt that was accepted, at least in part: when it was begun
	err      error       // the last failure
	answers  []string    // to each attempt: Report.Answers
}

// failure is what the last failed attempt said about one event.
type failure struct {
	FailedEvent
	alone  bool      // the attempt carried nothing else
	proven bool      // an answer that named the event accepted another key
	since  uint64    // requests with a higher number were begun after this failure was known
	at     time.Time // of the answer
	again  time.Time // when the destination wants to see it again; zero where it did not say
	err    error
}

// busy reports whether the destination said that it has no room now, for this event or for all: that it refuses
// nothing.
func (f *failure) busy() bool {
	return f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable || !f.again.IsZero()
}

// text is what happened, and what to do about it where the output knows.
func (f *failure) text() string {
	var said *DeliveryError
	if errors.As(f.err, &said) && said.Remedy != "" {
		return fmt.Sprintf("%v (%s)", f.err, said.Remedy)
	}
	return f.err.Error()
}

// answered reports whether the destination said anything at all.
func (f *failure) answered() bool {
	return f.Named || f.Cause != Unavailable || f.Status != 0 || f.busy()
}

func (t *tick) newRequest(as role, items []*item, tries int) *request {
	q := &request{
		tick: t, role: as, items: items, grant: &items[0].batch.grant, tries: tries, outcomes: make([]Outcome, len(items)),
		pending: make([]int, len(items)), adjacent: true,
	}
	for i := range items {
		q.pending[i] = i
		q.adjacent = q.adjacent && items[i].batch == items[0].batch && items[i].index == items[0].index+i
	}
	return q
}

// run makes attempts until no event is pending, the tries are used up, or the tick stops. Its error says
// that the batch may no longer be delivered.
func (q *request) run(stop context.Context) error {
	if q.cut = stop.Err() != nil; q.cut {
		return nil
	}
	cfg := &q.tick.cfg
	var pauses *backoff.ExponentialBackOff // made when it is needed
	for attempt := 1; ; attempt++ {
		// A process that was frozen wakes up here with contexts that look alive: the clocks decide.
		if err := q.grant.Check(); err != nil {
			return &Fault{LostLease, err}
		}
		after, err := q.attempt(cfg, attempt)
		if err != nil && q.grant.Context.Err() != nil {
			return &Fault{LostLease, context.Cause(q.grant.Context)}
		}
		if errors.Is(err, ErrCut) {
			q.cut = true
			q.tick.stopWith(ErrCut) // where one request has no time any more, none has
			return nil
		}
		// Who has to wait for longer is set aside, or searched for, at once: a limit that is about some events must not hold
		// up the others.
		if len(q.pending) == 0 || attempt == q.tries || after > lastPause || after > 0 && q.role != ordinary {
			return nil
		}
		if pauses == nil {
			pauses = &backoff.ExponentialBackOff{
				InitialInterval: firstPause, MaxInterval: lastPause, Multiplier: 2, RandomizationFactor: 0.5,
			}
			pauses.Reset()
		}
		if q.cut = clock.Sleep(stop, max(pauses.NextBackOff(), after)) != nil; q.cut {
			return nil
		}
	}
}

// attempt makes one attempt for the pending events, and records what became of them. It returns how long the
// destination wants to be left alone. Events that a further attempt is of no use for are no longer pending.
func (q *request) attempt(cfg *Config, attempt int) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(q.grant.Context, cfg.Timeout, &timeoutError{cfg.Timeout})
	defer cancel()
	number := q.tick.number.Add(1)
	q.begun = time.Now()
	err := Guard(func() error { return cfg.To.Deliver(ctx, q.delivery(cfg, number, attempt)) })
	if err == nil {
		q.answers = append(q.answers, AnsweredWell)
		q.accept(number, q.pending)
		q.pending = nil
		return 0, nil
	}
	q.err = err
	var said *DeliveryError
	if !errors.As(err, &said) || len(said.Failed) == 0 {
		said = FailAll(len(q.pending), Unavailable, 0, err)
	}
	if !inOrder(said.Failed, len(q.pending)) {
		// An output that does not know what it failed at vouches for nothing.
		q.err = fmt.Errorf("the output named events as failed that were not in the request: %w", err)
		said = FailAll(len(q.pending), Unavailable, 0, q.err)
	}
	if !errors.Is(err, ErrCut) {
		q.answers = append(q.answers, answerOf(said, len(q.pending)))
	}
	q.record(number, said)
	return said.RetryAfter, err
}

// answerOf is what Report.Answers calls an answer to a request of n events, of which some failed.
func answerOf(said *DeliveryError, n int) string {
	switch status := said.Failed[0].Status; {
	case len(said.Failed) < n:
		return AnsweredInPart
	case status != 0:
		return strconv.Itoa(status)
	}
	return Unanswered
}

// record takes an answer that failed some of the pending events and accepted the others.
func (q *request) record(number uint64, said *DeliveryError) {
	if q.failures == nil {
		q.failures = make([]failure, len(q.items))
	}
	failed := said.Failed
	now, since, alone := time.Now(), q.tick.number.Load(), len(q.pending) == 1
	var later time.Time
	if said.RetryAfter > 0 {
		later = now.Add(said.RetryAfter)
	}
	accepted := make([]int, 0, len(q.pending)-len(failed))
	again := make([]int, 0, len(failed))
	next := 0 // the next pending event that the output has not said to have failed
	for _, f := range failed {
		accepted = append(accepted, q.pending[next:f.Index]...)
		next = f.Index + 1
		i := q.pending[f.Index]
		why := f.Err
		if why == nil {
			why = q.err
		}
		q.failures[i] = failure{
			FailedEvent: f, alone: alone, proven: q.failures[i].proven, since: since, at: now, again: later, err: why,
		}
		if f.Cause != Impossible && !q.tick.rejects(f.Status) {
			again = append(again, i)
		}
	}
	accepted = append(accepted, q.pending[next:]...)
	q.accept(number, accepted)
	for _, f := range failed {
		i := q.pending[f.Index]
		if f.Named && len(accepted) > 0 && q.taken.after(number-1, q.items[i].key) {
			q.failures[i].proven = true
		}
	}
	q.pending = q.withoutLost(again)
}

// withoutLost leaves out events that follow one of their order key which is neither accepted nor sent again.
func (q *request) withoutLost(again []int) []int {
	kept, lost := again[:0], false
	for i, it := range q.items {
		sent := len(again) > 0 && again[0] == i
		if sent {
			again = again[1:]
		}
		if lost = it.follows && lost || !sent && q.outcomes[i] != Accepted; sent && !lost {
			kept = append(kept, i)
		}
	}
	return kept
}

// part lets events wait again that follow one of their order key which was not accepted, or that were not accepted
// themselves: they are ready when that one is done with. What is known of them says nothing.
func (q *request) part() {
	items, outcomes, failures := q.items[:0], q.outcomes[:0], q.failures[:0]
	accepted := true
	for i, it := range q.items {
		if accepted = (accepted || !it.follows) && q.outcomes[i] == Accepted; it.follows && !accepted {
			it.follows = false
			continue
		}
		items, outcomes = append(items, it), append(outcomes, q.outcomes[i])
		if q.failures != nil {
			failures = append(failures, q.failures[i])
		}
	}
	q.items, q.outcomes = items, outcomes
	if q.failures != nil {
		q.failures = failures
	}
}

// accept records that the attempt of this number was accepted for some events.
func (q *request) accept(number uint64, indices []int) {
	for n, i := range indices {
		q.outcomes[i], q.admitted = Accepted, q.begun
		if n < 2 || q.taken[1].number != number { // two keys are enough to be evidence for any third
			q.taken.add(number, q.items[i].key)
		}
	}
}

// rejects reports whether a request that is answered with a status is not repeated (reject_status).
func (t *tick) rejects(status int) bool {
	return status != 0 && slices.Contains(t.cfg.RejectStatus, status)
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

func (q *request) delivery(cfg *Config, number uint64, attempt int) change.Delivery {
	return change.Delivery{
		App:         cfg.App,
		Poller:      cfg.Poller,
		Engine:      q.grant.Origin.Engine,
		Table:       q.grant.Origin.Table,
		Fingerprint: q.grant.Origin.Fingerprint,
		BatchID:     q.grant.Batch.ID,
		Token:       q.grant.Token,
		Number:      number,
		Attempt:     attempt,
		Backfill:    cfg.Backfill,
		Events:      q.events(),
	}
}

// events returns the pending events: as they stand in the batch where they follow one another, which they mostly do.
func (q *request) events() []change.Event {
	first, last := q.items[q.pending[0]].index, q.items[q.pending[len(q.pending)-1]].index
	if q.adjacent && last-first == len(q.pending)-1 { // pending ascends: what is missing is missing at an end
		return q.items[0].batch.sent[first : last+1 : last+1]
	}
	events := make([]change.Event, len(q.pending))
	for i, p := range q.pending {
		events[i] = *q.items[p].event()
	}
	return events
}
