package webhook

import (
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// TestAnAnswerCanBeLeftOut: what a receiver says of a row is in the error for the log, marked, so that the status page
// leaves it out.
func TestAnAnswerCanBeLeftOut(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"a status": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte("customer 4711 is unknown"))
		},
		"a name in batchItemFailures": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"batchItemFailures":[{"itemIdentifier":"customer 4711"}]}`))
		},
	} {
		receiver := httptest.NewServer(answer)
		o, err := New(Config{URL: receiver.URL, Format: change.CloudEvents, Concurrency: 1, Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		err = o.Deliver(t.Context(), change.Delivery{App: "shop", Poller: "orders",
			Events: []change.Event{{ID: "e1", Key: []byte(`{"id":1}`), Row: []byte(`{"id":1}`)}}})
		if err == nil || !strings.Contains(err.Error(), "4711") {
			t.Fatalf("%s: the log lacks the answer: %v", name, err)
		}
		if text := poller.WithoutAnswers(err.Error()); strings.Contains(text, "4711") ||
			!strings.Contains(text, receiver.URL+" answered ") {
			t.Errorf("%s: %s", name, text)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		receiver.Close()
	}
}

// TestCompressedAnswer: a receiver may compress although nobody asked: net/http asks, package plainhttp does not. Its
// connection is used again.
func TestCompressedAnswer(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"without TLS": (*httptest.Server).Start, "with TLS": (*httptest.Server).StartTLS,
	} {
		var peers []string
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			peers = append(peers, r.RemoteAddr)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write([]byte(`{"batchItemFailures":[{"itemIdentifier":1}]}`))
			_ = z.Close()
		}))
		start(s)
		o, err := New(Config{URL: s.URL, Format: change.CloudEvents, Concurrency: 1, Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		o.transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig
		for range 2 {
			err := o.Deliver(t.Context(), change.Delivery{App: "shop", Poller: "orders",
				Events: []change.Event{{ID: "e1", Key: []byte(`{"id":1}`)}, {ID: "e2", Key: []byte(`{"id":2}`)}}})
			var failed *poller.DeliveryError
			if !errors.As(err, &failed) || len(failed.Failed) != 1 || failed.Failed[0].Index != 1 {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		s.Close()
		if len(peers) != 2 || peers[0] != peers[1] {
			t.Errorf("%s: connections from %v", name, peers)
		}
	}
}
