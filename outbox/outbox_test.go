package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/outbox"
	"github.com/rowrelay/rowrelay/publisher"
)

// engine is a real database with an empty outbox.
type engine struct {
	name   string
	engine outbox.Engine
	open   func(t *testing.T) *sql.DB
}

func engines() []engine {
	return []engine{
		{"PostgreSQL", outbox.Postgres, func(t *testing.T) *sql.DB { return testenv.Open(t, "pgx", testenv.Postgres(t)) }},
		{"MariaDB", outbox.MySQL, func(t *testing.T) *sql.DB {
			return testenv.Open(t, "mysql", testenv.MySQLDSN(t, testenv.MySQL(t)))
		}},
		{"SQLite", outbox.SQLite, func(t *testing.T) *sql.DB {
			return testenv.Open(t, "sqlite",
				strings.TrimPrefix(testenv.SQLite(t), "sqlite:")+"?_pragma=busy_timeout(20000)&_txlock=immediate")
		}},
		{"SQL Server", outbox.SQLServer, func(t *testing.T) *sql.DB {
			return testenv.Open(t, "sqlserver", testenv.SQLServer(t))
		}},
	}
}

func prepared(t *testing.T, e engine) (*sql.DB, *outbox.Writer) {
	t.Helper()
	db := e.open(t)
	statements, err := publisher.DDL(string(e.engine), "outbox", "rowrelay_claims")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%v\n%s", err, statement)
		}
	}
	w, err := outbox.NewWriter(e.engine, "outbox")
	if err != nil {
		t.Fatal(err)
	}
	return db, w
}

// What is written is what is stored, and nothing of it without the commit.
func TestWrite(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			db, w := prepared(t, e)
			write := func(commit bool, events ...outbox.Event) {
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback() //nolint:errcheck // after a commit it is done
				if err := w.Write(t.Context(), tx, events...); err != nil {
					t.Fatal(err)
				}
				if !commit {
					return
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			write(true,
				outbox.Event{AggregateType: "Order", AggregateID: "42", Type: "Placed", IdempotencyKey: "k1",
					Payload: []byte(`{"é":"ü\u0000"}`), TraceParent: "00-1-2-01"},
				outbox.Event{AggregateType: "Customer", AggregateID: "7", Type: "Moved", Payload: []byte("no JSON"),
					TraceParent: strings.Repeat("0", 256), TraceState: strings.Repeat("a", 1001)},
				outbox.Event{AggregateType: "Order", AggregateID: "42", Type: "Paid", IdempotencyKey: "k3", Payload: []byte(`{}`),
					TraceParent: "00-\x00-2-01"},
				outbox.Event{AggregateType: "News", Type: "Told", IdempotencyKey: "k4", Payload: []byte(`{}`)})
			write(false, outbox.Event{AggregateType: "Order", AggregateID: "43", Type: "Placed", Payload: []byte(`{}`)})

			rows, err := db.QueryContext(t.Context(),
				`SELECT aggregate_type, aggregate_id, event_type, payload, idempotency_key, state, traceparent FROM outbox ORDER BY id`)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close() //nolint:errcheck // read to the end
			var got []string
			for rows.Next() {
				var kind, id, event, payload, key, state string
				var trace sql.NullString
				if err := rows.Scan(&kind, &id, &event, &payload, &key, &state, &trace); err != nil {
					t.Fatal(err)
				}
				if event == "Moved" {
					if len(key) < 20 {
						t.Errorf("an event without an idempotency key has got %q", key)
					}
					key = "random"
				}
				got = append(got, strings.Join([]string{kind, id, event, payload, key, state, trace.String}, " "))
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			want := "Order 42 Placed {\"é\":\"ü\\u0000\"} k1 PENDING 00-1-2-01\nCustomer 7 Moved no JSON random PENDING \nOrder 42 Paid {} k3 PENDING \nNews  Told {} k4 PENDING "
			if strings.Join(got, "\n") != want {
				t.Errorf("stored:\n%s\nwant:\n%s", strings.Join(got, "\n"), want)
			}
		})
	}
}

