package poller

import (
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Pauses between two ticks that ask. With the variation the longest is below a minute, so that what comes back is
// found within about a minute.
const firstRest, lastRest = time.Second, 45 * time.Second

const restVariation = 0.2

// patience is how long failures need no pause: most are over by then, and a schedule of a second is soon enough.
const patience = 10 * time.Second

// loginRest is the first pause after a refused login: databases lock accounts after a few.
const loginRest = 15 * time.Second

// circuit keeps the ticks of this process from a source or a destination that has done nothing but fail for a while,
// and from sending what cannot be settled: it is tried again after a pause that grows; the first success ends that.
// Without it, a schedule of one second asks each second, for hours: hundreds of requests a minute, logins that lock an
// account, and the same rows again and again. The zero circuit is closed.
//
// It lives in the process only: another instance, or a process after a crash, learns it anew.
type circuit struct {
	since  time.Time // the first failure in a row
	until  time.Time // nothing is asked before
	why    *Fault    // the last failure
	pauses *backoff.ExponentialBackOff
}

// failed notes a failure, and opens the circuit where there were others before.
func (c *circuit) failed(now time.Time, why *Fault, login bool) {
	if c.since.IsZero() {
		c.since = now
		c.pauses = &backoff.ExponentialBackOff{
			InitialInterval: firstRest, MaxInterval: lastRest, Multiplier: 1.5, RandomizationFactor: restVariation,
		}
		if login {
			c.pauses.InitialInterval = loginRest
		}
		c.pauses.Reset()
	}
	if c.why = why; login || now.Sub(c.since) >= patience {
		c.until = now.Add(c.pauses.NextBackOff())
	}
}

// failing reports whether the last that was asked failed.
func (c *circuit) failing() bool { return !c.since.IsZero() }

// worked closes the circuit.
func (c *circuit) worked() { *c = circuit{} }

// open is the failure that a tick reports while the circuit is open: the last one, as it stands, and when it is tried
// again. Nil: it is closed.
func (c *circuit) open(now time.Time) *Fault {
	if !now.Before(c.until) {
		return nil
	}
	return &Fault{c.why.Event, fmt.Errorf("%w; it has failed since %s, and is tried again at %s", c.why.Err,
		clockTime(c.since), clockTime(c.until))}
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

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
