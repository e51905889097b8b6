package peers

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const topic = "orders"

// Watermill is github.com/ThreeDotsLabs/watermill-sql: a subscriber remembers its offset in a table, and reads what is
// older than every open transaction.
func Watermill() Peer {
	schema := wsql.DefaultPostgreSQLSchema{SubscribeBatchSize: page}
	subscriber := func(db *pgxpool.Pool, poll time.Duration) (*wsql.Subscriber, error) {
		return wsql.NewSubscriber(wsql.BeginnerFromPgx(db), wsql.SubscriberConfig{
			SchemaAdapter: schema, OffsetsAdapter: wsql.DefaultPostgreSQLOffsetsAdapter{}, InitializeSchema: true,
			PollInterval: poll,
		}, watermill.NopLogger{})
	}
	return Peer{
		Name:  "watermill-sql",
		Order: oneAfterTheOther,
		Init: func(_ context.Context, db *pgxpool.Pool) error {
			s, err := subscriber(db, time.Second)
			if err != nil {
				return err
			}
			return s.SubscribeInitialize(topic)
		},
		Insert: func(ctx context.Context, tx pgx.Tx, m Message) error {
			metadata, err := json.Marshal(map[string]string{"aggregate": m.Aggregate})
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `INSERT INTO `+schema.MessagesTable(topic)+
				` ("uuid", "payload", "metadata", "transaction_id") VALUES ($1, $2, $3, pg_current_xact_id())`,
				uuid.NewString(), string(m.Payload), string(metadata))
			return err
		},
		Relay: func(ctx context.Context, db *pgxpool.Pool, poll time.Duration, send Send) error {
			s, err := subscriber(db, poll)
			if err != nil {
				return err
			}
			defer s.Close()
			messages, err := s.Subscribe(ctx, topic)
			if err != nil {
				return err
			}
			for m := range messages {
				if err := send(ctx, m.Payload); err != nil {
					m.Nack()
					continue
				}
				m.Ack()
			}
			return ctx.Err()
		},
	}
}
