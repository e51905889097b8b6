// Package pgxoutbox writes events into an outbox on PostgreSQL in a transaction of pgx, without database/sql. What it
// promises is what package outbox promises.
package pgxoutbox

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/rowrelay/rowrelay/outbox"
)

// Write locks the events' aggregates and inserts the events, in their order and in one round trip. w is the writer of
// an outbox on PostgreSQL. An error leaves the transaction to be rolled back.
func Write(ctx context.Context, tx pgx.Tx, w *outbox.Writer, events ...outbox.Event) error {
	statements, err := w.Statements(events...)
	if err != nil {
		return err
	}
	var batch pgx.Batch
	for _, s := range statements {
		batch.Queue(s.SQL, s.Args...)
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("outbox: write %d event(s): %w", len(events), err)
	}
	return nil
}
