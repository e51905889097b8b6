package leased

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
)

// maxReason is how much of a reason is stored with a row, in bytes.
const maxReason = 1000

// Settle makes outcomes durable. That is the acknowledgment: after a crash before it the rows are delivered again, with
// the same event ids. Rows that were accepted after a deferred one are settled, too.
func (s *session) Settle(ctx context.Context, offered poller.Settlement) (int, error) {
	s.mu.Lock()
	over := s.ended || s.hold == nil
	s.mu.Unlock()
	if over {
		return 0, nil
	}
	s.letters.Begin(ctx)
	var t settlement
	for i := range offered.Batches {
		t.add(ctx, s, &offered.Batches[i])
	}
	if len(t.marks) > 0 {
		if err := s.hold.settle(ctx, t.marks); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ended = true
			return 0, faultOf(poller.CommitFailed, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = s.ended || t.stopped // no settlement follows
	s.dead = append(s.dead, t.dead...)
	s.failed += t.failed
	for _, id := range t.done {
		delete(s.places, id)
	}
	return t.n, t.unwritten
}

// settlement collects what one call of Settle makes durable.
type settlement struct {
	marks     []engine.LeaseMark
	done      []string // ids
	n         int      // how many events come before the first that is not settled
	stopped   bool     // at that event
	failed    int
	dead      []poller.DeadLetter
	unwritten error // the first dead letter that could not be written
}

// add takes the outcomes of a batch. What is deferred is given back at the session's end.
func (t *settlement) add(ctx context.Context, s *session, b *poller.Settled) {
	for i := range b.Batch.Events {
		e := &b.Batch.Events[i]
		if b.Outcomes[i] == poller.Deferred {
			t.stopped = true
			continue
		}
		s.mu.Lock()
		at := s.places[e.ID]
		s.mu.Unlock()
		m := engine.LeaseMark{Batch: at.batch, Place: at.row, Done: b.Outcomes[i] == poller.Accepted, Attempts: e.Attempts}
		if b.Outcomes[i] == poller.Rejected {
			t.rejected(ctx, s, e, &m, b.Rejections[i])
		}
		t.marks, t.done = append(t.marks, m), append(t.done, e.ID)
		if !t.stopped {
			t.n++
		}
	}
}

// rejected counts a failed attempt of an event. After the last one it gives the event up.
func (t *settlement) rejected(ctx context.Context, s *session, e *change.Event, m *engine.LeaseMark,
	why poller.Rejection) {
	attempts, wait, last := s.cfg.Policy.Failed(e.Attempts, why)
	m.Attempts, m.Delay, m.Reason = attempts, max(wait.Milliseconds(), 1), plaintext.Start(why.Reason, maxReason)
	if last {
		err := t.giveUp(ctx, s, e, attempts, why)
		m.Dead, m.Done, t.unwritten = err == nil, err == nil, cmp.Or(t.unwritten, err)
		if errors.Is(err, poller.ErrNoAnswer) {
			m.Delay += slices.Max(s.cfg.Policy.Delays).Milliseconds()
		}
	}
	if m.Dead {
		m.Delay = 0
	} else {
		t.failed++
	}
}

// giveUp writes the dead letter of an event where the settings say. A crash after that writes it again. After an error,
// which is a *Fault, the event is not given up: it comes again.
func (t *settlement) giveUp(ctx context.Context, s *session, e *change.Event, attempts int,
	why poller.Rejection) error {
	letter, err := s.bury(ctx, e, attempts, why)
	if err == nil {
		t.dead = append(t.dead, letter.Reported())
	}
	return err
}

// bury writes a dead letter.
func (s *session) bury(ctx context.Context, e *change.Event, attempts int,
	why poller.Rejection) (poller.DeadLetter, error) {
	letter := poller.DeadLetter{
		App: s.cfg.App, Poller: s.cfg.Poller, Engine: s.origin.Engine, Table: s.origin.Table,
		Fingerprint: s.origin.Fingerprint, Event: *e, Cause: why.Cause, Status: why.Status, Reason: why.Reason,
		Attempts: attempts, Last: why.At,
	}
	return letter, s.letters.Bury(ctx, s.cfg.DeadLetters, letter)
}
