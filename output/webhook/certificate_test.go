package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/tlstest"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/poller"
)

// A receiver that lets in only who shows a certificate that it trusts.
func TestClientCertificate(t *testing.T) {
	certificate := tlstest.Certificate("127.0.0.1")
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(leaf)

	shown := ""
	r := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		shown = q.TLS.PeerCertificates[0].Subject.CommonName + " over " + q.Proto
	}))
	r.TLS = &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12,
	}
	r.EnableHTTP2, r.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	r.StartTLS()
	t.Cleanup(r.Close)
	deliver := func(text string) error {
		o, err := New(Config{URL: r.URL, Format: change.CloudEvents, Certificate: text})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = o.Close() })
		if o.transport.TLSClientConfig == nil {
			o.transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		o.transport.TLSClientConfig.RootCAs = trusted
		if text == "" { // in TLS 1.3 the client is done before the refusal comes: what it then sees of it is chance
			o.transport.TLSClientConfig.MaxVersion = tls.VersionTLS12
		}
		return o.Deliver(t.Context(), outputtest.Delivery(0, 1))
	}
	if err := deliver(tlstest.PEM(certificate)); err != nil || shown != "rowrelay test over HTTP/2.0" {
		t.Errorf("%v: %q", err, shown)
	}
	shown = ""
	var failed *poller.DeliveryError
	if err := deliver(""); !errors.As(err, &failed) || shown != "" {
		t.Fatalf("without a certificate: %v", err)
	}
	if !strings.Contains(failed.Remedy, "output__client_certificate") {
		t.Errorf("%v: what to do is %q", failed, failed.Remedy)
	}
}
