package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

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

func (p *publisher) send(ctx context.Context, body []byte) error {
	if p.to.http == nil {
		confirm, err := p.ch.PublishWithDeferredConfirmWithContext(ctx, "", p.to.queue, true, false, amqp.Publishing{
			DeliveryMode: amqp.Persistent, ContentType: "application/json", Body: body,
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
