package plainhttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"
)

// A connection that is there too late for its request serves the next one: of several addresses the first may be dead.
func TestDialedTooLate(t *testing.T) {
	for name, wrap := range map[string]func(*http.Transport) http.RoundTripper{
		"net/http":  func(next *http.Transport) http.RoundTripper { return next },
		"plainhttp": func(next *http.Transport) http.RoundTripper { return New(next) },
	} {
		t.Run(name, func(t *testing.T) {
			s := listen(t, always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
			next := transport()
			ctx, cancel := context.WithCancel(t.Context())
			dial, gone := next.DialContext, make(chan struct{})
			next.DialContext = func(to context.Context, network, address string) (net.Conn, error) {
				if ctx.Err() != nil {
					return nil, errors.New("dialed again")
				}
				cancel()
				<-gone // else the request might still take the connection, and break it off
				return dial(to, network, address)
			}
			through := wrap(next)
			defer through.(interface{ CloseIdleConnections() }).CloseIdleConnections()
			if got := post(ctx, through, "http://"+s.Addr().String()); got != "no answer" {
				t.Error(got)
			}
			close(gone)
			soon, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			for post(soon, through, "http://"+s.Addr().String()) != `200 OK, "ok"` { // not there yet
				if runtime.Gosched(); soon.Err() != nil {
					t.Fatal("the connection serves nobody")
				}
			}
		})
	}
}
