package webhook

import (
	"net/http"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// What a request of one outbox event says beside its body.
const (
	headerEventType      = "Rowrelay-Event-Type"
	headerAggregateType  = "Rowrelay-Aggregate-Type"
	headerAggregateID    = "Rowrelay-Aggregate-Id"
	headerCreatedAt      = "Rowrelay-Created-At"
	headerIdempotencyOwn = "Rowrelay-Idempotency-Key"
	headerTraceParent    = "Traceparent" // W3C Trace Context; no name of a header has a case
	headerTraceState     = "Tracestate"
)

// setOutbox sets the headers of an outbox event. What its writer said may be any text, and a header carries printable
// ASCII only: values are percent-encoded (see encodeHeader). A trace context that is not one is left out, because a
// trace is no reason to hold an event back.
func setOutbox(h http.Header, set func(name, value string), e *change.Event) {
	o := e.Outbox
	set(headerEventType, encodeHeader(o.EventType))
	set(headerAggregateType, encodeHeader(o.AggregateType))
	set(headerAggregateID, encodeHeader(o.AggregateID))
	if !o.CreatedAt.IsZero() {
		set(headerCreatedAt, o.CreatedAt.UTC().Format(time.RFC3339Nano))
	}
	if o.IdempotencyKey != e.ID {
		set(headerIdempotencyOwn, encodeHeader(o.IdempotencyKey))
	}
	if isTraceParent(o.TraceParent) {
		set(headerTraceParent, o.TraceParent)
		delete(h, headerTraceState) // of the request's own trace
		if o.TraceState != "" && isPrintable(o.TraceState) {
			set(headerTraceState, o.TraceState)
		}
	}
}

// encodeHeader returns s as a header carries it: by the rule of the CloudEvents HTTP binding (1.0.2, 3.1.3.2), spaces,
// double quotes, percent signs and every byte outside "!" to "~" are percent-encoded. It decodes to s again, whatever s
// is.
func encodeHeader(s string) string {
	n := 0
	for i := range len(s) {
		if encoded(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s) + 2*n)
	for i := range len(s) {
		c := s[i]
		if !encoded(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

func encoded(c byte) bool { return c <= ' ' || c >= 0x7f || c == '"' || c == '%' }

// headerID returns an event's id as a header carries it: as it is. Ids are printable ASCII; one that is not would hold
// its event back for ever, and is encoded.
func headerID(id string) string {
	if isPrintable(id) {
		return id
	}
	return encodeHeader(id)
}

// isTraceParent reports whether s is a traceparent (W3C Trace Context, 3.2.2): version-trace-parent-flags in lower-case
// hex. A version beyond 00 may have more after it.
func isTraceParent(s string) bool {
	const length = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if len(s) < length || len(s) > length && (s[:2] == "00" || s[length] != '-' || !isPrintable(s)) {
		return false
	}
	for i := range length {
		c := s[i]
		if i == 2 || i == 35 || i == 52 {
			if c != '-' {
				return false
			}
		} else if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s[:2] != "ff" && strings.Trim(s[3:35], "0") != "" && strings.Trim(s[36:52], "0") != ""
}

// isPrintable reports whether s can stand in a header as it is: printable ASCII without spaces around it.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return strings.TrimSpace(s) == s
}
