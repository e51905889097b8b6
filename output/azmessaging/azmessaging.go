// Package azmessaging is what the outputs servicebus and eventhubs share: connection strings, an open link for each
// destination, the sending of a delivery's events side by side, and what errors of the SDKs and of AMQP say about an
// event.
package azmessaging

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// Config is what an Output needs.
type Config struct {
	// Connection is output__connection: the namespace, and as whom.
	Connection Connection
	// Destinations are output__destination and output__destinations__….
	Destinations output.Destinations
	// Format is output__format: each message holds its single form.
	Format change.Format
	// Concurrency is how many messages are under way at once, of all deliveries together; 0 means 32.
	Concurrency int
	// MaxMessage is the most that a message's body takes, in bytes, where that is less than what the service says; 0 means
	// what the service says.
	MaxMessage int
}

const defaultConcurrency = 32

// Service is one of the services over its SDK; L is an open link to a destination. All members are needed.
type Service[L any] struct {
	// Name and Entity are for people: "Service Bus", "queue or topic". Role is the role that sends.
	Name, Entity, Role string
	// Busy is how long the service asks to be left alone when it is throttled.
	Busy time.Duration
	// Open opens a link; Close ends it.
	Open  func(ctx context.Context, destination string) (L, error)
	Close func(ctx context.Context, l L)
	// Send sends one message, once, and returns nil when the service has accepted it.
	Send func(ctx context.Context, l L, m *Message) error
	// Code reads the SDK's own errors.
	Code func(err error) Code
}

// Message is one event on its way.
type Message struct {
	// ID is the event's id, at most 128 characters. Key is what order is kept by, at most 128 characters; "" for an event
	// that has no aggregate, and so no order.
	ID, Key string
	// Type is the event's type, at most 128 characters.
	Type, ContentType string
	// Properties are the event's attributes: strings.
	Properties map[string]any
	Body       []byte
}

// Output implements poller.Output over a Service. It is safe for concurrent use.
type Output[L any] struct {
	cfg     Config
	service Service[L]
	links   *links[L]
	places  chan struct{} // holds one for each message under way
}

// New checks cfg. Nothing is sent.
func New[L any](cfg Config, service Service[L]) (*Output[L], error) {
	if cfg.Connection.Namespace == "" {
		return nil, fmt.Errorf("an output of %s needs a connection: set output__connection", service.Name)
	}
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	return &Output[L]{cfg: cfg, service: service, links: newLinks(service.Open, service.Close),
		places: make(chan struct{}, cfg.Concurrency)}, nil
}

// Close ends all links, those in use when their messages are answered, and waits for it no longer than ctx.
func (o *Output[L]) Close(ctx context.Context) error { return o.links.shut(ctx) }

// Deliver sends each event of d as a message of its own, and none after ctx has ended. A crash in here leaves open
// which messages arrived.
func (o *Output[L]) Deliver(ctx context.Context, d change.Delivery) error {
	call := &call[L]{output: o, d: &d, started: time.Now()}
	doing := fmt.Sprintf("sending to %s %s", o.service.Name, o.cfg.Connection)
	return output.Each(len(d.Events), o.cfg.Concurrency, doing, func(i int) output.Result { return call.try(ctx, i) })
}

// call is one Deliver.
type call[L any] struct {
	output  *Output[L]
	d       *change.Delivery
	started time.Time
	// what the destinations that were down said, an output.Result: the other events for one would only hear the same
	down sync.Map
}

// try sends event i when there is a place, unless ctx has ended or its destination is down.
func (c *call[L]) try(ctx context.Context, i int) output.Result {
	e := &c.d.Events[i]
	destination, err := c.output.cfg.Destinations.Of(c.d, e)
	if err != nil {
		return output.Result{Cause: poller.Impossible, Named: true, Err: fmt.Errorf("event %s: %w", e.ID, err)}
	}
	m := c.message(i)
	if most := c.output.cfg.MaxMessage; most > 0 && len(m.Body) > most {
		return output.Result{Cause: poller.Impossible, Named: true, Err: fmt.Errorf(
			"event %s takes %d bytes of %s, and a message %d: leave columns out with source__columns", e.ID, len(m.Body),
			c.output.cfg.Format, most)}
	}
	select {
	case c.output.places <- struct{}{}:
	case <-ctx.Done():
		return output.Result{Err: context.Cause(ctx)}
	}
	if said, isDown := c.down.Load(destination); isDown {
		<-c.output.places
		r, _ := said.(output.Result)
		return output.Result{Cause: r.Cause, Named: r.Named, Err: output.ErrNotTried}
	}
	// The SDKs wait on locks, and for tokens, without looking at ctx: their call is not waited for beyond it. It sends
	// nothing any more then, because it does look before it sends; the place stays taken as long as it lasts.
	done := make(chan output.Result, 1)
	go func() {
		defer func() { <-c.output.places }()
		done <- c.send(ctx, destination, m)
	}()
	var r output.Result
	select {
	case r = <-done:
	case <-ctx.Done():
		select {
		case r = <-done: // it came in the same moment
		default:
			r = output.Result{Err: context.Cause(ctx)}
		}
	}
	if r.Err != nil && (r.Cause == poller.Unavailable || r.Cause == poller.Misplaced) {
		c.down.Store(destination, r)
	}
	return r
}

// send sends a message over the destination's link. A link that an earlier delivery opened may have died since, which
// shows only when it is used (the services end idle ones): then the message is sent again, once, over a new one. Where
// the service had taken it all the same, it has it twice, with one id.
func (c *call[L]) send(ctx context.Context, destination string, m *Message) output.Result {
	for {
		l, err := c.output.links.acquire(ctx, destination)
		if err != nil {
			return c.output.service.judgeOpening(ctx, destination, err)
		}
		if ctx.Err() != nil {
			c.output.links.release(l, false)
			return output.Result{Err: context.Cause(ctx)}
		}
		_, err = guarded(func() (struct{}, error) { return struct{}{}, c.output.service.Send(ctx, l.link, m) })
		if err == nil {
			c.output.links.release(l, false)
			return output.Result{}
		}
		v := c.output.service.judge(ctx, destination, err)
		c.output.links.release(l, v.lost)
		if v.Cause == poller.Impossible {
			v.Err = fmt.Errorf("event %s, with a body of %d bytes: %w", m.ID, len(m.Body), v.Err)
		}
		if !v.lost || v.Cause == poller.Refused || v.Cause == poller.Impossible || !l.opened.Before(c.started) ||
			ctx.Err() != nil {
			return v.Result
		}
	}
}

// message makes event i's message.
func (c *call[L]) message(i int) *Message {
	e, format := &c.d.Events[i], c.output.cfg.Format
	m := &Message{
		ID: Key(e.ID), Key: Key(e.MessageKey()), ContentType: format.ContentTypeOf(e),
		Properties: map[string]any{}, Body: format.AppendEvent(nil, c.d, i),
	}
	for _, a := range c.d.Attributes(nil, e) {
		m.Properties[a.Name] = strings.ToValidUTF8(a.Value, "\uFFFD") // AMQP takes nothing else
		if a.Name == "event_type" {
			m.Type = cut(a.Value, maxKey)
		}
	}
	return m
}

// guarded turns a panic of f into an error: the goroutines here are nobody else's to guard.
func guarded[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			// On one line, of which the log shows the beginning: there the stack tells where it was.
			err = output.Errorf(nil, "panic: %v: %s", p, debug.Stack())
		}
	}()
	return f()
}
