package checkpointed

import (
	"context"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// bury writes the dead letter of an event. What cannot be written, or not in time, stays parked. Errors are a *Fault.
func (l *tally) bury(ctx context.Context, e *parkedRow, event *change.Event, why poller.Rejection) error {
	cfg, source := &l.s.feed.cfg, &l.s.source
	letter := poller.DeadLetter{
		App: cfg.App, Poller: cfg.Poller, Output: cfg.Output, Engine: source.Engine, Table: source.Table,
		Event: *event, Cause: why.Cause, Status: why.Status, Reason: why.Reason,
		Attempts: e.Attempts, First: e.First, Last: e.Last,
	}
	if err := l.s.deadLetters.Put(ctx, cfg.DeadLetters, letter); err != nil {
		return &poller.Fault{Event: poller.HandlerFailed,
			Err: fmt.Errorf("the dead letter of key %s, event %s, could not be written where "+
				"dead_letter__kind says, and the event waits until it can be: %w", e.Key, e.ID, err)}
	}
	letter.Event.Row = nil // thousands may be given up in one tick: the report needs no rows
	l.letters = append(l.letters, letter)
	return nil
}
