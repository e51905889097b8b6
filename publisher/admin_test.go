package publisher_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// layouts runs a test on a table of `rowrelay outbox init` and on the seed's, on every engine.
func layouts(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	everyEngine(t, func(t *testing.T, w *world) {
		t.Run("own", func(t *testing.T) {
			w := *w
			w.t, w.cfg.Table, w.cfg.ClaimsTable = t, "own_outbox", "own_claims"
			w.broker = &broker{refuse: map[string]bool{}}
			w.cfg.Strategy = claims.Leader
			w.own()
			test(t, &w)
		})
		t.Run("mapped", func(t *testing.T) {
			w := *w
			w.t, w.broker = t, &broker{refuse: map[string]bool{}}
			w.exec(w.seedTable())
			w.mapped()
			test(t, &w)
		})
	})
}

func (w *world) write(aggregateType, aggregate, eventType, payload string) {
	w.t.Helper()
	w.exec("INSERT INTO "+w.cfg.Table+
		" (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES (?, ?, ?, ?, ?)",
		aggregateType, aggregate, eventType, payload, "key-"+payload)
}

// listed are the payloads of the events that a filter chooses, in order, by their idempotency keys.
func (w *world) listed(p *publisher.Publisher, f event.Filter) []string {
	w.t.Helper()
	list := []string{}
	err := p.List(w.t.Context(), f, func(e event.Entry) error {
		list = append(list, strings.TrimPrefix(e.IdempotencyKey, "key-"))
		return nil
	})
	if err != nil {
		w.t.Fatalf("list %+v: %v", f, err)
	}
	n, err := p.Count(w.t.Context(), f)
	if err != nil || int(n) != len(list) {
		w.t.Errorf("count %+v: %d, %v; listed are %d", f, n, err, len(list))
	}
	return list
}