// A lock that locks nothing must not go unnoticed, nor one of several that does. There is a row for each aggregate: the
// server would end a recursion after 1,000 rows.
func TestNoLocks(t *testing.T) {
	for _, e := range engines() {
		if e.engine != outbox.MySQL {
			continue
		}
		db, w := prepared(t, e)
		write := func(ids ...string) error {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback() //nolint:errcheck // nothing is to be kept
			var events []outbox.Event
			for _, id := range ids {
				events = append(events, outbox.Event{AggregateType: "Order", AggregateID: id, Type: "Placed"})
			}
			return w.Write(t.Context(), tx, events...)
		}
		const slots = "SELECT COUNT(*), (SELECT CRC32(CONVERT(CONCAT('Order', CHAR(31), '42') USING utf8mb4)) & 1023) " +
			"FROM rowrelay_locks"
		var there, slot int
		if err := db.QueryRowContext(t.Context(), slots).Scan(&there, &slot); err != nil || there != 1024 {
			t.Fatalf("%d rows to lock, want 1024; %v", there, err)
		}
		testenv.Exec(t, db, fmt.Sprintf("DELETE FROM rowrelay_locks WHERE slot <> %d", slot))
		if err := write("42", "42"); err != nil {
			t.Errorf("with its row: %v", err)
		}
		testenv.Exec(t, db, fmt.Sprintf("UPDATE rowrelay_locks SET slot = %d", (slot+1)%1024))
		for _, ids := range [][]string{{"42"}, {"42", lockedBy(t, db, (slot+1)%1024)}} {
			if err := write(ids...); err == nil || !strings.Contains(err.Error(), "rowrelay outbox init --apply") {
				t.Errorf("without the row of %q: %v", ids, err)
			}
		}
	}
}

// lockedBy is an order whose aggregate has that row.
func lockedBy(t *testing.T, db *sql.DB, slot int) string {
	t.Helper()
	var id string
	const ids = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) " +
		"SELECT 100 * a.i + b.i AS id FROM n AS a CROSS JOIN n AS b " +
		"HAVING CRC32(CONCAT('Order', CHAR(31), id)) & 1023 = ? LIMIT 1"
	if err := db.QueryRowContext(t.Context(), ids, slot).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// The seqs of an aggregate become visible in their order, however long transactions stay open: a reader never finds one
// below another that it has seen.
func TestOrderOfAnAggregate(t *testing.T) {
	quick.Skip(t)
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			db, w := prepared(t, e)
			const writers, each, aggregates = 8, 25, 3
			var writing sync.WaitGroup
			for n := range writers {
				writing.Go(func() {
					random := rand.New(rand.NewPCG(uint64(n), 7)) //nolint:gosec // a test's
					for i := range each {
						if err := writeSlowly(t.Context(), db, w, random, aggregates, fmt.Sprintf("%d-%d", n, i)); err != nil {
							t.Errorf("writer %d: %v", n, err)
							return
						}
					}
				})
			}
			done := make(chan struct{})
			go func() { writing.Wait(); close(done) }()
			newest := make(map[string]int64)
			seen := make(map[int64]bool)
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				look(t, db, seen, newest)
			}
			if len(seen) == 0 || len(seen) > writers*each*2 {
				t.Errorf("%d events became visible", len(seen))
			}
		})
	}
}

// look adds what is visible now.
func look(t *testing.T, db *sql.DB, seen map[int64]bool, newest map[string]int64) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT id, aggregate_id FROM outbox ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // read to the end
	for rows.Next() {
		var seq int64
		var id string
		if err := rows.Scan(&seq, &id); err != nil {
			t.Fatal(err)
		}
		if !seen[seq] && seq < newest[id] {
			t.Errorf("aggregate %s: %d became visible after %d", id, seq, newest[id])
		}
		seen[seq] = true
		newest[id] = max(newest[id], seq)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// writeSlowly writes events of one or two aggregates, and stays open for a while before it commits or rolls back. A
// transaction that the database ends (two that wait for each other) is not repeated: it wrote nothing.
func writeSlowly(ctx context.Context, db *sql.DB, w *outbox.Writer, random *rand.Rand, aggregates int,
	key string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it is done
	events := make([]outbox.Event, 1+random.IntN(2))
	for i := range events {
		events[i] = outbox.Event{AggregateType: "Order", AggregateID: fmt.Sprint(random.IntN(aggregates)), Type: "Changed",
			IdempotencyKey: fmt.Sprintf("%s-%d", key, i), Payload: []byte(`{}`)}
	}
	if err := w.Write(ctx, tx, events...); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(random.IntN(8)) * time.Millisecond):
	}
	if random.IntN(5) == 0 {
		return nil
	}
	return tx.Commit()
}

