package webhook

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// TestSeveralOfAKey: with output__several_per_key what follows a named event in its order key failed as well, whatever
// the receiver did with it; other order keys are not touched. Without it only what is named failed.
func TestSeveralOfAKey(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"batchItemFailures":[{"itemIdentifier":"1"}]}`))
	}))
	defer server.Close()
	d := change.Delivery{Poller: "orders"}
	for _, key := range []string{"a", "a", "b", "a", "b"} {
		d.Events = append(d.Events, change.Event{ID: "id-" + key, OrderKey: []byte(key), Row: []byte("{}")})
	}
	for several, want := range map[bool][]int{true: {1, 3}, false: {1}} {
		o, err := New(Config{URL: server.URL, Concurrency: 1, Several: several})
		if err != nil {
			t.Fatal(err)
		}
		var said *poller.DeliveryError
		if err := o.Deliver(t.Context(), d); !errors.As(err, &said) {
			t.Fatalf("got %v", err)
		}
		var failed []int
		for _, f := range said.Failed {
			failed = append(failed, f.Index)
		}
		if !slices.Equal(failed, want) || !said.Failed[0].Named || len(said.Failed) > 1 && said.Failed[1].Named {
			t.Errorf("several %v: %v failed, want %v", several, failed, want)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}
