package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	_ "modernc.org/sqlite"

	"github.com/rowrelay/rowrelay/outbox"
)

// A change and the event that tells of it are in one transaction: either both are there, or neither is.
func Example() {
	ctx := context.Background()
	db := shop()
	defer func() { _ = db.Close() }()
	w, err := outbox.NewWriter(outbox.SQLite, "outbox")
	if err != nil {
		log.Fatal(err)
	}
	place := func(order, customer string) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id, customer) VALUES (?, ?)", order, customer); err != nil {
			return err
		}
		if err := w.Write(ctx, tx, outbox.Event{
			AggregateType: "Order", AggregateID: order, Type: "OrderPlaced",
			IdempotencyKey: "order-placed-" + order, Payload: fmt.Appendf(nil, `{"customer":%q}`, customer),
		}); err != nil {
			return err
		}
		if customer == "Mallory" {
			return errors.New("no credit")
		}
		return tx.Commit()
	}
	fmt.Println(place("42", "Ada"))
	fmt.Println(place("43", "Mallory"))

	rows, err := db.QueryContext(ctx, "SELECT aggregate_id, event_type, payload, idempotency_key FROM outbox ORDER BY seq")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, event, payload, key string
		if err := rows.Scan(&id, &event, &payload, &key); err != nil {
			log.Fatal(err)
		}
		fmt.Println(id, event, payload, key)
	}
	fmt.Println(rows.Err())
	// Output:
	// <nil>
	// no credit
	// 42 OrderPlaced {"customer":"Ada"} order-placed-42
	// <nil>
}

// Events of several aggregates are written in one call, which locks the aggregates in an order that meets no deadlock.
func ExampleWriter_Write() {
	ctx := context.Background()
	db := shop()
	defer func() { _ = db.Close() }()
	w, err := outbox.NewWriter(outbox.SQLite, "outbox")
	if err != nil {
		log.Fatal(err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	fmt.Println(w.Write(ctx, tx,
		outbox.Event{AggregateType: "Order", AggregateID: "42", Type: "OrderPaid", Payload: []byte(`{}`)},
		outbox.Event{AggregateType: "Customer", AggregateID: "7", Type: "PointsEarned", Payload: []byte(`{"points":19}`)},
	))
	fmt.Println(w.Write(ctx, tx, outbox.Event{AggregateType: "Order", AggregateID: "42"}))
	// Output:
	// <nil>
	// outbox: Event.Type is empty
}

// A table's name becomes part of a statement: it may hold letters, digits and underscores, and a schema.
func ExampleNewWriter() {
	_, err := outbox.NewWriter(outbox.Postgres, "shop.outbox")
	fmt.Println(err)
	_, err = outbox.NewWriter(outbox.Postgres, "outbox; DROP TABLE orders")
	fmt.Println(err)
	// Output:
	// <nil>
	// outbox: "outbox; DROP TABLE orders" is no name of a table: letters, digits and _, with a schema where needed
}

// shop opens a database with an outbox. `rowrelay outbox init` makes the real table, with the publisher's own columns.
func shop() *sql.DB {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	for _, table := range []string{
		"CREATE TABLE orders (id TEXT PRIMARY KEY, customer TEXT)",
		`CREATE TABLE outbox (seq INTEGER PRIMARY KEY, aggregate_type TEXT NOT NULL, aggregate_id TEXT NOT NULL, event_type TEXT NOT NULL,
			payload TEXT NOT NULL, idempotency_key TEXT NOT NULL UNIQUE, traceparent TEXT, tracestate TEXT)`,
	} {
		if _, err := db.ExecContext(context.Background(), table); err != nil {
			log.Fatal(err)
		}
	}
	return db
}
