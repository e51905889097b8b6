package parking

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// bury writes the dead letter of an event. What cannot be written, or not in time, stays parked. Errors are a *Fault.
func (u *Update) bury(ctx context.Context, e *parkedKey, event *change.Event, why poller.Rejection) error {
	l := u.lot
	letter := poller.DeadLetter{
		App: l.App, Poller: l.Poller, Output: l.Output, Engine: l.origin.Engine, Table: l.origin.Table,
		Event: *event, Cause: why.Cause, Status: why.Status, Reason: why.Reason,
		Attempts: e.Attempts, First: e.First, Last: e.Last,
	}
	if err := l.writer.Put(ctx, l.DeadLetters, letter); err != nil {
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
