// Package webhook delivers events by HTTP: one request for each delivery, a POST unless the settings say otherwise, in
// the format of output__format (output__kind=http). Where it goes, and by which method: route.go.
//
// # What is sent
//
// A request carries the single form of the format when output__batch is 1, and a JSON array otherwise. Its headers:
//
//	Idempotency-Key          one event: its id; several: SHA-256 over their ids. A retry repeats it.
//	Rowrelay-Poller, Rowrelay-Batch-Id, Rowrelay-Fencing-Token, Rowrelay-Delivery, Rowrelay-Attempt
//	Rowrelay-Backfill                                                       when a backfill with a position of its own sends it
//	Rowrelay-Event-Id, Rowrelay-Op, Rowrelay-Key-Hash, Rowrelay-Cursor      when the request holds one event
//	Rowrelay-Changed, Rowrelay-Context                                      and its database says so (change.Written)
//	Rowrelay-Event-Type, Rowrelay-Aggregate-Type, Rowrelay-Aggregate-Id, Rowrelay-Created-At, Rowrelay-Idempotency-Key (where it
//	is not the event's id), Traceparent, Tracestate                         when that is an event of an outbox
//	Ce-Specversion, Ce-Id, Ce-Type and every other attribute of the event   with output__format=cloudevents_binary
//	Webhook-Id, Webhook-Timestamp, Webhook-Signature                       when output__secret is set
//
// In what an outbox's writer chose (types, the aggregate's id, the key) spaces, double quotes, percent signs, and what
// is not printable ASCII are percent-encoded. A traceparent or tracestate that no header can carry as it is, is left
// out.
//
// A receiver that remembers the highest pair (Rowrelay-Fencing-Token, Rowrelay-Delivery) for a key can refuse a late
// request of an owner that has lost its right.
//
// The signature is Standard Webhooks' v1: HMAC-SHA256 over "<id>.<timestamp>.<body>", where Webhook-Id is the
// Idempotency-Key and body is the JSON text, before output__gzip compresses it: servers take the content coding off
// before an application sees the body, and the application is what verifies.
//
// # What the answer means
//
//	2xx              every event is accepted, unless a JSON body lists "batchItemFailures" (see below)
//	3xx              refused: a redirect is never followed, the body and its signature were meant for output__url
//	101, 408, 425, 429, 5xx, no answer   unavailable; Retry-After is honoured
//	other 4xx        refused
//
// A 2xx whose Content-Type is JSON is read, up to 1 MiB: {"batchItemFailures":[{"itemIdentifier":"<event id, or the
// zero-based index>"}]} names the events that failed, and the rest is accepted. Member names may be spelt in any case.
// An empty body and JSON without that member accept everything; a body that is malformed, too long, or names an event
// that was not sent accepts nothing.
//
// Deliver makes one attempt, for as long as its context lasts: repeating it, and output__timeout, are the tick's
// business. Small requests without TLS go by package plainhttp, which repeats nothing. net/http, which has the others,
// takes another connection by itself only where the receiver has not seen the request: nothing of it was written on a
// connection that turned out to be dead, or an HTTP/2 peer turned its stream away (GOAWAY, REFUSED_STREAM,
// PROTOCOL_ERROR). So one Deliver is one POST.
package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/plainhttp"
	"github.com/rowrelay/rowrelay/poller"
)

// New checks cfg and returns the output. Nothing is sent. Errors name the setting and never hold its value.
func New(cfg Config) (*Output, error) {
	route, u, err := newRoute(cfg)
	if err != nil {
		return nil, err
	}
	key, err := signingKey(cfg.Secret)
	if err != nil {
		return nil, err
	}
	static, err := staticHeader(cfg, u)
	if err != nil {
		return nil, err
	}
	if cfg.Format == change.CloudEventsBinary && !cfg.Single {
		return nil, errors.New("output__format=cloudevents_binary sends one event in a request: set output__batch=1")
	}
	identity, err := certificates(cfg.Certificate, u)
	if err != nil {
		return nil, err
	}
	o := &Output{
		route: route, origin: u.Scheme + "://" + u.Host, format: cfg.Format, single: cfg.Single, gzip: cfg.Gzip,
		several: cfg.Several,
		key:     key, static: static, secrets: newRedactor(cfg, u), transport: newTransport(cfg.Concurrency, identity),
		doubt: cfg.Doubt,
	}
	o.plain = plainhttp.New(o.transport)
	o.through = output.Unswitched{Next: o.plain}
	if cfg.Every > 0 {
		o.through = paced{o.through, rate.NewLimiter(rate.Every(cfg.Every), 1)}
	}
	if cfg.Authorize != nil {
		o.through = cfg.Authorize(o.through)
	}
	u.User, u.Fragment = nil, ""
	o.blank = &http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return o, nil
}

