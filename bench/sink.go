package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// sink takes events and knows when the first and the last arrived.
type sink struct {
	queue string // RabbitMQ's; "" for HTTP
	conn  *amqp.Connection
	ch    *amqp.Channel
	http  *started
}

func newSink(kind string) (*sink, error) {
	s := &sink{}
	var err error
	if kind != "rabbitmq" {
		think := time.Duration(0)
		if strings.HasSuffix(kind, "1 ms") {
			think = time.Millisecond
		}
		s.http, err = startReceiver("-think", think.String())
		return s, err
	}
	if s.conn, err = amqp.Dial(os.Getenv("ROWRELAY_TEST_RABBITMQ")); err != nil {
		return nil, err
	}
	if s.ch, err = s.conn.Channel(); err != nil {
		return nil, err
	}
	s.queue = fmt.Sprintf("bench-%d", time.Now().UnixNano())
	_, err = s.ch.QueueDeclare(s.queue, true, false, false, false, nil)
	return s, err
}

func (s *sink) close() {
	if s.http != nil {
		s.http.stop()
		return
	}
	_, _ = s.ch.QueueDelete(s.queue, false, false, false)
	_ = s.conn.Close()
}

// arrivals is how many events have arrived, and, of HTTP, in what time.
func (s *sink) arrivals(ctx context.Context) (arrivals, error) {
	if s.http != nil {
		return s.http.arrivals(ctx)
	}
	state, err := s.ch.QueueDeclarePassive(s.queue, true, false, false, false, nil)
	return arrivals{Events: state.Messages}, err
}

// await waits for so many events, and returns the time between the first and the last.
func (s *sink) await(ctx context.Context, events int, ended <-chan error) (time.Duration, error) {
	var first time.Time
	for {
		a, err := s.arrivals(ctx)
		if err != nil {
			return 0, err
		}
		now := time.Now()
		if a.Events > 0 && first.IsZero() {
			first = now
		}
		if a.Events >= events {
			if s.http != nil {
				return a.Took, nil
			}
			return now.Sub(first), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%d of %d events arrived: %w", a.Events, events, ctx.Err())
		case err := <-ended:
			return 0, errors.Join(fmt.Errorf("%d of %d events arrived, then the contender ended", a.Events, events), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
