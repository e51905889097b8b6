package rabbitmq_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/tlstest"
	"github.com/rowrelay/rowrelay/output/rabbitmq"
	"github.com/rowrelay/rowrelay/poller"
)

// Attempts to connect that fail before AMQP begins leave nothing behind.
func TestFailedDialsLeaveNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() { // says what neither TLS nor AMQP understands
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = c.Read(make([]byte, 1000))
				_, _ = c.Write([]byte("AMQP\x00\x00\x09\x01"))
				_ = c.Close()
			}()
		}
	}()
	for _, u := range []string{"amqps://u:p@%s/?cacertfile=/none", "amqps://u:p@%s/", "amqp://u:p@%s/"} {
		o := open(t, rabbitmq.Config{URL: fmt.Sprintf(u, l.Addr())}, "q", nil)
		before := runtime.NumGoroutine()
		for range 20 {
			failed(t, o.Deliver(t.Context(), rows(0, 1)), poller.Unavailable, []int{0})
		}
		programtest.Until(t, "goroutines end: "+u, func() bool { return runtime.NumGoroutine() <= before+3 })
	}
}

func TestTLS(t *testing.T) {
	b := newBroker(t)
	b.queue(t, "q", nil)
	u, err := url.Parse(b.url)
	if err != nil {
		t.Fatal("the broker's URL")
	}
	plain := u.Host
	certificate := tlstest.Certificate("127.0.0.1")
	l, err := tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	p := &proxy{Listener: l, broker: plain}
	go p.serve()
	defer p.drop()
	u.Scheme, u.Host = "amqps", l.Addr().String()

	unknown := open(t, rabbitmq.Config{URL: u.String()}, b.queues[0], nil)
	failed(t, unknown.Deliver(t.Context(), rows(0, 2)), poller.Unavailable, []int{0, 1}, "certificate")
	u.RawQuery = "cacertfile=" + url.QueryEscape(tlstest.File(t, certificate))
	known := open(t, rabbitmq.Config{URL: u.String()}, b.queues[0], nil)
	d := rows(0, 200)
	deliver(t, known, d)
	if diff := cmp.Diff(ids(&d), b.ids(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	u.Host = strings.Replace(u.Host, "127.0.0.1", "localhost", 1) // which the certificate does not name
	other := open(t, rabbitmq.Config{URL: u.String()}, b.queues[0], nil)
	failed(t, other.Deliver(t.Context(), rows(0, 2)), poller.Unavailable, []int{0, 1}, "certificate")
}
