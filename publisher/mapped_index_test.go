package publisher_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/publisher/event"
)

// pendingIndex is what docs/outbox-tables.md names for the pattern's own table.
func (w *world) pendingIndex() string {
	return map[string]string{
		"postgres": "CREATE INDEX outbox_pending ON outbox (id) WHERE NOT published",
		"mysql":    "CREATE INDEX outbox_pending ON outbox (published, id)",
		"sqlite":   "CREATE INDEX outbox_pending ON outbox (id) WHERE published = 0",
	}[w.engine]
}

// TestIndexOfAMappedTable: that no index holds the pending events in their order is said, with the columns of one. It
// may come and go while events are published, although statements name it.
func TestIndexOfAMappedTable(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.exec(w.seedTable())
		w.exec("CREATE INDEX idx_outbox_unpublished ON outbox (published, created_at)") // the pattern's, in another order
		w.mapped()
		warned := func() bool {
			about, err := w.open().About(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(strings.Join(about.Warnings, "\n"), "(published, id)")
		}
		if !warned() {
			t.Error("nothing is said of the index that is missing")
		}
		w.exec(w.pendingIndex())
		if warned() {
			t.Error("the index is there, and is asked for")
		}
		n := 0
		p := w.open()
		publish := func() {
			n++
			w.exec("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES (?, ?, ?, ?, ?)",
				"Order", "a", "OrderPlaced", fmt.Sprintf(`{"a":%d}`, n), fmt.Sprintf("key-%d", n))
			w.until(p, "the event is published", func() bool { return w.states(p)[event.Published] == n })
		}
		publish()
		w.exec("DROP INDEX outbox_pending" + map[string]string{"mysql": " ON outbox"}[w.engine])
		publish()
		w.exec(w.pendingIndex())
		publish()
	})
}
