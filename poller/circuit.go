package poller

import (
	"errors"
	"fmt"
	"time"
)

// rests is why a tick sends nothing: the destination has no room for any event yet, or has done nothing but fail. Nil:
// it may be asked.
func (t *tick) rests() error {
	now := time.Now()
	if wait := t.hint.until.Sub(now); wait > 0 {
		t.report.RetryAt = t.hint.until
		return &Fault{HandlerFailed, fmt.Errorf("the destination has no room for any event, and wants to be asked again in %s (Retry-After): "+
			"until then nothing is sent; its last answer: %w", wait.Truncate(time.Second)+time.Second, t.hint.why)}
	}
	if fault := t.destination.open(now); fault != nil {
		t.report.RetryAt = t.destination.until
		return fault
	}
	return nil
}

// sourceFailed notes that the source could not be read. Other failures say nothing about it.
func (t *tick) sourceFailed(err error) {
	var fault *Fault
	if errors.As(err, &fault) && (fault.Event == FetchFailed || fault.Event == ConfigInvalid) {
		t.source.failed(time.Now(), fault, errors.Is(err, ErrLogin))
	}
}

// circuits notes whether the source and the destination answered in this tick, for the next one.
func (t *tick) circuits() {
	switch {
	case t.fetchErr != nil:
		t.sourceFailed(t.fetchErr)
	case t.fetches > 0:
		t.source.worked()
	}
	if t.report.Rows > 0 || t.fetches > 0 && !t.outage {
		t.destination.worked()
	}
	var fault *Fault
	failed := errors.As(t.failure, &fault)
	if t.down && failed {
		t.destination.failed(time.Now(), fault, false)
	}
	switch {
	case t.report.Rows > 0 || t.failure == nil:
		t.settlement.worked()
	case failed && fault.Event == CommitFailed:
		t.settlement.failed(time.Now(), fault, false)
	}
}

// open is the circuit that keeps a tick from beginning at all; nil where none does.
func (t *tick) open() *circuit {
	for _, c := range []*circuit{&t.source, &t.settlement} {
		if c.open(t.report.Started) != nil {
			return c
		}
	}
	return nil
}
