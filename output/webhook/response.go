package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

const (
	maxAnswer = 1 << 20         // a JSON answer beyond it is not believed
	maxDrain  = 64 << 10        // read of any other answer, so that its connection can be used again
	drainTime = 1 * time.Second // a body that drips is not waited for longer: nothing depends on it
)

// judge turns an answer into what it says about the events: nil when all are accepted.
func (o *Output) judge(ctx context.Context, d *change.Delivery, resp *http.Response) *poller.DeliveryError {
	code := resp.StatusCode
	if accepted(code) {
		if !isJSON(resp.Header.Get("Content-Type")) {
			o.doubtPage(resp)
			return nil
		}
		return o.judgeJSON(ctx, d, resp)
	}
	n := len(d.Events)
	switch {
	case code >= 300 && code < 400:
		return o.refused(n, code, fmt.Errorf("%s answered %d and redirects to %s", o.origin, code, redirectHost(resp)))
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests,
		code < 200, code >= 500:
		failed := poller.FailAll(n, poller.Unavailable, code, o.answered(resp))
		failed.RetryAfter = output.RetryAfter(resp.Header, time.Now())
		failed.Remedy = remedy(code, n)
		return failed
	default:
		return o.refused(n, code, o.answered(resp))
	}
}

func accepted(code int) bool { return code >= 200 && code < 300 }

// doubtPage tells of a 2xx that holds a page for people, as a login, a gateway, or a site that answers every path does.
// Its events count as accepted all the same: what a receiver writes into its body is its own business.
func (o *Output) doubtPage(resp *http.Response) {
	media := strings.ToLower(resp.Header.Get("Content-Type"))
	if o.doubt == nil || o.doubted.Load() || !strings.HasPrefix(strings.TrimSpace(media), "text/html") {
		return
	}
	head := make([]byte, 256)
	n, _ := io.ReadFull(resp.Body, head) // what cannot be read shows nothing
	text := strings.ToLower(strings.TrimSpace(string(head[:n])))
	if (strings.HasPrefix(text, "<!doctype html") || strings.HasPrefix(text, "<html")) && !o.doubted.Swap(true) {
		o.doubt(fmt.Sprintf("%s answered %d with an HTML page, and that accepts the events: if it is a login or another site, "+
			"nothing took them; correct output__url, and send them again (rowrelay backfill)", o.origin, resp.StatusCode))
	}
}

func (o *Output) refused(n, code int, err error) *poller.DeliveryError {
	failed := poller.FailAll(n, poller.Refused, code, err)
	failed.Remedy = remedy(code, n)
	return failed
}

// remedy says what the operator can do about the status of a request with n events, "" where that is the receiver's
// business.
func remedy(code, n int) string {
	switch code {
	case http.StatusProxyAuthRequired:
		return "a proxy asks who it is: write its user and password into HTTP_PROXY (http://user:password@proxy:3128)"
	case http.StatusUnauthorized, http.StatusForbidden:
		return "check the key in output__url, output__headers__… and output__secret, or whom output__auth sends, and whom the receiver lets in"
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return "check output__url: its path must be the receiver's, and take the method"
	case http.StatusRequestEntityTooLarge:
		if n == 1 { // no batch is too large for it
			return "one event is more than the receiver, or a proxy before it, takes: raise its limit, or send less " +
				"(output__columns, output__gzip)"
		}
		return "lower output__batch or output__batch_bytes, or raise the receiver's limit"
	case http.StatusTooManyRequests:
		return "the receiver limits the rate: it is tried again; write into output__rate what it allows, or raise its limit"
	case http.StatusUnsupportedMediaType:
		return "the receiver does not take this output__format or output__gzip: choose another"
	}
	if code >= 300 && code < 400 {
		return "set output__url to the final address: a redirect is never followed"
	}
	return ""
}

// answered is the error of a status, with an excerpt of the body, which may echo what was sent: see poller.QuoteAnswer.
func (o *Output) answered(resp *http.Response) error {
	text := fmt.Sprintf("%s answered %d %s", o.origin, resp.StatusCode, http.StatusText(resp.StatusCode))
	text = strings.TrimSpace(text)
	if excerpt := o.excerpt(resp); excerpt != "" {
		text += ": " + poller.QuoteAnswer(excerpt)
	}
	return errors.New(text)
}

// judgeJSON reads a 2xx answer that says it is JSON. What cannot be read or understood says nothing about any event, so
// that none is accepted: they will be sent again.
func (o *Output) judgeJSON(ctx context.Context, d *change.Delivery, resp *http.Response) *poller.DeliveryError {
	nothing := func(err error, format string, args ...any) *poller.DeliveryError {
		text := fmt.Sprintf(format, args...)
		return poller.FailAll(len(d.Events), poller.Unavailable, resp.StatusCode, o.failure(err,
			"%s answered %d, which accepts nothing: %s", o.origin, resp.StatusCode, text))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil && context.Cause(ctx) != nil:
		return nothing(context.Cause(ctx), "its JSON body could not be read: %v", context.Cause(ctx))
	case err != nil:
		return nothing(err, "its JSON body could not be read: %v", err)
	case len(body) > maxAnswer:
		return nothing(nil, "its JSON body is longer than %d bytes", maxAnswer)
	}
	named, err := failedItems(body, d.Events)
	switch {
	case err != nil:
		return nothing(err, "%v", err)
	case len(named) == 0:
		return nil
	}
	failed := make([]poller.FailedEvent, 0, len(named))
	behind := make(map[string]bool) // order keys of events that were named
	for i := range d.Events {
		key := string(d.Events[i].OrderKey)
		switch sure, is := named[i]; {
		case is:
			err := fmt.Errorf("%s answered %d and named this event in batchItemFailures", o.origin, resp.StatusCode)
			if !sure { // alone it will have no other
				err = fmt.Errorf("%w, or another one: the name is one's id and the other's index", err)
			}
			failed = append(failed, poller.FailedEvent{Index: i, Cause: poller.Refused, Status: resp.StatusCode, Named: sure,
				Err: err})
			behind[key] = o.several
		case behind[key]:
			failed = append(failed, poller.FailedEvent{Index: i})
		}
	}
	return &poller.DeliveryError{Failed: failed,
		Err: fmt.Errorf("%s answered %d and named %d of %d events in batchItemFailures, first %s",
			o.origin, resp.StatusCode, len(named), len(d.Events), d.Events[failed[0].Index].ID)}
}

// isJSON reports whether a Content-Type is application/json or of the +json kind.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// redirectHost names where a redirect leads, without path, query and user info.
func redirectHost(resp *http.Response) string {
	location := resp.Header.Get("Location")
	u, err := url.Parse(location)
	switch {
	case location == "": // 304, for one
		return "nowhere: it names no Location"
	case err != nil:
		return "an address that is not a URL"
	case u.Host == "":
		return "another path of the same host"
	case u.Scheme == "":
		return u.Host
	default:
		return u.Scheme + "://" + u.Host
	}
}

// drain reads what is left of a short body, so that the connection can be used again, and closes it.
func drain(resp *http.Response, cancel context.CancelFunc) {
	if resp.Body == http.NoBody {
		return
	}
	timer := time.AfterFunc(drainTime, cancel)
	defer timer.Stop()
	// Whether it succeeds decides only if the connection is used again.
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
	_ = resp.Body.Close()
}
