package publisher_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// TestMappedSourceOrder: under ordering=source nothing of a mapped table comes before a failed event, which is tried
// again when it is due, and everything behind it follows in order.
func TestMappedSourceOrder(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.cfg.Strategy, w.cfg.Ordering = claims.Leader, poller.OrderSource
		w.cfg.Policy.Delays = []time.Duration{300 * time.Millisecond}
		w.exec(w.seedTable())
		w.mapped()
		payloads := []string{"1", "2", "3"}
		for i, payload := range payloads {
			w.exec("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES ('A', ?, 'E', ?, ?)",
				[]string{"x", "y", "x"}[i], payload, "key-"+payload)
		}
		p := w.open()
		w.broker.will(true, "1")
		w.until(p, "a failure", func() bool { return w.states(p)[event.Failed] == 1 })
		w.broker.will(false, "1")
		w.until(p, "everything is published", func() bool { return len(w.broker.all()) == len(payloads) })
		w.until(p, "everything is marked", func() bool {
			return w.count("SELECT COUNT(*) FROM outbox WHERE published") == len(payloads)
		})
		// An event that served as the witness against the failed one comes again, at its place.
		var got []string
		for _, o := range w.broker.taken {
			payload := string(o.Payload)
			got = append(slices.DeleteFunc(got, func(p string) bool { return p == payload }), payload)
		}
		if !slices.Equal(got, payloads) {
			t.Errorf("last accepted in the order %v, want %v", got, payloads)
		}
	})
}
