// Package plainhttp sends small requests over connections without TLS from the goroutine that asks for them.
//
// net/http gives a request to a goroutine that writes, and the answer comes from one that reads. Where the receiver is
// near, and a request holds one event, waking these takes as long as all else. Here the caller's goroutine writes and
// reads. What that could lose goes through net/http: TLS and with it HTTP/2, proxies, and bodies so large that the
// receiver may want to answer before it has read them. Why: docs/decisions/a-small-request-is-sent-by-one-goroutine.md.
package plainhttp

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// maxBody is what a connection takes without the receiver reading it.
const maxBody = 64 << 10

// Transport is an http.RoundTripper for concurrent use. As with net/http, an answer's body has to be closed, its
// connection is used again where the body was read to its end, and the request's context ends both. It repeats
// nothing. Of httptrace it calls WroteRequest.
type Transport struct {
	next *http.Transport

	mu   sync.Mutex
	idle []*conn // the one that was used last is the last
	weed *time.Timer
}

// New returns a Transport that dials, rests and limits answers as next says, and leaves to next what is not for it.
func New(next *http.Transport) *Transport { return &Transport{next: next} }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !t.takes(req) {
		return t.next.RoundTrip(req)
	}
	c, err := t.connection(req.Context(), req.URL)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	return c.exchange(req)
}

// takes reports whether a request is sent here.
func (t *Transport) takes(req *http.Request) bool {
	if !tellsQuiet || req.URL.Scheme != "http" || req.ContentLength < 0 || req.ContentLength > maxBody ||
		slices.ContainsFunc([]byte(req.URL.Host), func(b byte) bool { return b >= 0x80 }) {
		return false
	}
	if t.next.Proxy == nil {
		return true
	}
	proxy, err := t.next.Proxy(req)
	return proxy == nil && err == nil
}

// connection is one that rests, or a new one.
func (t *Transport) connection(ctx context.Context, u *url.URL) (*conn, error) {
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "80")
	}
	for c := t.take(address); c != nil; c = t.take(address) {
		if c.quiet() {
			return c, nil
		}
		_ = c.Close() // the receiver has closed it
	}
	return t.dial(ctx, address)
}

func (t *Transport) take(address string) *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.idle) - 1; i >= 0; i-- {
		if c := t.idle[i]; c.address == address {
			t.idle = slices.Delete(t.idle, i, i+1)
			return c
		}
	}
	return nil
}

// rest keeps a connection for the next request.
func (t *Transport) rest(c *conn) {
	c.since = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) >= t.next.MaxIdleConns {
		_ = c.Close()
		return
	}
	t.idle = append(t.idle, c)
	if t.weed == nil {
		t.weed = time.AfterFunc(t.next.IdleConnTimeout, t.closeOld)
	}
}

// closeOld closes what has rested for too long, and comes back while anything rests.
func (t *Transport) closeOld() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.idle = slices.DeleteFunc(t.idle, func(c *conn) bool {
		old := now.Sub(c.since) >= t.next.IdleConnTimeout
		if old {
			_ = c.Close()
		}
		return old
	})
	if t.weed = nil; len(t.idle) > 0 {
		t.weed = time.AfterFunc(t.next.IdleConnTimeout, t.closeOld)
	}
}

// CloseIdleConnections closes all that rests, of next as well.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.idle {
		_ = c.Close()
	}
	t.idle = nil
	t.next.CloseIdleConnections()
}
