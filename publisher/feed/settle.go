package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// maxReason is how much of a reason is stored with an event, in bytes.
const maxReason = 1000

// Settle makes outcomes the states of rows. That is the acknowledgment: after a crash before it, the events are
// published again with the same idempotency keys.
//
// Each row has its own mark. So events that were accepted after a deferred one are marked, too, and not repeated.
func (s *session) Settle(ctx context.Context, offered poller.Settlement) (int, error) {
	if s.over() || s.hold == nil {
		return 0, nil
	}
	t := &settlement{s: s}
	s.deadLetters.Begin(ctx)
	for i := range offered.Batches {
		t.add(ctx, &offered.Batches[i])
	}
	s.hold.exclusive <- struct{}{} // not earlier: dead letters may take long, and whoever takes partitions waits for this
	defer func() { <-s.hold.exclusive }()
	t.begin()
	err := s.store(ctx, &t.marks)
	t.end(err)
	if err != nil {
		return 0, err
	}
	select {
	case s.settled <- struct{}{}:
	default:
	}
	return t.n, t.fault
}

// settlement collects what one call of Settle makes durable.
type settlement struct {
	s            *session
	marks        event.Marks
	n            int         // how many events come before the first that is not settled
	stopped      bool        // at that event
	done         []event.Ref // no longer in flight
	changes      []keyChange // of order keys with an event that becomes something else than PUBLISHED
	nextRetry    time.Duration
	deadLettered []poller.DeadLetter
	unwritten    error // the first dead letter that could not be written
	fault        error // why it stopped
}

// keyChange says what a settlement does to an order key.
type keyChange struct {
	orderKey     string
	park, unpark bool
}

// add takes the outcomes of a batch.
func (t *settlement) add(ctx context.Context, b *poller.Settled) {
	for i := range b.Batch.Events {
		e := &b.Batch.Events[i]
		outcome, r := b.Outcomes[i], t.s.refOf(e)
		if outcome != poller.Deferred {
			t.done = append(t.done, r)
		}
		m := event.Marked{Ref: r, Aggregate: event.Aggregate{Type: e.Outbox.AggregateType, ID: e.Outbox.AggregateID}}
		switch {
		case outcome == poller.Deferred:
			t.stopped = true
		case outcome == poller.Accepted && b.Batch.Kind == change.Retry:
			t.marks.Retried = append(t.marks.Retried, m)
			t.changes = append(t.changes, keyChange{orderKey: string(e.OrderKey), unpark: true})
		case outcome == poller.Accepted:
			t.marks.Published = append(t.marks.Published, r)
		case outcome == poller.Absorbed:
			t.marks.Waiting = append(t.marks.Waiting, m)
			t.changes = append(t.changes, keyChange{orderKey: string(e.OrderKey)})
		default:
			t.rejected(ctx, e, m, b.Rejections[i])
		}
		if !t.stopped {
			t.n++
		}
	}
}

// refOf is the row of an event that was handed out, and is settled now.
func (s *session) refOf(e *change.Event) event.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.refs[e.Outbox]
	delete(s.refs, e.Outbox)
	return r
}

// rejected counts a failed attempt of an event. After the last one it gives the event up.
func (t *settlement) rejected(ctx context.Context, e *change.Event, m event.Marked, why poller.Rejection) {
	cfg := t.s.cfg
	f := event.Failure{Marked: m, Reason: plaintext.Start(why.Reason, maxReason)}
	var last bool
	if f.Attempts, f.Delay, last = cfg.Policy.Failed(e.Attempts, why); last {
		err := t.giveUp(ctx, e, f.Attempts, why)
		f.Dead, t.unwritten = err == nil, cmp.Or(t.unwritten, err)
		if errors.Is(err, poller.ErrNoAnswer) {
			f.Delay += slices.Max(cfg.Policy.Delays)
		}
	}
	free := f.Dead && !cfg.Policy.Block
	if !f.Dead && (t.nextRetry == 0 || f.Delay < t.nextRetry) {
		t.nextRetry = max(f.Delay, time.Millisecond)
	}
	t.marks.Failed = append(t.marks.Failed, f)
	t.changes = append(t.changes, keyChange{orderKey: string(e.OrderKey), park: !free, unpark: free})
	if cfg.Ordering == poller.OrderSource && !free && !t.stopped {
		t.stopped = true
		t.fault = cmp.Or(t.unwritten, inOrder(cfg, &f, why))
	}
}