func TestOperator(t *testing.T) {
	t.Parallel()
	layouts(t, func(t *testing.T, w *world) {
		for i := 1; i <= 4; i++ {
			w.write("Order", "a", "OrderPlaced", fmt.Sprintf("a%d", i))
		}
		w.write("Invoice", "c", "InvoiceSent", "c1")
		w.write("Invoice", "c", "InvoiceSent", "c2")
		w.broker.will(true, "a2")
		w.broker.will(true, "c1")
		p := w.open()
		witness := 0
		w.until(p, "both refused events are given up", func() bool {
			witness++
			w.write("Order", "b", "OrderPaid", fmt.Sprintf("b%d", witness))
			return w.states(p)[event.Dead] == 2
		})
		w.until(p, "nothing is left to publish", func() bool { return w.states(p)[event.Pending] == 0 })

		ids := map[string]string{}
		if err := p.List(t.Context(), event.Filter{}, func(e event.Entry) error {
			ids[strings.TrimPrefix(e.IdempotencyKey, "key-")] = e.ID
			if e.CreatedAt.IsZero() || time.Since(e.CreatedAt).Abs() > time.Hour {
				t.Errorf("%s was created at %s", e.ID, e.CreatedAt)
			}
			if e.State == event.Dead && (e.Attempts != 3 || e.LastError == "" || !e.NextAttempt.IsZero()) {
				t.Errorf("a dead letter: %+v", e)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		dead := []event.State{event.Dead}
		for _, c := range []struct {
			name string
			f    event.Filter
			want []string
		}{
			{"dead", event.Filter{States: dead}, []string{"a2", "c1"}},
			{"dead, one page of one", event.Filter{States: dead, Limit: 1}, []string{"a2"}},
			{"waiting", event.Filter{States: []event.State{event.Waiting}}, []string{"a3", "a4", "c2"}},
			{"waiting and dead", event.Filter{States: []event.State{event.Waiting, event.Dead}},
				[]string{"a2", "a3", "a4", "c1", "c2"}},
			{"dead of an aggregate", event.Filter{States: dead, Aggregate: "c"}, []string{"c1"}},
			{"a type of aggregates", event.Filter{AggregateType: "Invoice"}, []string{"c1", "c2"}},
			{"an aggregate", event.Filter{AggregateType: "Order", Aggregate: "a"}, []string{"a1", "a2", "a3", "a4"}},
			{"a type of events", event.Filter{EventType: "InvoiceSent"}, []string{"c1", "c2"}},
			{"an id", event.Filter{IDs: []string{ids["a3"]}}, []string{"a3"}},
			{"ids and keys", event.Filter{IDs: []string{ids["a3"], "no such"}, Keys: []string{"key-c1", "no such"}},
				[]string{"a3", "c1"}},
			{"a key is no id", event.Filter{IDs: []string{"key-c1"}}, []string{}},
			{"an id is no key", event.Filter{Keys: []string{ids["a3"]}}, []string{}},
			{"published", event.Filter{States: []event.State{event.Published}, Aggregate: "a"}, []string{"a1"}},
			{"older", event.Filter{States: dead, OlderThan: time.Hour}, []string{}},
			{"younger", event.Filter{States: dead, YoungerThan: time.Hour}, []string{"a2", "c1"}},
			{"younger, of years", event.Filter{States: dead, YoungerThan: 20000 * time.Hour}, []string{"a2", "c1"}},
		} {
			if got := w.listed(p, c.f); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
		stop := errors.New("enough")
		if err := p.List(t.Context(), event.Filter{}, func(event.Entry) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("List returned %v, not what its function did", err)
		}
		for _, f := range []event.Filter{{States: []event.State{"BROKEN"}}, {Limit: -1}, {IDs: []string{""}},
			{Keys: []string{"1", ""}}} {
			if _, err := p.Count(t.Context(), f); !errors.Is(err, poller.ErrConfig) {
				t.Errorf("%+v: %v", f, err)
			}
		}
		if _, err := p.Requeue(t.Context(), event.Filter{States: []event.State{event.Published}}, nil); !errors.Is(err,
			poller.ErrConfig) {
			t.Errorf("what was published could be requeued: %v", err)
		}

		// Discard one dead letter: its follower goes on.
		var told int64
		if n, err := p.Discard(t.Context(), event.Filter{States: dead, Aggregate: "c"}, "ann", func(n int64) {
			told = n
		}); n != 1 || told != 1 || err != nil {
			t.Fatalf("discarded %d (told %d), %v", n, told, err)
		}
		if err := p.List(t.Context(), event.Filter{States: []event.State{event.Discarded}}, func(e event.Entry) error {
			if !strings.Contains(e.LastError, "discarded by ann at 2") {
				t.Errorf("discarded: %q", e.LastError)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		// And one that only waits.
		if n, err := p.Discard(t.Context(), event.Filter{Keys: []string{"key-a3"}}, "ann", nil); n != 1 || err != nil {
			t.Fatalf("discarded %d, %v", n, err)
		}

		// Paused, nothing is published.
		if err := p.Pause(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		if about, err := p.About(t.Context()); err != nil || !strings.HasPrefix(about.Paused, "bob at 2") {
			t.Errorf("about: %+v, %v", about, err)
		}
		if partitions, _, err := p.Work(t.Context()); len(partitions) != 0 || err != nil {
			t.Errorf("work while paused: %v, %v", partitions, err)
		}
		if r := w.tick(p); len(w.broker.payloads("c")) != 0 {
			t.Errorf("a paused outbox published; the tick ended as %s", r.Event)
		}
		if err := p.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		if partitions, of, err := p.Work(t.Context()); !slices.Equal(partitions, []int{0}) || of != 1 || err != nil {
			t.Errorf("work: %v of %d, %v", partitions, of, err)
		}
		p2 := w.open() // the first has looked whether it is paused only just now
		w.until(p2, "what waited behind the discarded one is published", func() bool {
			return slices.Equal(w.broker.payloads("c"), []string{"c2"})
		})

		w.broker.will(false, "a2")
		if n, err := p.Requeue(t.Context(), event.Filter{Aggregate: "a"}, nil); n != 1 || err != nil {
			t.Fatalf("requeued %d, %v", n, err)
		}
		if got := w.listed(p, event.Filter{States: []event.State{event.Failed}}); !slices.Equal(got, []string{"a2"}) {
			t.Errorf("failed after the requeue: %v", got)
		}
		w.until(p2, "what was requeued is published, then its follower", func() bool {
			return w.states(p)[event.Waiting] == 0 && w.states(p)[event.Pending] == 0
		})
		if got := w.broker.payloads("a"); !slices.Equal(got, []string{"a1", "a2", "a4"}) {
			t.Errorf("taken: %v", got)
		}
	})
}

// TestKeysAreNoIDs: an idempotency key that looks like the number of a row, or holds a comma, is still only a key.
func TestKeysAreNoIDs(t *testing.T) {
	t.Parallel()
	layouts(t, func(t *testing.T, w *world) {
		insert := "INSERT INTO " + w.cfg.Table +
			" (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES ('Order', ?, 'X', '{}', ?)"
		w.exec(insert, "first", "k")
		p := w.open()
		id := ""
		if err := p.List(t.Context(), event.Filter{}, func(e event.Entry) error { id = e.ID; return nil }); err != nil {
			t.Fatal(err)
		}
		w.exec(insert, "twin", id)
		w.exec(insert, "comma", id+",7")
		for _, c := range []struct {
			f    event.Filter
			want []string
		}{
			{event.Filter{IDs: []string{id}}, []string{"first"}},
			{event.Filter{Keys: []string{id}}, []string{"twin"}},
			{event.Filter{Keys: []string{id + ",7"}}, []string{"comma"}},
			{event.Filter{IDs: []string{id + ",7"}}, nil},
			{event.Filter{IDs: []string{id}, Keys: []string{id}}, []string{"first", "twin"}},
		} {
			var got []string
			if err := p.List(t.Context(), c.f, func(e event.Entry) error {
				got = append(got, e.AggregateID)
				return nil
			}); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("ids %q, keys %q: %q, %v, want %q", c.f.IDs, c.f.Keys, got, err, c.want)
			}
		}
	})
}

// TestRequeueMany works in chunks, and in order.
func TestRequeueMany(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	layouts(t, func(t *testing.T, w *world) {
		const many = 2345
		w.fillDead(many)
		p := w.open()
		var steps []int64
		n, err := p.Requeue(t.Context(), event.Filter{}, func(n int64) { steps = append(steps, n) })
		if n != many || err != nil || !slices.Equal(steps, []int64{1000, 2000, many}) {
			t.Fatalf("requeued %d in steps %v, %v", n, steps, err)
		}
		if n, err := p.Discard(t.Context(), event.Filter{Limit: 1200}, "", nil); n != 1200 || err != nil {
			t.Fatalf("discarded %d, %v", n, err)
		}
		if s := w.states(p); s[event.Discarded] != 1200 || s[event.Failed] != many-1200 {
			t.Errorf("states: %v", s)
		}
	})
}

// fillDead writes n dead letters of as many aggregates.
func (w *world) fillDead(n int) {
	w.t.Helper()
	numbers := w.numbers(n)
	if w.cfg.Table == "outbox" {
		w.exec("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) " +
			"SELECT 'Order', " + w.text("n") + ", 'OrderPlaced', '{}', " + w.text("n") + " FROM " + numbers)
		about, err := w.open().About(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		w.exec("INSERT INTO rowrelay_claims_events (outbox, event, aggregate_type, aggregate_id, position, state, attempts) SELECT '" + about.Table +
			"', " + w.text("id") + ", aggregate_type, aggregate_id, " + w.padded("id") + ", 'DEAD LETTER', 3 FROM outbox")
		return
	}
	w.exec("INSERT INTO " + w.cfg.Table +
		" (aggregate_type, aggregate_id, event_type, payload, idempotency_key, state, retry_count) " +
		"SELECT 'Order', " + w.text("n") + ", 'OrderPlaced', '{}', " + w.text("n") + ", 'DEAD LETTER', 3 FROM " + numbers)
}

// numbers is a table expression of n from 1.
func (w *world) numbers(n int) string {
	switch w.engine {
	case "postgres":
		return fmt.Sprintf("generate_series(1, %d) AS n", n)
	case "mysql":
		const digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL " +
			"SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
		return fmt.Sprintf("(SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d AS n FROM "+
			strings.Repeat(digits+" %s CROSS JOIN ", 4)+digits+
			" %s HAVING n <= %d ORDER BY n) AS s", "a", "b", "c", "d", "e", n)
	default:
		return fmt.Sprintf("(WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) SELECT n FROM s)",
			n)
	}
}

func (w *world) text(expr string) string {
	if w.engine == "mysql" {
		return "CAST(" + expr + " AS CHAR)"
	}
	return "CAST(" + expr + " AS TEXT)"
}

func (w *world) padded(expr string) string {
	switch w.engine {
	case "postgres":
		return "'1' || lpad(CAST(" + expr + " AS text), 19, '0')"
	case "mysql":
		return "CONCAT('1', LPAD(" + expr + ", 19, '0'))"
	default:
		return "printf('1%019d', " + expr + ")"
	}
}
