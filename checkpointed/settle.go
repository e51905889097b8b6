package checkpointed

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Settle commits what became of events: only now are they acknowledged. A crash before it delivers
// them again; a crash after it does not.
//
// What has to be there when the commit lands is written before it, in this order: dead letters, named by their events,
// so that a crash repeats them; then the objects that the commit names. Until it lands nobody sees them.
func (s *session) Settle(ctx context.Context, settlement poller.Settlement) (int, error) {
	s.mu.Lock()
	lease := s.lease
	s.mu.Unlock()
	if lease == nil || s.broken {
		return 0, nil
	}
	// until commit knows better: a panic on the way must not let Close commit what a part of this left behind
	s.broken = true
	l := s.newTally(lease)
	l.accepted = settlement.Accepted
	s.deadLetters.Begin(ctx)
	for i := range settlement.Batches {
		if !l.take(ctx, &settlement.Batches[i]) {
			break
		}
	}
	if l.stopped {
		s.short = true
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
	}
	if _, err := s.commit(ctx, l, settlement.Last); err != nil {
		return 0, err
	}
	return l.n, l.fault
}

// tally adds up what one commit makes durable.
type tally struct {
	s        *session
	lease    *state.Lease
	draft    *draft
	n        int    // events
	id       string // of the last batch with a settled event
	backfill *state.Backfill
	ends     string // the backfill that is over
	gone     int
	behind   int // batches with rows behind them
	letters  []poller.DeadLetter
	accepted time.Time // see Settlement
	stopped  bool      // not everything could be settled
	fault    error     // why not, or what else the tick has to tell
}

func (s *session) newTally(lease *state.Lease) *tally {
	return &tally{s: s, lease: lease, draft: s.parked.Load().draft(&s.feed.cfg.Policy)}
}

// take settles the events of a batch up to the first that cannot be settled, and reports whether there was none.
func (l *tally) take(ctx context.Context, b *poller.Settled) bool {
	l.s.mu.Lock()
	about := l.s.notes[b.Batch.ID]
	delete(l.s.notes, b.Batch.ID)
	l.s.mu.Unlock()
	if about == nil {
		about = &note{}
	}
	l.begin(about)
	if about.behind {
		l.behind++
	}
	k := 0
	for k < len(b.Outcomes) && !l.stopped {
		if !l.settle(ctx, b, k, about) {
			l.stopped = true
			break
		}
		k++
	}
	l.n += k
	if k > 0 {
		l.id = b.Batch.ID
	}
	for i := k + 1; i < len(b.Outcomes) && b.Batch.Kind == change.Retry; i++ {
		l.settle(ctx, b, i, about) // each is of a key of its own, and waits for no other
	}
	switch b.Batch.Kind {
	case change.Backfill:
		l.fill(&b.Batch, k, about)
	case change.Live, change.Sweep:
		l.s.feed.late.Settled(&b.Batch, k)
	}
	return !l.stopped
}

// begin takes what was found out before a batch was fetched.
func (l *tally) begin(about *note) {
	for _, g := range about.gone {
		e := l.draft.entries[g.orderKey]
		if e == nil || e.turn != g.number {
			continue // it was tried or replaced meanwhile: it is read again when it is due
		}
		const text = "the parked row %s is gone from the source, or does not meet source__where any more: "
		if e.ID == "" {
			l.s.warn(fmt.Sprintf(text+"it had waited behind another one", e.Key))
		} else {
			l.s.warn(fmt.Sprintf(text+"its event %s is given up after %d attempts (%s)", e.Key, e.ID, e.Attempts, e.Reason))
		}
		// A follower that came back later comes with a batch that is settled later.
		followers := l.draft.drop(g.orderKey, g.followers)
		if followers > 0 {
			l.s.warn(fmt.Sprintf("%d rows that waited behind the parked row %s are gone as well", followers, e.Key))
		}
		l.gone += 1 + followers
		l.draft.leave(g.orderKey, time.Now())
	}
	for _, m := range about.moved {
		if e := l.draft.entries[m.orderKey]; e != nil && e.turn == m.number {
			l.draft.leave(m.orderKey, time.Now())
			l.draft.enter(m.event, time.Now())
		}
	}
	if about.ends != "" {
		l.finish(about.ends)
	}
}

// settle takes the outcome of one event, and reports whether it is done with.
func (l *tally) settle(ctx context.Context, b *poller.Settled, i int, about *note) bool {
	event, outcome := &b.Batch.Events[i], b.Outcomes[i]
	switch {
	case outcome == poller.Deferred:
		return false
	case outcome == poller.Accepted && b.Batch.Kind != change.Retry && l.s.feed.cfg.Ordering != poller.OrderSource:
		return true // almost all of them
	}
	why := b.Rejections[i]
	if why.At.IsZero() {
		why.At = time.Now()
	}
	if b.Batch.Kind == change.Retry && i < len(about.retries) {
		return l.retried(ctx, about.retries[i], event, outcome, why)
	}
	switch ordering := l.s.feed.cfg.Ordering; {
	case ordering == poller.OrderSource:
		return l.inSourceOrder(ctx, event, outcome, why)
	case outcome == poller.Rejected && ordering == poller.OrderNone:
		return l.rejected(ctx, event.Key, event, why)
	case outcome == poller.Rejected:
		return l.rejected(ctx, event.OrderKey, event, why)
	case outcome == poller.Absorbed && ordering == poller.OrderNone:
		return l.absorbed(event.Key, event)
	case outcome == poller.Absorbed:
		return l.absorbed(event.OrderKey, event)
	default:
		return true
	}
}

