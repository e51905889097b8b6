package parking

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Leave takes the heads out whose rows are gone, or have another order key now. It comes before the events of the batch
// that carries them. An entry that was tried or replaced meanwhile stays: it is read again when it is due.
func (u *Update) Leave(r *Retries) {
	for _, g := range r.gone {
		e := u.attempted(g.attempt)
		if e == nil {
			continue
		}
		const text = "the parked row %s is gone from the source, or does not meet source__where any more: "
		if e.ID == "" {
			u.lot.warn(fmt.Sprintf(text+"it had waited for another one", e.Key))
		} else {
			u.lot.warn(fmt.Sprintf(text+"its event %s is given up after %d attempts (%s)", e.Key, e.ID, e.Attempts, e.Reason))
		}
		// A follower that came back later comes with a batch that is settled later.
		followers := u.drop(g.orderKey, g.followers)
		if followers > 0 {
			u.lot.warn(fmt.Sprintf("%d rows that waited for the parked row %s are gone as well", followers, e.Key))
		}
		u.gone += 1 + followers
		u.leave(g.orderKey, time.Now())
	}
	for _, m := range r.moved {
		if u.attempted(m.attempt) != nil {
			u.leave(m.orderKey, time.Now())
			u.enter(m.event, time.Now())
		}
	}
}

// attempted returns the entry that an attempt was made at; nil where another attempt is next by now.
func (u *Update) attempted(a attempt) *parkedKey {
	if e := u.entries[a.orderKey]; e != nil && e.attempt == a.number {
		return e
	}
	return nil
}

// Settle takes the outcome of event i of a batch, and reports whether the event is done with. If not, the settlement
// stops before it.
func (u *Update) Settle(ctx context.Context, b *poller.Settled, i int, r *Retries) bool {
	event, outcome, ordering := &b.Batch.Events[i], b.Outcomes[i], u.lot.Ordering
	switch {
	case outcome == poller.Deferred:
		return false
	case outcome == poller.Accepted && b.Batch.Kind != change.Retry && ordering != poller.OrderSource:
		return true // almost all of them
	}
	why := b.Rejections[i]
	if why.At.IsZero() {
		why.At = time.Now()
	}
	orderKey := event.OrderKey
	if ordering == poller.OrderNone {
		orderKey = event.Key
	}
	switch {
	case b.Batch.Kind == change.Retry && i < len(r.attempts):
		return u.retried(ctx, r.attempts[i], orderKey, event, outcome, why)
	case ordering == poller.OrderSource:
		return u.inSourceOrder(ctx, event, outcome, why)
	case outcome == poller.Rejected:
		return u.rejected(ctx, orderKey, event, b.Batch.Kind, why)
	case outcome == poller.Absorbed:
		return u.absorbed(orderKey, event, b.Batch.Kind)
	default:
		return true
	}
}

// retried takes the outcome of a retry. A row may come back with its key written differently, and another row may be at
// the head by now: the attempt's number says whether this was an attempt at the head that is there.
func (u *Update) retried(ctx context.Context, a attempt, orderKey []byte, event *change.Event,
	outcome poller.Outcome, why poller.Rejection) bool {
	own := u.attempted(a) != nil
	switch {
	case outcome == poller.Rejected && own:
		u.failed(ctx, a.orderKey, event, why)
	case outcome == poller.Rejected && a.orderKey == sourceKey: // the row has its place under its own order key by now
		return u.rejected(ctx, orderKey, event, change.Retry, why)
	case outcome == poller.Rejected:
		return u.rejected(ctx, []byte(a.orderKey), event, change.Retry, why)
	case outcome == poller.Accepted && own:
		u.leave(a.orderKey, time.Now())
	}
	return true
}

// rejected takes a failure of an event that is not its entry's own attempt. Where another row is at the head by now,
// the event becomes a follower. An entry counts the attempts of one row only. No row may take another's place at the
// head, because the entry is all that is left of the other.
func (u *Update) rejected(ctx context.Context, orderKey []byte, event *change.Event, kind change.Kind,
	why poller.Rejection) bool {
	switch e := u.entries[string(orderKey)]; {
	case e != nil && !bytes.Equal(e.Key, event.Key):
		return u.follow(string(orderKey), event.Key, kind) || u.stopFull()
	case e == nil && u.full(&u.lot.Policy):
		return u.stopFull()
	case e == nil:
		e = u.park(orderKey, event)
		if was := u.entries[sourceKey]; was != nil && bytes.Equal(was.Key, event.Key) {
			// ordering=source waited at the row. Its place is under its own order key now, with the attempts so far.
			e.ID, e.Attempts, e.First = was.ID, was.Attempts, was.First
			u.leave(sourceKey, why.At)
		}
	}
	u.failed(ctx, string(orderKey), event, why)
	return true
}

