package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Header names in their canonical form: the map is filled directly, without canonicalising per request.
const (
	headerPoller           = "Rowrelay-Poller"
	headerBatchID          = "Rowrelay-Batch-Id"
	headerFencingToken     = "Rowrelay-Fencing-Token"
	headerDelivery         = "Rowrelay-Delivery"
	headerAttempt          = "Rowrelay-Attempt"
	headerBackfill         = "Rowrelay-Backfill"
	headerEventID          = "Rowrelay-Event-Id"
	headerOp               = "Rowrelay-Op"
	headerKeyHash          = "Rowrelay-Key-Hash"
	headerCursor           = "Rowrelay-Cursor"
	headerChanged          = "Rowrelay-Changed"
	headerContext          = "Rowrelay-Context"
	headerWebhookID        = "Webhook-Id"
	headerWebhookTimestamp = "Webhook-Timestamp"
	headerWebhookSignature = "Webhook-Signature"
)

// The two exceptions. net/http takes a POST that has one of these names in its canonical form for one that it may
// repeat by itself, after a connection that it has used before broke: with the same delivery number, and without
// anybody asking whether the right to deliver still holds. A receiver sees no difference, because names are compared
// without case.
const (
	headerIdempotencyKey  = "idempotency-key"
	headerXIdempotencyKey = "x-idempotency-key" // nothing of ours, but output__headers__ may set it
)

// request builds the POST of d with body.
func (o *Output) request(ctx context.Context, d *change.Delivery, body *payload) *http.Request {
	// One map of the right size and one array for all values: a request of one event has more header than body.
	const most = 23
	h := make(http.Header, len(o.static)+most)
	maps.Copy(h, o.static)
	values := make([]string, 0, most)
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	key := idempotencyKey(d.Events)
	set(headerIdempotencyKey, key)
	set(headerPoller, d.Poller)
	set(headerBatchID, d.BatchID)
	set(headerFencingToken, strconv.FormatUint(d.Token, 10))
	set(headerDelivery, strconv.FormatUint(d.Number, 10))
	set(headerAttempt, strconv.Itoa(d.Attempt))
	if d.Backfill != "" {
		set(headerBackfill, d.Backfill)
	}
	if d.TraceParent != "" { // an event of its own trace replaces it
		set(headerTraceParent, d.TraceParent)
		if d.TraceState != "" {
			set(headerTraceState, d.TraceState)
		}
	}
	if len(d.Events) == 1 {
		e := &d.Events[0]
		set(headerEventID, headerID(e.ID))
		set(headerOp, e.Op.String())
		set(headerKeyHash, e.KeyHash())
		set(headerCursor, string(e.Cursor.AppendText(nil)))
		if e.Outbox != nil {
			setOutbox(h, set, e)
		}
		if e.Written != nil {
			setWritten(set, e.Written)
		}
		if o.single {
			set("Content-Type", o.format.ContentTypeOf(e))
		}
		if o.format == change.CloudEventsBinary {
			setBinary(h, set, d)
		}
	}
	if o.key != nil {
		now := strconv.FormatInt(time.Now().Unix(), 10)
		set(headerWebhookID, key)
		set(headerWebhookTimestamp, now)
		set(headerWebhookSignature, sign(o.key, key, now, body.json))
	}
	req := o.blank.WithContext(body.trace(ctx))
	req.Header, req.Body, req.GetBody, req.ContentLength = h, body.body(), body.bodyAgain, int64(len(body.wire))
	return req
}

func setWritten(set func(name, value string), w *change.Written) {
	if w.Columns != "" {
		set(headerChanged, w.Columns)
	}
	if w.Context != "" {
		set(headerContext, w.Context)
	}
}

// idempotencyKey names the events of a request: the id of one, or 64 hex digits of SHA-256 over the ids of several. It
// does not depend on the attempt, the batch or the owner.
func idempotencyKey(events []change.Event) string {
	if len(events) == 1 {
		return headerID(events[0].ID)
	}
	// One buffer and one hash: writing id by id to a hash would allocate for each.
	buf := make([]byte, 0, len(events)*(len(events[0].ID)+1))
	for i := range events {
		// An id that a header can carry holds no line feed, so that two lists of ids never hash alike.
		buf = append(buf, headerID(events[i].ID)...)
		buf = append(buf, '\n')
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:])
}

// sign returns the Standard Webhooks signature, version 1.
func sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = io.WriteString(mac, id+"."+timestamp+".") // a hash never fails
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signingKey decodes output__secret; nil when there is none.
func signingKey(secret string) ([]byte, error) {
	encoded, isBase64 := strings.CutPrefix(secret, "whsec_")
	switch {
	case secret == "":
		return nil, nil
	case !isBase64:
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		// The decoder's error is left out: it tells about the secret's content.
		return nil, errors.New("output__secret begins with whsec_ but is not base64 after it: copy it again, or use a secret without that prefix")
	}
	return key, nil
}

// staticHeader returns the headers that every request carries.
func staticHeader(cfg Config, u *url.URL) (http.Header, error) {
	h := make(http.Header, len(cfg.Headers)+4)
	version := cfg.Version
	if version == "" {
		version = "dev"
	}
	h.Set("User-Agent", "rowrelay/"+version)
	if u.User != nil {
		h.Set("Authorization", "Basic "+basic(u.User))
	}
	for name, value := range cfg.Headers {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !isToken(name):
			return nil, fmt.Errorf("output__headers__%s: %q is not the name of an HTTP header", name, name)
		case reserved(canonical), cfg.Format == change.CloudEventsBinary && strings.HasPrefix(canonical, "Ce-"):
			return nil, fmt.Errorf("output__headers__%s: Rowrelay sets %s itself: remove the setting", name, canonical)
		case strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }):
			return nil, fmt.Errorf("output__headers__%s holds a control character, such as a line break: remove it", name)
		}
		if canonical == "X-Idempotency-Key" {
			canonical = headerXIdempotencyKey
		}
		h[canonical] = []string{value}
	}
	h.Set("Content-Type", cfg.Format.ContentType(cfg.Single))
	if cfg.Gzip {
		h.Set("Content-Encoding", "gzip")
	}
	return h, nil
}

func basic(user *url.Userinfo) string {
	password, _ := user.Password()
	return base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
}

// reserved reports whether a header is Rowrelay's or the transport's own.
func reserved(canonical string) bool {
	switch canonical {
	case "Idempotency-Key", "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection",
		"Host", "Trailer", "Upgrade", "Te", "Expect", "Accept-Encoding":
		return true
	}
	return strings.HasPrefix(canonical, "Rowrelay-") || strings.HasPrefix(canonical, "Webhook-")
}

// isToken reports whether name is a token (RFC 9110, 5.6.2).
func isToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}
