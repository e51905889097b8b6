package poller

import (
	"context"

	"github.com/rowrelay/rowrelay/change"
)

// batch gets a batch from the session, and makes of its events what is sent.
func (t *tick) batch(get func() (Grant, error)) (grant Grant, sent []change.Event, err error) {
	err = Guard(func() (err error) {
		if grant, err = get(); err == nil {
			sent, err = t.shaped(grant.Batch.Events)
		}
		return err
	})
	return grant, sent, err
}

// shaped is what is sent of events.
func (t *tick) shaped(events []change.Event) ([]change.Event, error) {
	if t.cfg.Shape == nil {
		return events, nil
	}
	sent := make([]change.Event, len(events))
	for i := range events {
		if t.ctx.Err() != nil { // it may take long
			return nil, context.Cause(t.ctx)
		}
		var err error
		if sent[i], err = t.cfg.Shape(&events[i]); err != nil {
			return nil, &Fault{ConfigInvalid, err}
		}
	}
	return sent, nil
}
