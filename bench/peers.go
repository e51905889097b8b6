package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/google/uuid"
	"github.com/oagudo/outbox"
	amqp "github.com/rabbitmq/amqp091-go"
)

const aggregates = 200

// payload is event i's: about 300 bytes.
func payload(i int) string {
	return fmt.Sprintf(`{"id":"%d","aggregate":"a-%d","customer":"c-%06d","total":"%d.%02d","items":[{"sku":"s-%d","quantity":%d},`+
		`{"sku":"s-%d","quantity":1}],"note":"the quick brown fox jumps over the lazy dog, and does so again and again and again, `+
		`until the payload is about as long as payloads are","currency":"EUR"}`, i, i%aggregates, i*7, i%1000, i%100, i%50,
		i%9+1, i%77)
}

// publisher sends one message and waits for the confirmation, as both libraries want it.
type publisher struct {
	to   *sink
	conn *amqp.Connection
	ch   *amqp.Channel
	http *http.Client
}

func newPublisher(to *sink) (*publisher, error) {
	p := &publisher{to: to, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	if to.http != nil {
		return p, nil
	}
	var err error
	if p.conn, err = amqp.Dial(os.Getenv("ROWRELAY_TEST_RABBITMQ")); err != nil {
		return nil, err
	}
	if p.ch, err = p.conn.Channel(); err != nil {
		return nil, err
	}
	return p, p.ch.Confirm(false)
}

func (p *publisher) close() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
}

func (p *publisher) send(ctx context.Context, id string, body []byte) error {
	if p.to.http == nil {
		confirm, err := p.ch.PublishWithDeferredConfirmWithContext(ctx, "", p.to.queue, true, false, amqp.Publishing{
			DeliveryMode: amqp.Persistent, ContentType: "application/json", MessageId: id, Body: body,
		})
		if err != nil {
			return err
		}
		if ok, err := confirm.WaitContext(ctx); err != nil || !ok {
			return errors.Join(errors.New("not confirmed"), err)
		}
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to.http.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", id)
	answer, err := p.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New(answer.Status)
	}
	return nil
}

// ---- github.com/oagudo/outbox ----

func fillOagudo(ctx context.Context, d *database, events int) error {
	for _, statement := range []string{
		`CREATE TABLE outbox (id UUID PRIMARY KEY, created_at TIMESTAMP WITH TIME ZONE NOT NULL, scheduled_at TIMESTAMP WITH TIME ZONE NOT NULL,
			metadata BYTEA, payload BYTEA NOT NULL, times_attempted INTEGER NOT NULL)`,
		`CREATE INDEX idx_outbox_created_at ON outbox (created_at)`,
		`CREATE INDEX idx_outbox_scheduled_at ON outbox (scheduled_at)`,
	} {
		if _, err := d.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	past := time.Now().Add(-time.Hour)
	return d.insert(ctx, events, `INSERT INTO outbox (id, created_at, scheduled_at, metadata, payload, times_attempted) VALUES ($1, $2, $2, $3, $4, 0)`,
		func(i int) []any {
			return []any{uuid.New(), past.Add(time.Duration(i) * time.Microsecond),
				[]byte(fmt.Sprintf(`{"aggregate":"a-%d"}`, i%aggregates)), []byte(payload(i))}
		})
}

// insert runs a statement for each event, in transactions of 1,000.
func (d *database) insert(ctx context.Context, events int, statement string, args func(i int) []any) error {
	for i := 0; i < events; {
		tx, err := d.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		prepared, err := tx.PrepareContext(ctx, statement)
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
		for end := min(i+1000, events); i < end; i++ {
			if _, err := prepared.ExecContext(ctx, args(i)...); err != nil {
				return errors.Join(err, tx.Rollback())
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

type oagudoPublisher struct{ *publisher }

// Publish implements outbox.MessagePublisher.
func (p oagudoPublisher) Publish(ctx context.Context, m *outbox.Message) error {
	return p.send(ctx, m.ID.String(), m.Payload)
}

func relayOagudo(ctx context.Context, d *database, to *sink) error {
	p, err := newPublisher(to)
	if err != nil {
		return err
	}
	defer p.close()
	reader := outbox.NewReader(outbox.NewDBContext(d.DB, outbox.SQLDialectPostgres), oagudoPublisher{p},
		outbox.WithInterval(time.Millisecond), outbox.WithReadBatchSize(500), outbox.WithDeleteBatchSize(500))
	reader.Start()
	var failed error
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
	return errors.Join(failed, reader.Stop(stopping))
}

// ---- watermill-sql ----

const topic = "orders"

func watermillSchema() wsql.DefaultPostgreSQLSchema {
	return wsql.DefaultPostgreSQLSchema{SubscribeBatchSize: 500}
}

func fillWatermill(ctx context.Context, d *database, events int) error {
	db := wsql.BeginnerFromStdSQL(d.DB)
	subscriber, err := newWatermill(db)
	if err != nil {
		return err
	}
	if err := subscriber.SubscribeInitialize(topic); err != nil {
		return err
	}
	table := watermillSchema().MessagesTable(topic)
	return d.insert(ctx, events, `INSERT INTO `+table+
		` ("uuid", "payload", "metadata", "transaction_id") VALUES ($1, $2, $3, pg_current_xact_id())`,
		func(i int) []any {
			metadata, _ := json.Marshal(map[string]string{"aggregate": fmt.Sprintf("a-%d", i%aggregates)})
			return []any{uuid.NewString(), payload(i), string(metadata)}
		})
}

func newWatermill(db wsql.Beginner) (*wsql.Subscriber, error) {
	return wsql.NewSubscriber(db, wsql.SubscriberConfig{
		SchemaAdapter: watermillSchema(), OffsetsAdapter: wsql.DefaultPostgreSQLOffsetsAdapter{}, InitializeSchema: true,
		PollInterval: time.Millisecond,
	}, watermill.NopLogger{})
}

func relayWatermill(ctx context.Context, d *database, to *sink) error {
	p, err := newPublisher(to)
	if err != nil {
		return err
	}
	defer p.close()
	subscriber, err := newWatermill(wsql.BeginnerFromStdSQL(d.DB))
	if err != nil {
		return err
	}
	defer subscriber.Close()
	messages, err := subscriber.Subscribe(ctx, topic)
	if err != nil {
		return err
	}
	for m := range messages {
		if err := p.send(ctx, m.UUID, m.Payload); err != nil {
			m.Nack()
			continue
		}
		m.Ack()
	}
	return ctx.Err()
}
