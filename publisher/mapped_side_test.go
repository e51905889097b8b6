package publisher_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// writeAs writes an event with an id of its own.
func (w *world) writeAs(id int, aggregate, payload string) {
	w.t.Helper()
	w.exec("INSERT INTO outbox (id, aggregate_type, aggregate_id, event_type, payload, idempotency_key) "+
		"VALUES (?, 'Order', ?, 'X', ?, ?)", id, aggregate, payload, "key-"+payload)
}

// spoiled are three events that stay in the side table: one failed, one is a dead letter, one was discarded.
func (w *world) spoiled() *publisher.Publisher {
	w.t.Helper()
	w.exec(w.seedTable())
	w.mapped()
	w.cfg.Policy.MaxAttempts = 2
	for i, payload := range []string{"discarded", "dead", "failed"} {
		w.broker.will(true, payload)
		w.writeAs(i+1, payload, payload)
	}
	p := w.open()
	n := 0
	w.until(p, "all are given up", func() bool {
		n++
		w.writeAs(100+n, "witness", fmt.Sprintf("witness-%d", n)) // that it is taken is evidence against the others
		return w.states(p)[event.Dead] == 3
	})
	f := event.Filter{Keys: []string{"key-discarded"}}
	if n, err := p.Discard(w.t.Context(), f, "me", nil); n != 1 || err != nil {
		w.t.Fatalf("discarded %d, %v", n, err)
	}
	w.exec("UPDATE rowrelay_claims_events SET state = 'FAILED', attempts = 1, next_attempt_at = (SELECT created_at FROM " +
		"outbox WHERE id = 3) WHERE event = '3'")
	return p
}

// TestReusedIDs: SQLite gives the id of the last row out again when that is deleted. What failed, was given up or
// discarded under that id says nothing of the new event.
func TestReusedIDs(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		p := w.spoiled()
		w.exec("DELETE FROM outbox")
		w.broker.will(true, "new-2")
		for id := 1; id <= 3; id++ {
			w.writeAs(id, fmt.Sprintf("new-%d", id), fmt.Sprintf("new-%d", id))
		}
		if diff := cmp.Diff(map[event.State]int{event.Pending: 3}, w.states(p)); diff != "" {
			t.Errorf("states of new events (-want +got):\n%s", diff)
		}
		w.tick(p)
		if got := append(w.broker.payloads("new-1"), w.broker.payloads("new-3")...); len(got) != 2 {
			t.Errorf("of the new events were taken %v", got)
		}
		n := 0
		w.until(p, "the new one that is refused is given up by its own attempts", func() bool {
			n++
			w.writeAs(200+n, "witness", fmt.Sprintf("later-%d", n))
			return w.states(p)[event.Dead] == 1
		})
		if got := w.listed(p, event.Filter{States: []event.State{event.Dead}}); !slices.Equal(got, []string{"new-2"}) {
			t.Errorf("dead letters: %v", got)
		}
	})
}

// TestEntriesOfRowsThatAreGone: they are removed although nothing waits for them.
func TestEntriesOfRowsThatAreGone(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.spoiled()
		w.exec("DELETE FROM outbox WHERE id <> 1")
		w.tick(w.open())
		if got := w.column("SELECT event FROM rowrelay_claims_events"); !slices.Equal(got, []string{"1"}) {
			t.Errorf("entries of rows that are there: %v", got)
		}
		w.exec("DELETE FROM outbox WHERE id = 1")
		w.tick(w.open())
		if n := w.count("SELECT COUNT(*) FROM rowrelay_claims_events"); n != 0 {
			t.Errorf("%d entries are left", n)
		}
	})
}