func TestRefused(t *testing.T) {
	for name, make := range map[string]func() error{
		"an engine that is none": func() error { _, err := outbox.NewWriter("oracle", "outbox"); return err },
		"a table with a quote":   func() error { _, err := outbox.NewWriter(outbox.Postgres, `out"box`); return err },
		"no table":               func() error { _, err := outbox.NewWriter(outbox.Postgres, ""); return err },
		"no type": func() error {
			w, err := outbox.NewWriter(outbox.Postgres, "shop.outbox")
			if err != nil {
				t.Fatal(err)
			}
			return w.Write(t.Context(), nil, outbox.Event{AggregateType: "Order", AggregateID: "42"})
		},
		"an id that is too long": func() error {
			w, err := outbox.NewWriter(outbox.Postgres, "outbox")
			if err != nil {
				t.Fatal(err)
			}
			return w.Write(t.Context(), nil,
				outbox.Event{AggregateType: "Order", AggregateID: strings.Repeat("é", 256), Type: "Placed"})
		},
	} {
		if err := make(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// What an engine would not store as it stands, or the publisher not find again, is refused before anything is sent; the
// error names the member and not what it holds.
func TestRefusedText(t *testing.T) {
	w, err := outbox.NewWriter(outbox.SQLite, "outbox")
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]func(*outbox.Event) *string{
		"AggregateType":  func(e *outbox.Event) *string { return &e.AggregateType },
		"AggregateID":    func(e *outbox.Event) *string { return &e.AggregateID },
		"Type":           func(e *outbox.Event) *string { return &e.Type },
		"IdempotencyKey": func(e *outbox.Event) *string { return &e.IdempotencyKey },
	}
	for payload, want := range map[string]string{"secret\xff": "Event.Payload is not valid UTF-8",
		"secret\x00": "Event.Payload contains NUL"} {
		w, err := outbox.NewWriter(outbox.Postgres, "outbox")
		if err != nil {
			t.Fatal(err)
		}
		err = w.Write(t.Context(), nil, outbox.Event{AggregateType: "Order", Type: "Placed", Payload: []byte(payload)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("a payload %q: %v", payload, err)
		}
	}
	for name, member := range members {
		for text, why := range map[string]string{
			"secret\x00": "Event." + name + " contains NUL", "\x00": "Event." + name + " contains NUL",
			"secret\xff":             "Event." + name + " is not valid UTF-8",
			strings.Repeat("é", 256): "Event." + name + " has more than 255 characters",
		} {
			e := outbox.Event{AggregateType: "Order", AggregateID: "42", Type: "Placed", IdempotencyKey: "k",
				Payload: []byte("{}")}
			*member(&e) = text
			err := w.Write(t.Context(), nil, e)
			if err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s of %q: %v, want %q", name, text, err, why)
			}
		}
	}
}

// TestTimes: a time is the same instant in whatever zone the application and its session are.
func TestTimes(t *testing.T) {
	at := time.Now().Add(90 * time.Minute).Truncate(time.Millisecond).In(time.FixedZone("", 5*3600))
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			db, w := prepared(t, e)
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback() //nolint:errcheck // after a commit it is done
			zone := map[outbox.Engine]string{outbox.Postgres: "SET LOCAL timezone = 'Asia/Tokyo'",
				outbox.MySQL: "SET time_zone = '+09:00'"}[e.engine]
			if zone != "" {
				if _, err := tx.ExecContext(t.Context(), zone); err != nil {
					t.Fatal(err)
				}
			}
			event := outbox.Event{AggregateType: "Order", AggregateID: "1", Type: "Reminder", Payload: []byte("{}")}
			none, both := event, event
			both.AvailableAt, both.ExpiresAt = at, at.Add(time.Hour)
			if err := w.Write(t.Context(), tx, event, both, none); err != nil {
				t.Fatal(err)
			}
			seconds := map[outbox.Engine]string{outbox.Postgres: "EXTRACT(EPOCH FROM %s)", outbox.MySQL: "UNIX_TIMESTAMP(%s)",
				outbox.SQLite:    "(julianday(%s) - 2440587.5) * 86400",
				outbox.SQLServer: "DATEDIFF_BIG(millisecond, '1970-01-01', %s) / 1000.0"}[e.engine]
			for column, want := range map[string]time.Time{"available_at": both.AvailableAt, "expires_at": both.ExpiresAt} {
				var n int
				var got float64
				if err := tx.QueryRowContext(t.Context(), "SELECT COUNT("+column+"), MAX("+fmt.Sprintf(seconds, column)+
					") FROM outbox").Scan(&n, &got); err != nil {
					t.Fatal(err)
				}
				if off := got - float64(want.UnixMilli())/1000; n != 1 || off > 0.002 || off < -0.002 {
					t.Errorf("%s: %d have one, which is %f s off", column, n, off)
				}
			}
			event.AvailableAt = time.Date(2038, 1, 1, 0, 0, 0, 0, time.UTC)
			if err := w.Write(t.Context(), tx, event); err == nil || !strings.Contains(err.Error(), "AvailableAt") {
				t.Errorf("2038: %v", err)
			}
		})
	}
}
