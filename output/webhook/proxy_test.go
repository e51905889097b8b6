package webhook

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// TestAProxyRefuses: before a receiver with TLS it is the proxy that answers. The error says so, and what to do. Of the
// proxy's URL it has the host only.
func TestAProxyRefuses(t *testing.T) {
	for status, remedy := range map[int]string{
		http.StatusProxyAuthRequired: "user and password", http.StatusForbidden: "NO_PROXY"} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer proxy.Close()
		o, err := New(Config{URL: "https://receiver.example/", Format: change.CloudEvents, Concurrency: 1, Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		through, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		through.User = url.UserPassword("ann", "s3cret")
		o.transport.Proxy = http.ProxyURL(through)
		err = o.Deliver(t.Context(), change.Delivery{App: "shop", Poller: "orders",
			Events: []change.Event{{ID: "e1", Key: []byte(`{"id":1}`), Row: []byte(`{"id":1}`)}}})
		var failed *poller.DeliveryError
		if !errors.As(err, &failed) || failed.Failed[0].Cause != poller.Unavailable ||
			!strings.Contains(failed.Remedy, remedy) || strings.Contains(err.Error(), "s3cret") ||
			!strings.Contains(err.Error(), "the proxy "+through.Host+" answered ") {
			t.Errorf("%d: %v", status, err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}
