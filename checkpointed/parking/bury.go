package parking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Dead letters are written before the commit that releases their events, and everything else waits for that commit.
// So all of them together have a bounded time: a place for dead letters that hangs, or is slow, delays the other rows
// and stops none.
const (
	// buryTime is what the dead letters of one settlement may take.
	buryTime = 10 * time.Second
	// buryPatience is what those that cannot be written may take of one tick.
	buryPatience = 5 * time.Second
	// commitTime is what they leave of the settlement's time, for the commit.
	commitTime = 5 * time.Second
)

var (
	errNoGrave  = errors.New("there was no answer in time")
	errBuryLate = errors.New("too many others had to be tried first in this tick")
)

// bury writes the dead letter of an event. What cannot be written, or not in time, stays parked. Errors are a *Fault.
func (u *Update) bury(ctx context.Context, e *parkedKey, event *change.Event, why poller.Rejection) error {
	l := u.lot
	letter := poller.DeadLetter{
		App: l.App, Poller: l.Poller, Output: l.Output, Engine: l.origin.Engine, Table: l.origin.Table,
		Event: *event, Cause: why.Cause, Status: why.Status, Reason: why.Reason,
		Attempts: e.Attempts, First: e.First, Last: e.Last,
	}
	if err := u.write(ctx, letter); err != nil {
		return &poller.Fault{Event: poller.HandlerFailed,
			Err: fmt.Errorf("the dead letter of key %s, event %s, could not be written where "+
				"dead_letter__kind says, and the event waits until it can be: %w", e.Key, e.ID, err)}
	}
	letter.Event.Row = nil // thousands may be given up in one tick: the report needs no rows
	l.mu.Lock()
	defer l.mu.Unlock()
	l.letters = append(l.letters, letter) // reported even where the commit fails: the letter is there
	return nil
}

// write writes a dead letter in the time that is left for all of them.
func (u *Update) write(ctx context.Context, letter poller.DeadLetter) error {
	begun := time.Now()
	if u.until.IsZero() {
		u.until = begun.Add(buryTime)
		if deadline, ok := ctx.Deadline(); ok && deadline.Add(-commitTime).Before(u.until) {
			u.until = deadline.Add(-commitTime)
		}
	}
	left := min(u.until.Sub(begun), buryPatience-u.lot.failing)
	if left <= 0 {
		return errBuryLate
	}
	ctx, cancel := context.WithTimeoutCause(ctx, left, errNoGrave)
	defer cancel()
	err := u.lot.DeadLetters.Put(ctx, letter)
	if err == nil {
		return nil
	}
	u.lot.failing += time.Since(begun)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
