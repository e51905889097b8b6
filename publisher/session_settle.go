package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// maxReason is how much of a reason is stored with an event, in bytes.
const maxReason = 1000

// Settle makes outcomes the states of rows: the acknowledgment. A crash before it publishes the events again, with
// the same idempotency keys; a crash after it does not.
//
// Rows are marked one by one, so that what was accepted behind a deferred event is marked as well, and not repeated.
func (s *session) Settle(ctx context.Context, settlement poller.Settlement) (int, error) {
	if s.over() || s.deadline == nil {
		return 0, nil
	}
	t := &tally{s: s}
	s.deadLetters.Begin(ctx)
	for i := range settlement.Batches {
		t.take(ctx, &settlement.Batches[i])
	}
	s.exclusive <- struct{}{} // not before: dead letters may take long, and fetches wait for this
	defer func() { <-s.exclusive }()
	freed := t.begin()
	err := s.store(ctx, t, freed)
	t.end(len(freed), err)
	if err != nil {
		return 0, err
	}
	select {
	case s.settled <- struct{}{}:
	default:
	}
	return t.n, t.fault
}

// store writes the marks. Errors are a *Fault; what is stored is then not known.
func (s *session) store(ctx context.Context, t *tally, freed []event.Aggregate) error {
	if t.marks.Empty() {
		return nil
	}
	t.marks.Freed = freed
	s.mu.Lock()
	held := s.claims.held
	s.mu.Unlock()
	err := s.outbox.events.Settle(ctx, s.owner, held, t.marks)
	if errors.Is(err, claims.ErrLost) {
		s.deadline.End(claims.ErrLost)
	}
	if err != nil {
		return faultOf(poller.CommitFailed, "marking events", err)
	}
	return nil
}

// tally adds up what one settlement makes durable.
type tally struct {
	s       *session
	marks   event.Marks
	n       int // events before the first that is not done with
	stopped bool
	landed  []event.Ref
	changes []changed // states other than PUBLISHED
	soonest time.Duration
	letters []poller.DeadLetter
	owed    error
	fault   error
}

// changed is what a settlement makes of an order key.
type changed struct {
	orderKey     string
	park, unpark bool
}

func (t *tally) take(ctx context.Context, b *poller.Settled) {
	refs := t.s.refsOf(b.Batch.ID)
	for i := range b.Batch.Events {
		e := &b.Batch.Events[i]
		outcome, r := b.Outcomes[i], refs[i]
		if outcome != poller.Deferred {
			t.landed = append(t.landed, r)
		}
		m := event.Marked{Ref: r, Aggregate: event.Aggregate{Type: e.Outbox.AggregateType, ID: e.Outbox.AggregateID}}
		switch {
		case outcome == poller.Deferred:
			t.stopped = true
			if t.s.strategy == claims.SkipLocked {
				t.marks.Returned = append(t.marks.Returned, r)
				t.landed = append(t.landed, r)
			}
		case outcome == poller.Accepted && b.Batch.Kind == change.Retry:
			t.marks.Retried = append(t.marks.Retried, m)
			t.changes = append(t.changes, changed{orderKey: string(e.OrderKey), unpark: true})
		case outcome == poller.Accepted:
			t.marks.Published = append(t.marks.Published, r)
		case outcome == poller.Absorbed:
			t.marks.Waiting = append(t.marks.Waiting, m)
			t.changes = append(t.changes, changed{orderKey: string(e.OrderKey)})
		default:
			t.rejected(ctx, e, m, b.Rejections[i])
		}
		if !t.stopped {
			t.n++
		}
	}
}

// refsOf are the rows of a batch.
func (s *session) refsOf(batch string) []event.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := s.refs[batch]
	delete(s.refs, batch)
	return refs
}

// rejected counts an attempt against an event, and gives it up when it was the last.
func (t *tally) rejected(ctx context.Context, e *change.Event, m event.Marked, why poller.Rejection) {
	cfg := t.s.cfg
	f := event.Failure{Marked: m, Reason: plaintext.Start(why.Reason, maxReason)}
	var last bool
	if f.Attempts, f.Delay, last = cfg.Policy.Failed(e.Attempts, why); last {
		err := t.bury(ctx, e, f.Attempts, why)
		f.Dead, t.owed = err == nil, cmp.Or(t.owed, err)
	}
	free := f.Dead && !cfg.Policy.Block
	if !f.Dead && (t.soonest == 0 || f.Delay < t.soonest) {
		t.soonest = max(f.Delay, time.Millisecond)
	}
	t.marks.Failed = append(t.marks.Failed, f)
	t.changes = append(t.changes, changed{orderKey: string(e.OrderKey), park: !free, unpark: free})
	if cfg.Ordering == poller.OrderSource && !free && !t.stopped {
		t.stopped = true
		t.fault = cmp.Or(t.owed, inOrder(cfg, &f, why))
	}
}

