// Package output holds what the outputs in its subdirectories share: destinations, sending each event by itself, the
// reading of Retry-After, and errors whose text is fit for a log line. Each output implements poller.Output, passes the
// suite of outputtest on its real engine, and makes one attempt for each Deliver: repeating is the tick's business.
package output

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/plaintext"
)

// MaxRetryAfter bounds what a destination can ask for: beyond it the next ticks ask again. Events that were set aside
// wait for so long, whatever has become of the destination.
const MaxRetryAfter = time.Hour

// RetryAfter reads the header Retry-After (RFC 9110, 10.2.3): seconds, or an HTTP date, which is one of the
// destination's clock. What that shows stands in Date; without it the local clock has to do. It returns 0 for none, for
// one that cannot be read, and for a moment that has passed.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if there, err := http.ParseTime(h.Get("Date")); err == nil {
		now = there
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(MaxRetryAfter/time.Second) {
			return MaxRetryAfter // digits only: the error is that there are too many
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), MaxRetryAfter)
}

// Error is an error with a text of one line for people, around one whose own text is not fit for them: it may have
// several lines, or hold a secret. The inner error stays reachable for errors.Is and errors.As.
type Error struct {
	Text string
	Err  error
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the inner error.
func (e *Error) Unwrap() error { return e.Err }

// maxText is the most that an error's text takes, in bytes.
const maxText = 1024

// Errorf returns an Error around err; the format does not repeat err by itself.
func Errorf(err error, format string, args ...any) *Error {
	return &Error{Text: plaintext.Cut(plaintext.Line(fmt.Sprintf(format, args...)), maxText), Err: err}
}
