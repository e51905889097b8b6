package poller

import (
	"crypto/tls"
	"errors"
	"net/http"
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
	switch status := said.Failed[0].Status; {
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
