package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/webhook"
)

// strict is a receiver that follows draft-ietf-httpapi-idempotency-key-header: a key that comes again with another body
// is answered 422. The first answer of all is lost: what was taken is answered 503.
type strict struct {
	mu     sync.Mutex
	bodies map[string][]byte
	other  int
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	key := r.Header.Get("Idempotency-Key")
	known, again := s.bodies[key]
	switch {
	case again && !bytes.Equal(known, body):
		s.other++
		w.WriteHeader(http.StatusUnprocessableEntity)
	case !again:
		s.bodies[key] = body
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// TestTheSameKeyHasTheSameBody: whatever has changed since, an event is repeated with the very body that its
// Idempotency-Key had before: by the same owner or the next, in another batch, after another fetch, by a backfill.
func TestTheSameKeyHasTheSameBody(t *testing.T) {
	for _, format := range []change.Format{change.CloudEvents, change.RowChange, change.SQLTrigger, change.Row} {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d events", format, n), func(t *testing.T) {
				s := &strict{bodies: map[string][]byte{}}
				r := newReceiver(t, s.ServeHTTP)
				o := open(t, webhook.Config{URL: r.URL, Format: format, Single: n == 1})
				d := outputtest.Delivery(0, n)
				for i := range d.Events { // an integer's cursor
					d.Events[i].Undated = true
				}
				if err := o.Deliver(t.Context(), d); err == nil {
					t.Fatal("the first answer was to be lost")
				}
				d.Attempt, d.Number, d.Token, d.BatchID, d.Backfill = 2, d.Number+1, d.Token+1, "batch_again", "again"
				for i := range d.Events { // read again
					d.Events[i].Time, d.Events[i].Attempts, d.Events[i].Refused = time.Unix(1_800_000_000, 0), 1, true
				}
				if err := o.Deliver(t.Context(), d); err != nil || s.other > 0 {
					t.Errorf("a repetition: %v; %d with another body", err, s.other)
				}
				h := r.seen()[1].header
				if h.Get("Rowrelay-Attempt") != "2" || h.Get("Rowrelay-Batch-Id") != "batch_again" ||
					h.Get("Rowrelay-Backfill") != "again" {
					t.Errorf("what has changed is not in the headers: %v", h)
				}
			})
		}
	}
}
