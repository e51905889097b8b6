package plainhttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiver is a server that writes bytes, and not what net/http makes of an answer.
type receiver struct {
	net.Listener

	mu      sync.Mutex
	accepts int
}

// listen starts a server. serve gets each connection, and its number from 1 on.
func listen(t *testing.T, serve func(n int, c net.Conn, r *bufio.Reader)) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &receiver{Listener: l}
	var running sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.accepts++
			n := s.accepts
			s.mu.Unlock()
			running.Go(func() {
				defer func() { _ = c.Close() }()
				serve(n, c, bufio.NewReader(c))
			})
		}
	})
	return s
}

func (s *receiver) accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepts
}

// request reads one, body included. It fails when the client has closed the connection.
func request(r *bufio.Reader) error {
	req, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}

// always answers every request with the same bytes.
func always(text string) func(int, net.Conn, *bufio.Reader) {
	return func(_ int, c net.Conn, r *bufio.Reader) {
		for request(r) == nil {
			_, _ = io.WriteString(c, text)
		}
	}
}

// once answers one request of a connection, and closes it without having said so.
func once(text string) func(int, net.Conn, *bufio.Reader) {
	return func(_ int, c net.Conn, r *bufio.Reader) {
		if request(r) == nil {
			_, _ = io.WriteString(c, text)
		}
	}
}

func transport() *http.Transport {
	return &http.Transport{
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, MaxIdleConns: 8, MaxIdleConnsPerHost: 8,
		IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 4 << 10,
	}
}

// post sends a body and reads the answer. Its text is what became of it; errors are only said to be some.
func post(ctx context.Context, through http.RoundTripper, to string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(`{"id":1}`))
	if err != nil {
		return err.Error()
	}
	resp, err := through.RoundTrip(req)
	if err != nil {
		return "no answer"
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		return resp.Status
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return fmt.Sprintf("%s, cut after %q", resp.Status, text)
	}
	return fmt.Sprintf("%s, %q", resp.Status, text)
}

const hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

// What a receiver's bytes mean is what they mean to net/http, and so is whether its connection is used again.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		serve   func(int, net.Conn, *bufio.Reader)
		want    string
		accepts int // for three requests
	}{
		"length":    {always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), `200 OK, "ok"`, 1},
		"no body":   {always("HTTP/1.1 204 No Content\r\n\r\n"), `204 No Content, ""`, 1},
		"empty":     {always("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"), `202 Accepted, ""`, 1},
		"chunks":    {always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), `200 OK, "ok"`, 1},
		"error":     {always("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"), `503 Busy, "busy"`, 1},
		"announced": {always(hints + hints + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), `200 OK, "ok"`, 1},
		"announced for ever": {always(strings.Repeat(hints, 200) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
			"no answer", 3},
		"closes":      {once("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), `200 OK, "ok"`, 3},
		"until end":   {once("HTTP/1.1 200 OK\r\n\r\nok"), `200 OK, "ok"`, 3},
		"old":         {once("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"), `200 OK, "ok"`, 3},
		"old, kept":   {always("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"), `200 OK, "ok"`, 1},
		"switches":    {once("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"), "101 Switching Protocols", 3},
		"nothing":     {once(""), "no answer", 3},
		"half a head": {once("HTTP/1.1 200 OK\r\nContent-Le"), "no answer", 3},
		"half a body": {once("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok"), `200 OK, cut after "ok"`, 3},
		"half a chunk": {once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"),
			`200 OK, cut after "ok"`, 3},
		"below 100":   {once("HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n"), `099 Odd, ""`, 3},
		"no HTTP":     {once("220 mail.example.org ESMTP\r\n\r\n"), "no answer", 3},
		"a long head": {once("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 16<<10) + "\r\n\r\n"), "no answer", 3},
		"two lengths": {once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\nok"), "no answer", 3},
	} {
		for _, by := range []struct {
			name    string
			through http.RoundTripper
		}{{"net/http", transport()}, {"plainhttp", New(transport())}} {
			t.Run(name+" by "+by.name, func(t *testing.T) {
				s := listen(t, c.serve)
				defer by.through.(interface{ CloseIdleConnections() }).CloseIdleConnections()
				for range 3 {
					if got := post(t.Context(), by.through, "http://"+s.Addr().String()+"/hook"); got != c.want {
						t.Errorf("%s, not %s", got, c.want)
					}
				}
				if n := s.accepted(); n != c.accepts {
					t.Errorf("%d connections, not %d", n, c.accepts)
				}
			})
		}
	}
}

// A connection that its receiver closed, or wrote to, while nobody asked is not used again: the request would be lost
// with it, or have the answer to another.
func TestRestingConnections(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, after := range map[string]func(c net.Conn){
		"closed": func(c net.Conn) { _ = c.Close() },
		"written to": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			read, done := make(chan struct{}), make(chan struct{})
			s := listen(t, func(n int, c net.Conn, r *bufio.Reader) {
				for request(r) == nil {
					_, _ = io.WriteString(c, ok)
					if n == 1 {
						<-read
						after(c)
						close(done)
					}
				}
			})
			through := New(transport())
			defer through.CloseIdleConnections()
			to := "http://" + s.Addr().String()
			first := post(t.Context(), through, to)
			close(read)
			<-done
			if second := post(t.Context(), through, to); first != `200 OK, "ok"` || second != first || s.accepted() != 2 {
				t.Errorf("%s, then %s, over %d connections", first, second, s.accepted())
			}
		})
	}
}

// What is not read of an answer must not be taken for the next one.
func TestUnreadBodies(t *testing.T) {
	s := listen(t, always("HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\n0123456789"))
	through := New(transport())
	defer through.CloseIdleConnections()
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Addr().String(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := through.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, 3); err != nil {
			t.Error(err)
		}
		_ = resp.Body.Close()
	}
	if n := s.accepted(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// A request ends with its context wherever it is, and says why.
func TestCancelled(t *testing.T) {
	for name, answer := range map[string]string{
		"no answer": "", "half a head": "HTTP/1.1 200 OK\r\n", "a body without end": "HTTP/1.1 200 OK\r\n\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{})
			s := listen(t, func(_ int, c net.Conn, r *bufio.Reader) {
				if request(r) == nil {
					_, _ = io.WriteString(c, answer)
					close(asked)
					_, _ = r.ReadByte() // until the client has gone
				}
			})
			through := New(transport())
			defer through.CloseIdleConnections()
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("the lease is lost")
			go func() { <-asked; cancel(stop) }()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Addr().String(), strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := through.RoundTrip(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if !errors.Is(err, stop) {
				t.Error(err)
			}
		})
	}
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		through := New(transport())
		if got := post(ctx, through, "http://192.0.2.1"); got != "no answer" {
			t.Error(got)
		}
	})
}

