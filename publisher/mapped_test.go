package publisher_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// TestSeedTable publishes from the seed's table as it stands: a refused event is tried again, given up, and keeps the
// later ones of its aggregate waiting until an operator acts, while the others flow.
func TestSeedTable(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.exec(w.seedTable())
		w.mapped()
		n := 0
		insert := func(aggregate, payload string) {
			n++
			w.exec("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES (?, ?, ?, ?, ?)",
				"Order", aggregate, "OrderPlaced", payload, fmt.Sprintf("key-%d", n))
		}
		for i := 1; i <= 5; i++ {
			insert("a", fmt.Sprintf(`{"a":%d}`, i))
		}
		w.broker.will(true, `{"a":2}`)
		p := w.open()
		witness := 0
		w.until(p, "the refused event is given up", func() bool {
			witness++
			insert("b", fmt.Sprintf(`{"b":%d}`, witness))
			return w.states(p)[event.Dead] == 1
		})
		w.until(p, "the other aggregate is published", func() bool { return w.states(p)[event.Pending] == 0 })
		if got, want := w.states(p), (map[event.State]int{event.Published: 1 + witness, event.Dead: 1,
			event.Waiting: 3}); !cmp.Equal(got, want) {
			t.Errorf("states: %v, want %v", got, want)
		}
		if got := w.column("SELECT retry_count FROM outbox WHERE payload = ?", `{"a":2}`); !slices.Equal(got, []string{"3"}) {
			t.Errorf("retry_count is %v, want 3", got)
		}
		if got := w.broker.payloads("a"); !slices.Equal(got, []string{`{"a":1}`}) {
			t.Errorf("taken before the requeue: %v", got)
		}
		about, err := p.About(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if f := about.Figures; about.Layout != "mapped" || about.Strategy != claims.Leader || f.Dead != 1 || f.Waiting != 3 ||
			f.Pending != 0 {
			t.Errorf("about: %+v", about)
		}

		w.broker.will(false, `{"a":2}`)
		if n, err := p.Requeue(t.Context(), event.Filter{}, nil); n != 1 || err != nil {
			t.Fatalf("requeued %d, %v", n, err)
		}
		w.until(p, "everything is published", func() bool { return w.states(p)[event.Published] == 5+witness })
		if got, want := w.broker.payloads("a"),
			[]string{`{"a":1}`, `{"a":2}`, `{"a":3}`, `{"a":4}`, `{"a":5}`}; !slices.Equal(got, want) {
			t.Errorf("taken: %v, want %v", got, want)
		}
		if n := w.count("SELECT COUNT(*) FROM outbox WHERE published_at IS NULL"); n != 0 {
			t.Errorf("%d rows have no published_at", n)
		}
		if n := w.count("SELECT COUNT(*) FROM rowrelay_claims_events"); n != 0 {
			t.Errorf("%d entries are left in the side table", n)
		}
		if o := w.broker.all()[0]; o.AggregateType != "Order" || o.EventType != "OrderPlaced" || o.IdempotencyKey == "" ||
			o.CreatedAt.IsZero() || !o.JSON {
			t.Errorf("an event: %+v", o)
		}
	})
}

