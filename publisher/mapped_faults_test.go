package publisher_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// TestMappedRefusals: what cannot work is said before anything is published, with the mend.
func TestMappedRefusals(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		refused := func(what string, parts ...string) {
			t.Helper()
			_, err := w.open().About(t.Context())
			if !errors.Is(err, poller.ErrConfig) {
				t.Errorf("%s: %v", what, err)
				return
			}
			for _, part := range parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %q does not say %q", what, err, part)
				}
			}
		}
		refused("no table at all", "outbox")
		w.exec(w.seedTable())
		have, err := publisher.MappedDDL(w.engine, w.cfg.Table, w.cfg.ClaimsTable)
		w.initialise(have[:1], err)
		refused("no side table", "rowrelay_claims_events", "rowrelay outbox init")
		w.mapped()
		w.cfg.Strategy = claims.SkipLocked
		refused("a strategy that needs our columns", "source__strategy=skip_locked", "leader")
		w.cfg.Strategy, w.cfg.Map = "", map[string]string{"payload": "body"}
		refused("a column that is not there", "source__map__payload=body", "idempotency_key")
		w.cfg.Map = map[string]string{"id": "retry_count"}
		refused("an id that two events may have", "source__map__id", "retry_count", "create a unique index")
	})
}

// TestIDsOfSeveralRows: an index is no proof of an id where statements hold equal what it tells apart. The mark of one
// event would be that of another as well, which would never be sent.
func TestIDsOfSeveralRows(t *testing.T) {
	t.Parallel()
	const columns = ", seq bigint NOT NULL, aggregate_id varchar(9), payload text, published boolean NOT NULL"
	tables := map[string]map[string][]string{
		"sqlite": {
			"no primary key and no unique index": {"CREATE TABLE outbox (id text COLLATE nocase NOT NULL" + columns +
				", UNIQUE (id COLLATE binary))"},
			"its primary key holds texts": {"CREATE TABLE outbox (id text COLLATE nocase NOT NULL" + columns +
				", PRIMARY KEY (id COLLATE binary))"},
		},
		"postgres": {
			"older inherits from it": {"CREATE TABLE outbox (id bigint PRIMARY KEY" + columns + ")",
				"CREATE TABLE older () INHERITS (outbox)"},
		},
	}
	everyEngine(t, func(t *testing.T, w *world) {
		if w.engine == "postgres" {
			w.own()
			w.exec("CREATE TABLE older () INHERITS (outbox)")
			if _, err := w.open().About(t.Context()); !errors.Is(err, poller.ErrConfig) ||
				!strings.Contains(err.Error(), "older inherits from it") {
				t.Errorf("a table of rowrelay outbox init: %v", err)
			}
			w.exec("DROP TABLE older, outbox")
		}
		for want, ddl := range tables[w.engine] {
			for _, statement := range ddl {
				w.exec(statement)
			}
			w.mapped()
			if _, err := w.open().About(t.Context()); !errors.Is(err, poller.ErrConfig) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", ddl, err, want)
			}
			w.exec("DROP TABLE IF EXISTS older")
			w.exec("DROP TABLE outbox")
		}
	})
}

// TestLongIDs: an id that the table of failed events cannot hold would make its failure impossible to note, and
// everything settled with it would be published again and again. Such a column is refused where ids have a bound.
func TestLongIDs(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.exec("CREATE TABLE outbox (id varchar(300) PRIMARY KEY NOT NULL, seq bigint NOT NULL, aggregate_id varchar(255) NOT NULL, " +
			"payload text NOT NULL, published boolean NOT NULL DEFAULT FALSE)")
		w.mapped()
		p := w.open()
		_, err := p.About(t.Context())
		if w.engine == "mysql" {
			if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "varchar(300)") {
				t.Errorf("an id that does not fit: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		insert := func(id, aggregate, payload string) {
			w.exec("INSERT INTO outbox (id, seq, aggregate_id, payload) SELECT ?, COUNT(*), ?, ? FROM outbox", id, aggregate, payload)
		}
		w.broker.will(true, "bad")
		insert(strings.Repeat("x", 300), "a", "bad")
		n := 0
		w.until(p, "the refused event is given up", func() bool {
			n++
			insert(fmt.Sprint(n), "b", fmt.Sprint(n))
			return w.states(p)[event.Dead] == 1
		})
	})
}

// TestLongAggregates: the ids of aggregates may be longer than what an index of the side table takes. One that failed
// keeps its own later events waiting, and not those of another that begins as it does.
func TestLongAggregates(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.exec(strings.ReplaceAll(w.seedTable(), "aggregate_id    VARCHAR(255)", "aggregate_id    TEXT"))
		w.mapped()
		random := rand.NewChaCha8([32]byte{1})
		noise := make([]byte, 2500)
		_, _ = random.Read(noise)
		long := hex.EncodeToString(noise)
		first, second := long+"1", long+"2"
		w.broker.will(true, "a1")
		w.write("Order", first, "X", "a1")
		w.write("Order", first, "X", "a2")
		p, n := w.open(), 0
		w.until(p, "the refused event is given up", func() bool {
			n++
			w.write("Order", second, "X", fmt.Sprintf("b%d", n))
			return w.states(p)[event.Dead] == 1
		})
		w.until(p, "the other aggregate is published", func() bool { return w.states(p)[event.Pending] == 0 })
		if got := w.states(p); got[event.Waiting] != 1 || got[event.Published] != n {
			t.Errorf("states: %v, want one that waits and %d published", got, n)
		}
		w.broker.will(false, "a1")
		if n, err := p.Requeue(t.Context(), event.Filter{Aggregate: first}, nil); n != 1 || err != nil {
			t.Fatalf("requeued %d, %v", n, err)
		}
		w.until(p, "it goes on", func() bool { return w.states(p)[event.Published] == n+2 })
		if got := w.broker.payloads(first); !slices.Equal(got, []string{"a1", "a2"}) {
			t.Errorf("taken: %v", got)
		}
	})
}

