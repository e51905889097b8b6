package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// sink takes events and knows when the first and the last arrived.
type sink struct {
	queue string // RabbitMQ's; "" for HTTP
	conn  *amqp.Connection
	ch    *amqp.Channel
	http  *httptest.Server
	think time.Duration // of the HTTP server, for each request

	mu          sync.Mutex
	seen        map[string]bool // ids; a repeated one counts once
	first, last time.Time
}

func newSink(kind string) (*sink, error) {
	s := &sink{seen: make(map[string]bool)}
	if strings.HasSuffix(kind, "1 ms") {
		s.think = time.Millisecond
	}
	if kind != "rabbitmq" {
		s.http = httptest.NewServer(http.HandlerFunc(s.take))
		return s, nil
	}
	var err error
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
		s.http.Close()
		return
	}
	_, _ = s.ch.QueueDelete(s.queue, false, false, false)
	_ = s.conn.Close()
}

// take counts the events of a request: a payload, or an array of payloads.
func (s *sink) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	type event struct {
		ID string `json:"id"`
	}
	var events []event
	if strings.HasPrefix(string(body), "[") {
		err = json.Unmarshal(body, &events)
	} else {
		events = make([]event, 1)
		err = json.Unmarshal(body, &events[0])
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	time.Sleep(s.think)
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		s.first = now
	}
	for _, e := range events {
		s.seen[e.ID] = true
	}
	s.last = now
}

// count is how many events have arrived.
func (s *sink) count() (int, error) {
	if s.http == nil {
		state, err := s.ch.QueueDeclarePassive(s.queue, true, false, false, false, nil)
		return state.Messages, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen), nil
}

// await waits for so many events, and returns the time between the first and the last.
func (s *sink) await(ctx context.Context, events int, ended <-chan error) (time.Duration, error) {
	var first time.Time
	for {
		n, err := s.count()
		if err != nil {
			return 0, err
		}
		now := time.Now()
		if n > 0 && first.IsZero() {
			first = now
		}
		if n >= events {
			if s.http != nil {
				return s.last.Sub(s.first), nil
			}
			return now.Sub(first), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%d of %d events arrived: %w", n, events, ctx.Err())
		case err := <-ended:
			return 0, errors.Join(fmt.Errorf("%d of %d events arrived, then the contender ended", n, events), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