// retried takes the outcome of a retry. The turn tells whether it was an attempt at the head that is there now: a row
// may come back with its key written differently, and another row may be at the head by now.
func (l *tally) retried(ctx context.Context, t turn, event *change.Event, outcome poller.Outcome,
	why poller.Rejection) bool {
	e := l.draft.entries[t.orderKey]
	own := e != nil && e.turn == t.number
	switch {
	case outcome == poller.Rejected && own:
		l.failed(ctx, t.orderKey, event, why)
	case outcome == poller.Rejected:
		return l.rejected(ctx, []byte(t.orderKey), event, why)
	case outcome == poller.Accepted && own:
		l.draft.leave(t.orderKey, time.Now())
	}
	return true
}

// rejected takes a failure of an event that is not its entry's own attempt. Where another row is at the head by now,
// the event waits behind it, and is tried when its turn comes: only one row's attempts are counted in an entry, and
// no row may take another's place there, because the entry is all that is left of the other.
func (l *tally) rejected(ctx context.Context, orderKey []byte, event *change.Event, why poller.Rejection) bool {
	switch e := l.draft.entries[string(orderKey)]; {
	case e != nil && !bytes.Equal(e.Key, event.Key):
		return l.draft.follow(string(orderKey), event.Key) || l.full()
	case e == nil && l.draft.full():
		return l.full()
	case e == nil:
		l.draft.park(orderKey, event)
	}
	l.failed(ctx, string(orderKey), event, why)
	return true
}

// failed counts an attempt against the head of an entry, and gives it up when it was the last.
func (l *tally) failed(ctx context.Context, orderKey string, event *change.Event, why poller.Rejection) {
	e := l.draft.edit(orderKey)
	if last := l.draft.fail(e, event, why); !last {
		return
	}
	switch err := l.bury(ctx, e, event, why); {
	case err != nil:
		// The next attempt, after the last delay, may find the place for dead letters in order again. Others need not wait.
		l.s.owe(err)
	case l.s.feed.cfg.Policy.Block:
		e.Blocked, e.Next = true, time.Time{}
	default:
		l.draft.leave(orderKey, why.At)
	}
}

// absorbed lets an event wait behind the one that its order key is parked for.
func (l *tally) absorbed(orderKey []byte, event *change.Event) bool {
	e := l.draft.entries[string(orderKey)]
	switch {
	case e != nil && !l.s.source.Coarse:
		return true // the retry reads the row's newest state, and so this one
	case e != nil:
		if !l.draft.follow(string(orderKey), event.Key) {
			return l.full()
		}
		return true
	case l.draft.full():
		return l.full()
	}
	// The retry that it waited behind is settled, and may have read the row before this event: it must not be lost with
	// it.
	l.draft.park(orderKey, event).Next = time.Now()
	return true
}

// full stops the settlement at max_parked.
func (l *tally) full() bool {
	l.fault = &poller.Fault{Event: poller.HandlerFailed, Err: &parkingFullError{l.s.feed.cfg.Policy.MaxParked}}
	return false
}

// inSourceOrder takes the outcome of an event under ordering=source: a rejected one stops the settlement before it,
// until it is accepted or given up.
func (l *tally) inSourceOrder(ctx context.Context, event *change.Event, outcome poller.Outcome,
	why poller.Rejection) bool {
	e := l.draft.entries[sourceKey]
	if outcome != poller.Rejected {
		// Others come before the waited event (late rows, a backfill, duplicates after a crash): they say nothing about it.
		if e != nil && (e.ID == event.ID || bytes.Equal(e.Key, event.Key)) {
			l.draft.leave(sourceKey, why.At)
		}
		return true
	}
	if e == nil {
		l.draft.park([]byte(sourceKey), event)
	}
	e = l.draft.edit(sourceKey)
	policy := &l.s.feed.cfg.Policy
	if last := l.draft.fail(e, event, why); !last {
		l.fault = &poller.Fault{Event: poller.HandlerFailed,
			Err: fmt.Errorf("ordering=source: attempt %d of %d of key %s, event %s, failed, next in %s: %s",
				e.Attempts, policy.MaxAttempts, e.Key, e.ID, e.Next.Sub(why.At), e.Reason)}
		return false
	}
	switch err := l.bury(ctx, e, event, why); {
	case err != nil:
		e.Next = why.At
		l.fault = err
		return false
	case policy.Block:
		e.Blocked, e.Next = true, time.Time{}
		l.fault = &poller.Fault{Event: poller.HandlerFailed,
			Err: fmt.Errorf("key %s, event %s, was dead-lettered after %d attempts, and the poller is blocked "+
				"there (ordering=source, after_dead_letter=block): `rowrelay deadletter` replays or purges it", e.Key, e.ID,
				e.Attempts)}
		return false
	}
	l.draft.leave(sourceKey, why.At)
	return true
}

// fill takes k settled events of a chunk.
func (l *tally) fill(b *change.Batch, k int, about *note) {
	stored := l.filling(about.chunk)
	if stored == nil || k == 0 {
		return
	}
	next := *stored
	next.Done += int64(k)
	next.At = b.Events[k-1].Position()
	whole := k == len(b.Events)
	if whole {
		next.At = after(b)
	}
	l.backfill = &next
	if whole && about.final {
		l.finish(about.chunk)
	}
}

// filling returns the backfill as this commit will find it; nil when it is another's or none by now.
func (l *tally) filling(id string) *state.Backfill {
	b := l.backfill
	if b == nil {
		b = l.lease.Known().Backfill
	}
	if b == nil || b.ID != id || id == "" {
		return nil
	}
	return b
}

// finish ends a backfill.
func (l *tally) finish(id string) {
	b := l.filling(id)
	if b == nil {
		return
	}
	l.s.warn(fmt.Sprintf("backfill %s is complete: %d rows were sent again", id, b.Done))
	l.backfill, l.ends = &state.Backfill{}, id
}