// inOrder is why nothing goes on behind a rejected event under ordering=source.
func inOrder(cfg *feedConfig, f *event.Failure, why poller.Rejection) error {
	text := fmt.Sprintf("ordering=source: attempt %d of %d of the event with %s failed, next in %s: %s",
		f.Attempts, cfg.Policy.MaxAttempts, describeRef(f.Ref), f.Delay, why.Reason)
	if f.Dead {
		text = fmt.Sprintf("ordering=source: the event with %s is a dead letter after %d attempts, and the outbox is blocked there "+
			"(after_dead_letter=block): `rowrelay outbox requeue %s` or `rowrelay outbox discard %s` lets it go on: %s",
			describeRef(f.Ref), f.Attempts, cfg.Poller, cfg.Poller, why.Reason)
	}
	return &poller.Fault{Event: poller.HandlerFailed, Err: errors.New(text)}
}

// bury gives an event up, once its dead letter is written where the settings say. A crash after that writes the same one
// again. After an error, which is a *Fault, the event comes again, and others need not wait for it.
func (t *tally) bury(ctx context.Context, e *change.Event, attempts int, why poller.Rejection) error {
	s := t.s
	letter := poller.DeadLetter{
		App: s.cfg.App, Poller: s.cfg.Poller, Engine: s.outbox.Engine, Table: s.outbox.Table, Event: *e,
		Cause: why.Cause, Status: why.Status, Reason: why.Reason, Attempts: attempts, Last: why.At,
	}
	if attempts == 1 {
		letter.First = why.At
	}
	if s.cfg.DeadLetters != nil {
		if err := s.deadLetters.Put(ctx, s.cfg.DeadLetters, letter); err != nil {
			return &poller.Fault{Event: poller.HandlerFailed,
				Err: fmt.Errorf("the dead letter of event %s could not be written, it is tried again: %w", e.ID, err)}
		}
	}
	letter.Event.Row, letter.Event.Outbox = nil, nil // thousands may be given up in one tick: the report needs no rows
	t.letters = append(t.letters, letter)
	return nil
}

// begin shows fetches under way what this settlement is about, and returns the aggregates whose claims it ends.
func (t *tally) begin() []event.Aggregate {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range t.changes {
		s.flights.settles[c.orderKey] = true
	}
	if s.strategy != claims.SkipLocked {
		return nil
	}
	count := map[event.Aggregate]int{}
	var freed []event.Aggregate
	for _, r := range t.landed {
		if e, flies := s.flights.of[r]; flies {
			if count[e.aggregate]++; count[e.aggregate] == s.flights.aggregates[e.aggregate] {
				freed = append(freed, e.aggregate)
			}
		}
	}
	s.claims.freeing(len(freed))
	return freed
}

// end makes what is durable known to the session. Nothing of it is shown before that: an order key that was free
// before its failed event is marked could have a later event sent, and after a crash the earlier one.
func (t *tally) end(freed int, err error) {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.flights.settles)
	s.claims.freed(freed)
	// Told although the marks may have failed: a dead letter that is written is there.
	s.letters = append(s.letters, t.letters...)
	if s.owed == nil {
		s.owed = t.owed
	}
	if err != nil {
		s.ended = true
		return
	}
	s.ended = t.stopped // no settlement comes behind that
	for _, c := range t.changes {
		if s.flights.during {
			s.flights.stirred[c.orderKey] = true
		}
		switch {
		case s.cfg.Ordering != poller.OrderKey:
		case c.park:
			s.park(c.orderKey)
		case c.unpark:
			s.unpark(c.orderKey)
		}
	}
	for _, r := range t.landed {
		s.flights.landed(r)
	}
	if t.soonest > 0 {
		s.bringForwardLocked(t.soonest)
	}
}