// What net/http does better goes to it.
func TestLeftToNetHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	proxy, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url   string
		body  io.Reader
		proxy func(*http.Request) (*url.URL, error)
		left  bool
	}{
		"small":          {url: server.URL, body: strings.NewReader("x")},
		"no body":        {url: server.URL},
		"no proxy":       {url: server.URL, proxy: func(*http.Request) (*url.URL, error) { return nil, nil }}, //nolint:nilnil // as http.Transport has it
		"large":          {url: server.URL, body: bytes.NewReader(make([]byte, maxBody+1)), left: true},
		"unknown length": {url: server.URL, body: io.LimitReader(strings.NewReader("x"), 1), left: true},
		"proxy":          {url: "http://receiver.example/hook", proxy: http.ProxyURL(proxy), left: true},
	} {
		t.Run(name, func(t *testing.T) {
			next := transport()
			next.Proxy = c.proxy
			through := New(next)
			defer through.CloseIdleConnections()
			left, wrote := false, false
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn:      func(httptrace.GotConnInfo) { left = true },
				WroteRequest: func(httptrace.WroteRequestInfo) { wrote = true },
			})
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, c.body)
			if err != nil {
				t.Fatal(err)
			}
			if _, unknown := c.body.(*io.LimitedReader); unknown {
				req.ContentLength = -1
			}
			resp, err := through.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK || left != c.left || !wrote {
				t.Errorf("%s, by net/http %v, written %v", resp.Status, left, wrote)
			}
		})
	}
	for to, want := range map[string]bool{"https://receiver.example": false, "http://empfänger.example": false,
		"http://receiver.example": true, "http://[::1]:80/": true} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if got := New(transport()).takes(req); got != want {
			t.Errorf("%s: taken %v", to, got)
		}
	}
}

// Requests at once have a connection each; together no more than they need.
func TestAtOnce(t *testing.T) {
	s := listen(t, always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	through := New(transport())
	defer through.CloseIdleConnections()
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 50 {
				if got := post(t.Context(), through, "http://"+s.Addr().String()); got != `200 OK, "ok"` {
					t.Error(got)
				}
			}
		})
	}
	running.Wait()
	if n := s.accepted(); n > 8 {
		t.Errorf("%d connections", n)
	}
}

// A connection does not rest for ever, and not more of them than are wanted.
func TestIdleConnectionsAreClosed(t *testing.T) {
	for name, c := range map[string]struct {
		most int
		rest time.Duration
	}{"after a time": {1, time.Millisecond}, "above the number": {0, time.Hour}} {
		t.Run(name, func(t *testing.T) {
			gone := make(chan error, 1)
			s := listen(t, func(_ int, c net.Conn, r *bufio.Reader) {
				if request(r) == nil {
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
				_, err := r.ReadByte()
				gone <- err
			})
			next := transport()
			next.MaxIdleConns, next.IdleConnTimeout = c.most, c.rest
			through := New(next)
			if got := post(t.Context(), through, "http://"+s.Addr().String()); got != `200 OK, "ok"` {
				t.Error(got)
			}
			if err := <-gone; !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		})
	}
}
