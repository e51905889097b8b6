package pgxoutbox_test

import (
	"context"
	"log"

	"github.com/jackc/pgx/v5"

	"github.com/rowrelay/rowrelay/outbox"
	"github.com/rowrelay/rowrelay/outbox/pgxoutbox"
)

// The order and the event that tells of it are in one transaction.
func Example() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "postgres://localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	w, err := outbox.NewWriter(outbox.Postgres, "outbox")
	if err != nil {
		log.Fatal(err)
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, customer) VALUES ($1, $2)", 42, "Ada"); err != nil {
			return err
		}
		return pgxoutbox.Write(ctx, tx, w, outbox.Event{
			AggregateType: "Order", AggregateID: "42", Type: "OrderPlaced",
			IdempotencyKey: "order-placed-42", Payload: []byte(`{"customer":"Ada"}`),
		})
	})
	if err != nil {
		log.Fatal(err)
	}
}