// TestMarkedByHand: an event that failed and was then published by somebody else, or deleted, keeps nobody waiting.
func TestMarkedByHand(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.exec(w.seedTable())
		w.mapped()
		w.broker.will(true, "a1")
		w.broker.will(true, "c1")
		for _, aggregate := range []string{"a", "c"} {
			for i := 1; i <= 3; i++ {
				w.write("Order", aggregate, "X", fmt.Sprintf("%s%d", aggregate, i))
			}
		}
		p := w.open()
		n := 0
		w.until(p, "both are given up", func() bool {
			n++
			w.write("Order", "b", "X", fmt.Sprintf("b%d", n))
			return w.states(p)[event.Dead] == 2
		})
		w.exec("UPDATE outbox SET published = TRUE WHERE payload = 'a1'")
		w.exec("DELETE FROM outbox WHERE payload = 'c1'")
		w.until(w.open(), "what waited is published", func() bool {
			return w.count("SELECT COUNT(*) FROM outbox WHERE NOT published") == 0
		})
		if a, c := w.broker.payloads("a"),
			w.broker.payloads("c"); !slices.Equal(a, []string{"a2", "a3"}) || !slices.Equal(c, []string{"c2", "c3"}) {
			t.Errorf("taken: %v, %v", a, c)
		}
		w.until(p, "nothing is left of it", func() bool {
			return w.count("SELECT COUNT(*) FROM rowrelay_claims_events") == 0
		})
	})
}

// TestOperatorsBesidePublishers: requeueing and discarding while two instances publish, and a quarter of the events
// is refused now and then, neither loses an event nor lets one overtake another of its aggregate.
func TestOperatorsBesidePublishers(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	layouts(t, func(t *testing.T, w *world) {
		const aggregates, each = 8, 12
		want := map[string][]string{}
		for i := 1; i <= each; i++ {
			for a := range aggregates {
				name, payload := fmt.Sprintf("agg%d", a), fmt.Sprintf("agg%d-%02d", a, i)
				w.write("Order", name, "X", payload)
				want[name] = append(want[name], payload)
				if (i+a)%4 == 0 {
					w.broker.will(true, payload)
				}
			}
		}
		deadline := time.Now().Add(programtest.Patience)
		operator := w.open()
		done := make(chan struct{})
		var instances sync.WaitGroup
		for range 2 {
			p := w.open()
			instances.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						w.tick(p)
					}
				}
			})
		}
		for healed := false; ; {
			if _, err := operator.Requeue(t.Context(), event.Filter{}, nil); err != nil {
				t.Errorf("requeue: %v", err)
				break
			}
			s := w.states(operator)
			if s[event.Published] == aggregates*each {
				break
			}
			if !healed && s[event.Waiting] > 0 {
				healed = true
				for _, payloads := range want {
					for _, payload := range payloads {
						w.broker.will(false, payload)
					}
				}
			}
			if time.Now().After(deadline) {
				t.Errorf("not all are published: %v", s)
				break
			}
		}
		close(done)
		instances.Wait()
		for name, payloads := range want {
			if got := w.broker.payloads(name); !slices.Equal(got, payloads) {
				t.Errorf("%s: %v", name, got)
			}
		}
	})
}

// TestOnlyTheFirstFailedOne: of several failed events of an aggregate (dead letters that did not block, requeued
// together), the later ones wait for the first.
func TestOnlyTheFirstFailedOne(t *testing.T) {
	t.Parallel()
	layouts(t, func(t *testing.T, w *world) {
		w.cfg.Policy.Block = false
		w.broker.will(true, "a1")
		w.broker.will(true, "a2")
		w.write("Order", "a", "X", "a1")
		w.write("Order", "a", "X", "a2")
		n := 0
		witness := func() {
			n++
			w.write("Order", "b", "X", fmt.Sprintf("b%d", n))
		}
		p := w.open()
		w.until(p, "both are given up", func() bool { witness(); return w.states(p)[event.Dead] == 2 })

		w.broker.will(false, "a2")
		w.cfg.Policy.Delays = []time.Duration{time.Hour}
		later := w.open()
		if n, err := later.Requeue(t.Context(), event.Filter{}, nil); n != 2 || err != nil {
			t.Fatalf("requeued %d, %v", n, err)
		}
		w.until(later, "the first has failed again", func() bool {
			witness()
			again := false
			if err := later.List(t.Context(), event.Filter{States: []event.State{event.Failed}}, func(e event.Entry) error {
				again = again || e.Attempts == 1
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return again
		})
		for range 3 {
			witness()
			w.tick(later)
		}
		if got := w.broker.payloads("a"); len(got) > 0 {
			t.Errorf("%v was taken before the first", got)
		}
	})
}

// TestReasonsThatNoDatabaseTakes: what a receiver answers may hold bytes that are no text.
func TestReasonsThatNoDatabaseTakes(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.exec(w.seedTable())
		w.mapped()
		w.broker.answer = "422 refused: \x00\xff"
		w.broker.will(true, "a1")
		for _, aggregate := range []string{"a", "b"} {
			w.write("Order", aggregate, "X", aggregate+"1")
		}
		p := w.open()
		if r := w.tick(p); r.Event != poller.TickComplete {
			t.Fatalf("%s: %v", r.Event, r.Err)
		}
		if states := w.states(p); states[event.Failed] != 1 || len(w.broker.payloads("b")) != 1 {
			t.Errorf("%v, %v", states, w.broker.all())
		}
	})
}
