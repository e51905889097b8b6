package poller

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

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
