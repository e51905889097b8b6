package webhook

import (
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
