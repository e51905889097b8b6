package peers

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/oagudo/outbox"
)

// Oagudo is github.com/oagudo/outbox: published messages are deleted, and they are read in the order of created_at,
// which the application sets.
func Oagudo() Peer {
	return Peer{
		Name:  "oagudo/outbox",
		Order: oneAfterTheOther,
		Init: func(ctx context.Context, db *pgxpool.Pool) error {
			return run(ctx, db,
				`CREATE TABLE outbox (id UUID PRIMARY KEY, created_at TIMESTAMP WITH TIME ZONE NOT NULL,
					scheduled_at TIMESTAMP WITH TIME ZONE NOT NULL, metadata BYTEA,
					payload BYTEA NOT NULL, times_attempted INTEGER NOT NULL)`,
				`CREATE INDEX idx_outbox_created_at ON outbox (created_at)`,
				`CREATE INDEX idx_outbox_scheduled_at ON outbox (scheduled_at)`)
		},
		Insert: func(ctx context.Context, tx pgx.Tx, m Message) error {
			_, err := tx.Exec(ctx, `INSERT INTO outbox (id, created_at, scheduled_at, metadata, payload, times_attempted)
				VALUES ($1, $2, $2, $3, $4, 0)`,
				uuid.New(), time.Now(), fmt.Appendf(nil, `{"aggregate":%q}`, m.Aggregate), m.Payload)
			return err
		},
		Relay: relayOagudo,
	}
}

// oagudoPublisher implements outbox.MessagePublisher.
type oagudoPublisher Send

func (p oagudoPublisher) Publish(ctx context.Context, m *outbox.Message) error {
	return p(ctx, m.Payload)
}

func relayOagudo(ctx context.Context, db *pgxpool.Pool, poll time.Duration, send Send) error {
	plain := stdlib.OpenDBFromPool(db)
	defer plain.Close()
	reader := outbox.NewReader(outbox.NewDBContext(plain, outbox.SQLDialectPostgres), oagudoPublisher(send),
		outbox.WithInterval(poll), outbox.WithReadBatchSize(page), outbox.WithDeleteBatchSize(page))
	reader.Start()
	go func() {
		for err := range reader.Errors() {
			if ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "oagudo/outbox:", err)
			}
		}
	}()
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return reader.Stop(stopping)
}