// newTransport keeps a connection for each request that may be in flight. The default of two idle connections would
// close and dial again all the time.
func newTransport(concurrency int, identity *tls.Config) *http.Transport {
	conns := max(concurrency, 8)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:     identity,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		// A request without an answer ends its stream only: the next ones would go the same way for as long as the
		// connection looks alive, which is a quarter of an hour where a firewall has forgotten it.
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConns:           conns,
		MaxIdleConnsPerHost:    conns,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		OnProxyConnectResponse: tunnel,
		WriteBufferSize:        128 << 10, // a typical batch in one write: a larger one costs io.Copy a buffer of its own
	}
}

// Close closes idle connections. Requests in flight go on.
func (o *Output) Close() error {
	o.plain.CloseIdleConnections()
	return nil
}

// Deliver sends the events of d in one request. A crash in here leaves open whether the receiver took them: they are
// sent again, under the same Idempotency-Key where the request is composed of the same events.
func (o *Output) Deliver(ctx context.Context, d change.Delivery) error {
	if o.single && len(d.Events) > 1 {
		return poller.FailAll(len(d.Events), poller.Impossible, 0,
			fmt.Errorf("a request to %s holds one event (output__batch=1), but was given %d", o.origin, len(d.Events)))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return o.unanswered(ctx, &d, ctx.Err())
	}
	body, err := o.encode(&d)
	if err != nil {
		return poller.FailAll(len(d.Events), poller.Impossible, 0, err)
	}
	defer body.release()
	req := o.request(ctx, &d, body)
	if failed := o.direct(req, &d); failed != nil {
		return failed
	}
	// The transport, not a client: no redirects, no cookies, and no errors that quote the URL.
	resp, err := o.through.RoundTrip(req)
	if err != nil {
		return o.unanswered(ctx, &d, err)
	}
	unpack(resp)
	defer drain(resp, cancel)
	if resp.Body != http.NoBody && (!accepted(resp.StatusCode) || !isJSON(resp.Header.Get("Content-Type"))) {
		// The status decides: an excerpt of the body is worth a moment, not the rest of the timeout.
		defer time.AfterFunc(drainTime, cancel).Stop()
	}
	if failed := o.judge(ctx, &d, resp); failed != nil {
		return failed
	}
	return nil
}

// unanswered is the error of a request without an answer: that says nothing about its events.
func (o *Output) unanswered(ctx context.Context, d *change.Delivery, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause // "no answer within 30s" tells more than "context deadline exceeded"
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("it closed the connection without an answer (%w)", err)
	}
	failed := poller.FailAll(len(d.Events), poller.Unavailable, 0, o.failure(err, "sending to %s: %v", o.origin, err))
	var untrusted *tls.CertificateVerificationError
	var way *net.OpError
	var proxy *proxyError
	switch {
	case errors.As(err, &proxy) && proxy.status == http.StatusProxyAuthRequired:
		failed.Remedy = remedy(proxy.status, len(d.Events))
	case proxy != nil:
		failed.Remedy = "the proxy has to let requests through to the receiver, or leave it out: HTTPS_PROXY and NO_PROXY in the " +
			"environment"
	case errors.As(err, &way) && way.Op == "proxyconnect":
		failed.Remedy = "the proxy cannot be reached: look at HTTP_PROXY, HTTPS_PROXY and NO_PROXY in the environment"
	case errors.As(err, &way) && way.Op == "remote error" && wantsCertificate(way.Err.Error()),
		strings.Contains(err.Error(), "http2: client conn could not be established"): // it hides the alert, by chance
		failed.Remedy = "where the receiver lets in only who shows a certificate that it trusts, set " +
			"output__client_certificate, or renew it"
	case errors.As(err, &untrusted):
		failed.Remedy = "renew the receiver's certificate, or write the name that it is made out to into output__url; for " +
			"an authority of your own, set SSL_CERT_FILE; where this machine's clock is wrong, set it"
	}
	return failed
}

// proxyError is the answer of a proxy that makes no way to a receiver with TLS. net/http would have its words alone, as
// if they were the receiver's.
type proxyError struct {
	host   string
	status int
}

// Error says whose answer it is.
func (e *proxyError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the proxy %s answered %d %s", e.host, e.status, http.StatusText(e.status)))
}

func tunnel(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{proxy.Host, resp.StatusCode}
}

// wantsCertificate reports whether a TLS alert may say that the client showed no certificate, or a wrong one:
// "certificate required" and its like, or in TLS 1.2 a handshake that failed.
func wantsCertificate(alert string) bool {
	return strings.Contains(alert, "certificate") || strings.Contains(alert, "handshake failure")
}