// inOrder says why nothing is sent after a rejected event under ordering=source.
func inOrder(cfg *Config, f *event.Failure, why poller.Rejection) error {
	text := fmt.Sprintf("ordering=source: attempt %d of %d of the event with %s failed, next in %s: %s",
		f.Attempts, cfg.Policy.MaxAttempts, f.Ref, f.Delay, why.Reason)
	if f.Dead {
		text = fmt.Sprintf("ordering=source: the event with %s is a dead letter after %d attempts, and the outbox is blocked there "+
			"(after_dead_letter=block): `rowrelay outbox requeue %s` or `rowrelay outbox discard %s` lets it go on: %s",
			f.Ref, f.Attempts, cfg.Poller, cfg.Poller, why.Reason)
	}
	return &poller.Fault{Event: poller.HandlerFailed, Err: errors.New(text)}
}

// giveUp writes the dead letter of an event where the settings say. A crash after that writes it again. After an error,
// which is a *Fault, the event is not given up: it comes again. Others need not wait for it.
func (t *settlement) giveUp(ctx context.Context, e *change.Event, attempts int, why poller.Rejection) error {
	s := t.s
	letter := poller.DeadLetter{
		App: s.cfg.App, Poller: s.cfg.Poller, Engine: s.outbox.Engine, Table: s.outbox.Table,
		Fingerprint: s.outbox.Fingerprint, Event: *e, Cause: why.Cause, Status: why.Status, Reason: why.Reason,
		Attempts: attempts, Last: why.At,
	}
	if attempts == 1 {
		letter.First = why.At
	}
	err := s.deadLetters.Bury(ctx, s.cfg.DeadLetters, letter)
	if err == nil {
		t.deadLettered = append(t.deadLettered, letter.Reported())
	}
	return err
}

// begin shows a fetch under way which order keys the settlement changes.
func (t *settlement) begin() {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range t.changes {
		s.inFlight.settling[c.orderKey] = true
	}
}

// end shows the session what is durable now. Nothing is shown earlier. Otherwise an order key could be free before its
// failed event is marked: a later event would be sent, and after a crash the earlier one.
func (t *settlement) end(err error) {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.inFlight.settling)
	// They are reported even if the marks have failed: the dead letters are written.
	s.deadLettered = append(s.deadLettered, t.deadLettered...)
	s.unwritten = cmp.Or(s.unwritten, t.unwritten)
	if err != nil {
		s.ended, s.unsettled = true, true
		return
	}
	s.ended = t.stopped // no settlement follows
	for _, c := range t.changes {
		if s.inFlight.fetching {
			s.inFlight.changed[c.orderKey] = true
		}
		switch {
		case s.cfg.Ordering != poller.OrderKey:
		case c.park:
			s.parked[c.orderKey] = s.inFlight.fetches
		case c.unpark:
			delete(s.parked, c.orderKey)
		}
	}
	for _, r := range t.done {
		s.inFlight.remove(r)
	}
	if t.nextRetry > 0 {
		s.bringForwardLocked(t.nextRetry)
	}
}

// setAside takes out of the error of a settlement what concerns accepted events whose rows did not take their marks.
// They are left alone for a while, the session goes on unless they are too many, and its end tells of them.
func (s *session) setAside(err error, accepted []event.Ref) error {
	var rows *event.UnmarkedError
	if !errors.As(err, &rows) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sizes := map[event.Ref]int{}
	for _, r := range rows.Refs {
		if !slices.Contains(accepted, r) { // what comes after it has to wait for it
			return err
		}
		sizes[r] = s.inFlight.events[r].bytes
	}
	err = fmt.Errorf("marking events: %w. Each is sent again after %s", rows, unmarkedPause)
	s.unmarked = &poller.Fault{Event: poller.CommitFailed, Err: err}
	if s.shared.unmarked.add(sizes) {
		return s.unmarked
	}
	return nil
}

// store writes the marks. Errors are a *Fault. It is then unknown whether the marks were stored.
func (s *session) store(ctx context.Context, m *event.Marks) error {
	if m.Empty() {
		return nil
	}
	err := s.setAside(s.outbox.Events.Settle(ctx, s.owner, len(s.hold.partitions()), *m), m.Accepted())
	if errors.Is(err, claims.ErrLost) {
		s.hold.deadline.End(claims.ErrLost)
	}
	if err != nil {
		return faultOf(poller.CommitFailed, "marking events", err)
	}
	return nil
}