// TestMappedTables publishes from tables that others made.
func TestMappedTables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		table   map[string]string // by engine
		mapping map[string]string
		insert  string // parameters: n, aggregate, payload
		left    string // rows that are not published
		ordered bool
	}{
		{
			name: "text state, no aggregate (CAP)",
			table: map[string]string{
				"postgres": `CREATE TABLE "outbox" ("Id" BIGINT PRIMARY KEY NOT NULL, "Version" VARCHAR(20) NOT NULL, "Name" VARCHAR(200) NOT NULL, "Content" TEXT NULL,
					"Retries" INT NOT NULL, "Added" TIMESTAMP NOT NULL, "ExpiresAt" TIMESTAMP NULL, "StatusName" VARCHAR(50) NOT ` +
					`NULL)`,
				"": "CREATE TABLE outbox (`Id` BIGINT PRIMARY KEY NOT NULL, `Version` VARCHAR(20) NOT NULL, `Name` VARCHAR(200) NOT NULL, `Content` LONGTEXT NULL, " +
					"`Retries` INT NOT NULL, `Added` DATETIME NOT NULL, `ExpiresAt` DATETIME NULL, `StatusName` VARCHAR(50) NOT NULL)",
			},
			mapping: map[string]string{
				"id": "Id", "aggregate_id": "none", "aggregate_type": "none", "event_type": "Name", "payload": "Content",
				"created_at": "Added",
				"attempts":   "Retries", "state": "StatusName", "pending": "Scheduled", "done": "Succeeded",
			},
			insert: `INSERT INTO outbox ("Id", "Version", "Name", "Content", "Retries", "Added", "StatusName") SELECT ?, 'v1', ?, ?, 0, '2026-01-01 00:00:00', 'Scheduled'`,
			left:   `SELECT COUNT(*) FROM outbox WHERE "StatusName" <> 'Succeeded'`,
		},
		{
			name: "rows are deleted (MassTransit, Debezium)",
			table: map[string]string{
				"postgres": "CREATE TABLE outbox (seq bigint GENERATED ALWAYS AS IDENTITY UNIQUE, id uuid PRIMARY KEY, aggregatetype varchar(255) NOT NULL, " +
					"aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL, payload jsonb)",
				"mysql": "CREATE TABLE outbox (seq bigint AUTO_INCREMENT UNIQUE, id char(36) PRIMARY KEY, aggregatetype varchar(255) NOT NULL, " +
					"aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL, payload json)",
				"sqlite": "CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, aggregatetype varchar(255) NOT NULL, " +
					"aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL, payload json)",
			},
			mapping: map[string]string{"aggregate_type": "aggregatetype", "aggregate_id": "aggregateid", "event_type": "type",
				"on_published": "delete"},
			insert:  "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES (?, 'Order', ?, 'OrderPlaced', ?)",
			left:    "SELECT COUNT(*) FROM outbox",
			ordered: true,
		},
		{
			name: "uuid and a time (Spring)",
			table: map[string]string{
				"postgres": "CREATE TABLE outbox (id uuid PRIMARY KEY, aggregate_type varchar(255), aggregate_id varchar(255), type varchar(255), payload text, " +
					"created_at timestamptz NOT NULL DEFAULT clock_timestamp(), status smallint NOT NULL DEFAULT 0, processed_at timestamptz)",
				"mysql": "CREATE TABLE outbox (id binary(16) PRIMARY KEY, aggregate_type varchar(255), aggregate_id varchar(255), type varchar(255), payload longtext, " +
					"created_at datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), status tinyint NOT NULL DEFAULT 0, processed_at datetime(6))",
				"sqlite": "CREATE TABLE outbox (id uuid PRIMARY KEY, aggregate_type varchar(255), aggregate_id varchar(255), type varchar(255), payload text, " +
					"created_at timestamp NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')), status smallint NOT NULL DEFAULT 0, processed_at timestamp)",
			},
			mapping: map[string]string{"event_type": "type", "state": "status", "pending": "0", "done": "1",
				"published_at": "processed_at"},
			insert:  "INSERT INTO outbox (id, aggregate_type, aggregate_id, type, payload) VALUES (?, 'Order', ?, 'OrderPlaced', ?)",
			left:    "SELECT COUNT(*) FROM outbox WHERE status <> 1 OR processed_at IS NULL",
			ordered: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, w *world) {
				table, ok := c.table[w.engine]
				if !ok {
					table = c.table[""]
				}
				w.exec(table)
				w.cfg.Map = c.mapping
				w.mapped()
				want := map[string][]string{}
				for i := 1; i <= 60; i++ {
					var id any = i
					if c.ordered {
						id = fmt.Sprintf("%08x-0000-4000-8000-%012x", (i*7919)%97, i)
						if w.engine == "mysql" && c.mapping["state"] != "" {
							id = []byte(fmt.Sprintf("%016d", (i*7919)%9973))
						}
					}
					aggregate, payload := fmt.Sprintf("agg%d", i%3), fmt.Sprintf(`{"n": %d}`, i)
					w.exec(w.dialectOf(c.insert), id, aggregate, payload)
					// its clock shows milliseconds, and two events of one have no order
					if w.engine == "sqlite" && c.mapping["state"] == "status" {
						w.exec("UPDATE outbox SET created_at = printf('2026-01-01 00:00:%06.3f', ?) WHERE payload = ?", float64(i)/100,
							payload)
					}
					want[aggregate] = append(want[aggregate], payload)
				}
				w.broker.will(true, `{"n": 4}`)
				p := w.open()
				w.until(p, "all but what is refused and its followers are published", func() bool {
					s := w.states(p)
					return s[event.Pending] == 0 && s[event.Failed]+s[event.Dead] == 1
				})
				w.broker.will(false, `{"n": 4}`)
				if s := w.states(p); c.ordered && s[event.Waiting] != 18 || !c.ordered && s[event.Waiting] != 0 {
					t.Errorf("states: %v", s)
				}
				if _, err := p.Requeue(t.Context(), event.Filter{}, nil); err != nil {
					t.Fatal(err)
				}
				w.until(p, "everything is published", func() bool { return w.count(w.dialectOf(c.left)) == 0 })
				if got := len(w.broker.all()); got != 60 {
					t.Errorf("%d events were taken", got)
				}
				for aggregate, payloads := range want {
					if got := w.broker.payloads(aggregate); c.ordered && !slices.Equal(got, payloads) {
						t.Errorf("%s: %v, want %v", aggregate, got, payloads)
					}
				}
				if n := w.count("SELECT COUNT(*) FROM rowrelay_claims_events"); n != 0 {
					t.Errorf("%d entries are left in the side table", n)
				}
			})
		})
	}
}

// dialectOf writes quoted names as MySQL does.
func (w *world) dialectOf(text string) string {
	if w.engine != "mysql" {
		return text
	}
	return strings.ReplaceAll(text, `"`, "`")
}
