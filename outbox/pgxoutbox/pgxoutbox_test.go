package pgxoutbox_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/outbox"
	"github.com/rowrelay/rowrelay/outbox/pgxoutbox"
	"github.com/rowrelay/rowrelay/publisher"
)

// shop returns the connection string of a database with an outbox, and its writer.
func shop(t *testing.T) (string, *outbox.Writer) {
	t.Helper()
	url := testenv.Postgres(t)
	conn := connect(t, url)
	statements, err := publisher.DDL(string(outbox.Postgres), "outbox", "rowrelay_claims")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(statements, "CREATE TABLE counter (n int)", "INSERT INTO counter VALUES (0)") {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
	}
	w, err := outbox.NewWriter(outbox.Postgres, "outbox")
	if err != nil {
		t.Fatal(err)
	}
	return url, w
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

// TestWrite: what is written is what is stored, in its order, and nothing of it without the commit.
func TestWrite(t *testing.T) {
	url, w := shop(t)
	conn := connect(t, url)
	write := func(events ...outbox.Event) pgx.Tx {
		t.Helper()
		tx, err := conn.Begin(t.Context())
		if err == nil {
			err = pgxoutbox.Write(t.Context(), tx, w, events...)
		}
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	tx := write(
		outbox.Event{AggregateType: "Order", AggregateID: "42", Type: "Placed", IdempotencyKey: "k1",
			Payload: []byte(`{"é":"ü"}`), TraceParent: "00-1-2-01"},
		outbox.Event{AggregateType: "Customer", AggregateID: "7", Type: "Moved", IdempotencyKey: "k2",
			Payload: []byte("no JSON"), TraceParent: strings.Repeat("0", 256)},
		outbox.Event{AggregateType: "News", Type: "Told", IdempotencyKey: "k3", Payload: []byte(`{}`)})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	tx = write(outbox.Event{AggregateType: "Order", AggregateID: "43", Type: "Placed", Payload: []byte(`{}`)})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), `SELECT concat_ws(' ', aggregate_type, aggregate_id, event_type, payload,
		idempotency_key, state, traceparent) FROM outbox ORDER BY seq`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if want := []string{`Order 42 Placed {"é":"ü"} k1 PENDING 00-1-2-01`, "Customer 7 Moved no JSON k2 PENDING",
		"News  Told {} k3 PENDING"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, stored %q", err, got)
	}
	tx, err = conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // of what failed
	if err := pgxoutbox.Write(t.Context(), tx, w, outbox.Event{AggregateType: "Order", AggregateID: "1", Type: "Placed",
		IdempotencyKey: "k1"}); err == nil {
		t.Error("two events with one idempotency key")
	}
	if err := pgxoutbox.Write(t.Context(), tx, w, outbox.Event{Type: "Placed"}); err == nil ||
		!strings.Contains(err.Error(), "AggregateType") {
		t.Errorf("an event without an aggregate's type: %v", err)
	}
	other, err := outbox.NewWriter(outbox.MySQL, "outbox")
	if err != nil {
		t.Fatal(err)
	}
	err = pgxoutbox.Write(t.Context(), tx, other, outbox.Event{})
	if err == nil || !strings.Contains(err.Error(), "mysql") {
		t.Errorf("the writer of another engine: %v", err)
	}
}

// TestOrder: seqs of an aggregate are in the order of its transactions. Each counts after it has written: whoever draws
// a seq holds the aggregate until its commit.
func TestOrder(t *testing.T) {
	url, w := shop(t)
	var writers sync.WaitGroup
	for range 8 {
		conn := connect(t, url)
		writers.Go(func() {
			for range 25 {
				err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
					key := fmt.Sprintf("%p", conn)
					if err := pgxoutbox.Write(t.Context(), tx, w, outbox.Event{AggregateType: "Order", AggregateID: "42",
						Type: "Placed", Payload: []byte(key)}); err != nil {
						return err
					}
					var n int
					if err := tx.QueryRow(t.Context(), "UPDATE counter SET n = n + 1 RETURNING n").Scan(&n); err != nil {
						return err
					}
					_, err := tx.Exec(t.Context(), "UPDATE outbox SET payload = $1 WHERE payload = $2", fmt.Sprint(n), key)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	rows, err := connect(t, url).Query(t.Context(), "SELECT payload::int FROM outbox ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pgx.CollectRows(rows, pgx.RowTo[int]); err != nil || len(got) != 200 || !slices.IsSorted(got) {
		t.Errorf("%v, %v", err, got)
	}
}
