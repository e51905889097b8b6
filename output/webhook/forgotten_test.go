package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/outputtest"
)

// TestForgottenConnection: a firewall forgets a connection over HTTP/2, on which nothing arrives from then on. Its
// pings find that out, and requests go by a new one.
func TestForgottenConnection(t *testing.T) {
	r := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if q.ProtoMajor != 2 {
			t.Error(q.Proto)
		}
	}))
	r.EnableHTTP2 = true
	r.StartTLS()
	t.Cleanup(r.Close)
	o, err := New(Config{URL: r.URL, Format: change.CloudEvents})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	roots := x509.NewCertPool()
	roots.AddCert(r.Certificate())
	o.transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if o.transport.HTTP2 == nil || o.transport.HTTP2.SendPingTimeout == 0 {
		t.Fatal("a connection that is lost is never found out")
	}
	o.transport.HTTP2.SendPingTimeout, o.transport.HTTP2.PingTimeout = 100*time.Millisecond, 100*time.Millisecond
	var all []*forgettable
	dial := o.transport.DialContext
	o.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		all = append(all, &forgettable{Conn: conn})
		return all[len(all)-1], nil
	}
	if err := o.Deliver(t.Context(), outputtest.Delivery(0, 1)); err != nil || len(all) != 1 {
		t.Fatal(len(all), err)
	}
	all[0].forgotten.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := o.Deliver(ctx, outputtest.Delivery(0, 1)); err == nil || strings.Contains(err.Error(), "deadline") {
		t.Errorf("the connection was not given up: %v", err)
	}
	if err := o.Deliver(t.Context(), outputtest.Delivery(0, 1)); err != nil || len(all) != 2 {
		t.Error(len(all), err)
	}
}

// forgettable is a connection on which nothing is sent any more once it is forgotten.
type forgettable struct {
	net.Conn
	forgotten atomic.Bool
}

func (f *forgettable) Write(b []byte) (int, error) {
	if f.forgotten.Load() {
		return len(b), nil
	}
	return f.Conn.Write(b)
}