// failed counts an attempt against the head of an entry, and gives it up when it was the last.
func (u *Update) failed(ctx context.Context, orderKey string, event *change.Event, why poller.Rejection) {
	e := u.edit(orderKey)
	if last := u.fail(e, event, why); !last {
		return
	}
	switch err := u.giveUp(ctx, e, event, why); {
	case err != nil:
		// The next attempt, after the last delay, may find the place for dead letters in order again.
		if errors.Is(err, poller.ErrNoAnswer) {
			e.Next = e.Next.Add(slices.Max(u.lot.Policy.Delays))
		}
		if u.Later == nil {
			u.Later = err
		}
	case u.lot.Policy.Block:
		e.Blocked, e.Next = true, time.Time{}
	default:
		u.leave(orderKey, why.At)
	}
}

// absorbed lets an event wait for the one that its order key is parked for.
func (u *Update) absorbed(orderKey []byte, event *change.Event, kind change.Kind) bool {
	switch e := u.entries[string(orderKey)]; {
	case e != nil && !u.lot.coarse:
		return true // the retry reads the row's newest state, and so this one
	case e != nil:
		return u.follow(string(orderKey), event.Key, kind) || u.stopFull()
	case u.full(&u.lot.Policy):
		return u.stopFull()
	}
	// The retry that it waited for is settled, and may have read the row before this event: it must not be lost with it.
	u.park(orderKey, event).Next = time.Now()
	return true
}

// stopFull stops the settlement at max_parked.
func (u *Update) stopFull() bool { return u.stop(fullFault(&u.lot.Policy, u.lot.Address)) }

// stop stops the settlement.
func (u *Update) stop(fault error) bool {
	u.Stop = fault
	return false
}

// inSourceOrder takes the outcome of an event under ordering=source. A rejected one stops the settlement before it,
// until it is accepted or given up.
func (u *Update) inSourceOrder(ctx context.Context, event *change.Event, outcome poller.Outcome,
	why poller.Rejection) bool {
	e := u.entries[sourceKey]
	if outcome != poller.Rejected {
		// Others come before the waited event (late rows, a backfill, duplicates after a crash): they say nothing about it.
		if e != nil && (e.ID == event.ID || bytes.Equal(e.Key, event.Key)) {
			u.leave(sourceKey, why.At)
		}
		return true
	}
	if e == nil {
		u.park([]byte(sourceKey), event)
	}
	e = u.edit(sourceKey)
	if last := u.fail(e, event, why); !last {
		return u.stop(&poller.Fault{Event: poller.HandlerFailed,
			Err: fmt.Errorf("ordering=source: attempt %d of %d of key %s, event %s, failed, next in %s: %s",
				e.Attempts, u.lot.Policy.MaxAttempts, e.Key, e.ID, e.Next.Sub(why.At), e.Reason)})
	}
	if err := u.giveUp(ctx, e, event, why); err != nil {
		e.Next = why.At
		return u.stop(err)
	}
	u.leave(sourceKey, why.At)
	return true
}

// giveUp writes the dead letter of an event. What cannot be written, or not in time, stays parked. The error is a
// *Fault.
func (u *Update) giveUp(ctx context.Context, e *parkedKey, event *change.Event, why poller.Rejection) error {
	l := u.lot
	letter := poller.DeadLetter{
		App: l.App, Poller: l.Poller, Output: l.Output, Engine: l.origin.Engine, Table: l.origin.Table,
		Fingerprint: l.origin.Fingerprint, Event: *event, Cause: why.Cause, Status: why.Status, Reason: why.Reason,
		Attempts: e.Attempts, First: e.First, Last: e.Last, Blocks: l.Policy.Block,
	}
	if err := l.writer.Put(ctx, l.DeadLetters, letter); err != nil {
		return &poller.Fault{Event: poller.HandlerFailed,
			Err: fmt.Errorf("the dead letter of key %s, event %s, could not be written where "+
				"dead_letter__kind says, and the event waits until it can be: %w", e.Key, e.ID, err)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.letters = append(l.letters, letter.Reported()) // reported even where the commit fails: the dead letter is there
	return nil
}
