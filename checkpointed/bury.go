package checkpointed

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
func (l *tally) bury(ctx context.Context, e *parkedRow, event *change.Event, why poller.Rejection) error {
	cfg, source := &l.s.feed.cfg, &l.s.source
	letter := poller.DeadLetter{
		App: cfg.App, Poller: cfg.Poller, Output: cfg.Output, Engine: source.Engine, Table: source.Table,
		Event: *event, Cause: why.Cause, Status: why.Status, Reason: why.Reason,
		Attempts: e.Attempts, First: e.First, Last: e.Last,
	}
	if err := l.put(ctx, letter); err != nil {
		return &poller.Fault{Event: poller.HandlerFailed,
			Err: fmt.Errorf("the dead letter of key %s, event %s, could not be written where "+
				"dead_letter__kind says, and the event waits until it can be: %w", e.Key, e.ID, err)}
	}
	letter.Event.Row = nil // thousands may be given up in one tick: the report needs no rows
	l.letters = append(l.letters, letter)
	return nil
}

// put writes a dead letter in the time that is left for all of them.
func (l *tally) put(ctx context.Context, letter poller.DeadLetter) error {
	begun := time.Now()
	if l.buryBy.IsZero() {
		l.buryBy = begun.Add(buryTime)
		if deadline, ok := ctx.Deadline(); ok && deadline.Add(-commitTime).Before(l.buryBy) {
			l.buryBy = deadline.Add(-commitTime)
		}
	}
	left := min(l.buryBy.Sub(begun), buryPatience-l.s.unburied)
	if left <= 0 {
		return errBuryLate
	}
	ctx, cancel := context.WithTimeoutCause(ctx, left, errNoGrave)
	defer cancel()
	err := l.s.feed.cfg.DeadLetters.Put(ctx, letter)
	if err == nil {
		return nil
	}
	l.s.unburied += time.Since(begun)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
