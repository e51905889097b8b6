package poller

import (
	"crypto/tls"
	"errors"
	"net/http"
	"time"
)

// Rejection is why an event was rejected.
type Rejection struct {
	// Cause is Unavailable where the event is set aside without a verdict: see [Policy.Failed].
	Cause  Cause
	Status int    // HTTP status of the last answer, 0 where there was none
	Reason string // for people; never the row
	At     time.Time
	// Again is when the destination wants to see the event again; zero where it did not say.
	Again time.Time
}

// Outcome is what became of one event.
type Outcome uint8

const (
	// Deferred: not tried, because an earlier event of its order key came first, or because the destination was
	// unavailable. It is the zero value: without an outcome nothing is acknowledged.
	Deferred Outcome = iota
	// Accepted: durably accepted downstream.
	Accepted
	// Rejected: it is set aside, because the destination answered and refused it; or it cannot be sent at all. Whether
	// that counts to its last attempt, its Rejection says.
	Rejected
	// Absorbed: not sent, because its order key is parked: it waits for the parked event, or is superseded by it.
	Absorbed
)

// Settles reports whether an event with this outcome is done with, as far as the position is concerned.
func (o Outcome) Settles() bool { return o != Deferred }

// Cause says why an event was not accepted.
type Cause uint8

const (
	// Unavailable: no answer, or one that says nothing about the event (connection refused, timeout, 429, 5xx).
	Unavailable Cause = iota
	// Refused: the destination answered for this event (a 4xx, an entry in batchItemFailures).
	Refused
	// Impossible: it cannot be sent at all (too large, not encodable); repeating it is of no use.
	Impossible
	// Misplaced: the place that this event has to go to (a queue, a topic) is missing, full, closed or forbidden, while
	// the connection to the destination works. That says nothing about the event. Where there is evidence that other
	// places work, it is set aside like one that is refused. But no attempt is counted, and it is tried again for ever.
	Misplaced
)

// String names the cause as the metric label `reason` does.
func (c Cause) String() string {
	switch c {
	case Refused:
		return "refused"
	case Impossible:
		return "impossible"
	case Misplaced:
		return "misplaced"
	default:
		return "unavailable"
	}
}

// DeliveryError is an Output's account of the events that it did not deliver.
type DeliveryError struct {
	// Failed lists the failed events by index in Delivery.Events, ascending; the others were accepted.
	Failed []FailedEvent
	// RetryAfter is how long the destination asked to be left alone; 0 when it did not.
	RetryAfter time.Duration
	// Err is what happened, for people: it names the destination without its secrets.
	Err error
	// Remedy is what to do about it, "" where that is the receiver's business. Settings are named as of the output:
	// output__url.
	Remedy string
}

// Error describes the failure.
func (e *DeliveryError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *DeliveryError) Unwrap() error { return e.Err }

// FailedEvent is one event that was not accepted.
type FailedEvent struct {
	Index  int
	Cause  Cause
	Status int // HTTP status, 0 where there was none
	// Named says that the destination named this very event (batchItemFailures), rather than refusing the request as a
	// whole.
	Named bool
	// General says, where Cause is Unavailable, that nothing could be sent, whichever event it was: a broker blocks all
	// publishers, or there is no connection. It is never held against the event.
	General bool
	// Err is what happened to this event in particular, where the output can tell; nil: what DeliveryError.Err says.
	Err error
}

// FailAll is the DeliveryError that gives all n events the same cause.
func FailAll(n int, cause Cause, status int, err error) *DeliveryError {
	failed := make([]FailedEvent, n)
	for i := range failed {
		failed[i] = FailedEvent{Index: i, Cause: cause, Status: status}
	}
	return &DeliveryError{Failed: failed, Err: err}
}

// The reasons of a tick whose destination took nothing (Report.Reason), where its answer says more than unavailable.
// They change what is said to people, not what becomes of the events: all are outages.
const (
	NotFound       = "not_found"       // nothing at that address takes events (404, 405, 410)
	Denied         = "denied"          // it does not let us in (401, 403, 407)
	Redirected     = "redirected"      // it is elsewhere (3xx)
	BadCertificate = "bad_certificate" // it does not prove who it is (TLS)
)

// OutageReasons are all reasons of a destination that takes nothing.
func OutageReasons() []string {
	return []string{Unavailable.String(), NotFound, Denied, Redirected, BadCertificate}
}

// blameDestination makes the report's reason, and what to do, what the failure of a request says.
func (r *Report) blameDestination(err error) {
	r.Reason = outageReason(err)
	var said *DeliveryError
	if errors.As(err, &said) {
		r.Remedy = said.Remedy
	}
}

func outageReason(err error) string {
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return BadCertificate
	}
	var said *DeliveryError
	if !errors.As(err, &said) || len(said.Failed) == 0 {
		return Unavailable.String()
	}
	return statusReason(said.Failed[0].Status)
}

func statusReason(status int) string {
	switch {
	case status >= 300 && status < 400:
		return Redirected
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone:
		return NotFound
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return Denied
	default:
		return Unavailable.String()
	}
}
