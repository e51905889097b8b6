// Package rabbitmq publishes events to RabbitMQ, one persistent message for each event, in the single form of
// output__format (output__kind=rabbitmq).
//
// # Destinations
//
// A destination is "exchange/routing.key", split at the first slash of its template. Without a slash it is a queue: the
// text is the routing key, and the exchange is the default one, which brings a message to the queue of that name. So
// "order.events" is the queue order.events, and "shop/order.events" what the exchange shop makes of the key
// order.events. A slash that a row brings splits nothing: it belongs to the key, and in an exchange's name it makes the
// event impossible.
//
// # What counts as delivered
//
// Channels are in confirm mode, and messages are mandatory: an event is accepted when the broker has confirmed it and
// has not returned it. The broker confirms a persistent message when every queue that it was routed to has it on disk
// (a quorum queue: a majority). Whatever else becomes of a message is never held against its event: a broker does not
// read messages, and says nothing about one but its size. An event is misplaced where the broker is there, and the
// event's own place is not:
//
//	unroutable           no queue is bound for the routing key: it goes on when the queue is there
//	nacked               a queue is full (x-overflow=reject-publish), or has failed
//	missing, forbidden   there is no such exchange, or the user must not write to it
//
// and unavailable in all other cases:
//
//	not confirmed        the connection or the channel was lost, or the context ended: the broker may have the message
//	blocked              the broker has a memory or disk alarm, and reads from no publisher until it ends
//
// What keeps every message back alike (blocked, no connection) is general: however often it happens while an event is
// tried, it counts against none.
//
// A message that is returned is known by the header rowrelay_publish, its number on the channel: ids need not be
// unique.
//
// # Order and repetition
//
// A delivery is published over one channel in its order, and confirmed as one window. message_id is the event's id,
// which a repetition repeats. While a delivery that ended unconfirmed may still reach the broker, no other is published
// over the same connection: its channel is closed first, and the broker answers that when it has worked off everything
// before. Where the context ends before all of a delivery has been written, the rest is never written: the connection
// is reset at once, and what else was in flight over it is unavailable.
package rabbitmq

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

const (
	defaultConcurrency = 8
	maxConcurrency     = 1000 // a broker takes 2047 channels for each connection unless told otherwise
	dialTimeout        = 10 * time.Second
)

// New checks cfg. Nothing is sent. Errors never hold the URL.
func New(cfg Config) (*Output, error) {
	uri, err := amqp.ParseURI(cfg.URL)
	if err != nil || cfg.URL == "" { // the parser's error quotes the URL, which holds the password
		return nil, errors.New("what output__connection names is not an AMQP URL: write amqp://user:password@host:5672/vhost, or amqps:// for TLS; percent-encode what is no letter or digit in user, password and vhost")
	}
	if cfg.MaxMessage < 0 {
		return nil, errors.New("the largest message of a rabbitmq output is negative")
	}
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = defaultMaxMessage
	}
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	o := &Output{
		cfg: cfg, broker: net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port)), dial: dialTimeout,
		places: make(chan struct{}, min(cfg.Concurrency, maxConcurrency)),
	}
	if uri.ConnectionTimeout > 0 {
		o.dial = time.Duration(uri.ConnectionTimeout) * time.Millisecond
	}
	o.limit.Store(int64(cfg.MaxMessage))
	return o, nil
}

// Close closes the connection. Deliveries that are under way end as unavailable, and so does every later one.
func (o *Output) Close() error {
	o.mu.Lock()
	o.closed = true
	l := o.link
	o.link = nil
	o.mu.Unlock()
	if l == nil {
		return nil
	}
	if l.isBlocked() { // it would not read our goodbye
		l.pipe.abort()
		return nil
	}
	if err := l.conn.CloseDeadline(time.Now().Add(closeTimeout)); err != nil && !errors.Is(err, amqp.ErrClosed) {
		return output.Errorf(err, "close the connection to RabbitMQ at %s: %v", o.broker, err)
	}
	return nil
}

// Deliver publishes the events of d and waits until the broker has confirmed them. It makes one attempt, over the
// connection that is there or over a new one. A crash in here leaves open which messages the broker has.
func (o *Output) Deliver(ctx context.Context, d change.Delivery) error {
	results := make([]result, len(d.Events))
	// What ends a delivery as a whole is why the events that have no reason of their own failed.
	general, why := o.deliver(ctx, &d, results)
	failed := 0
	var first error
	for i := range results {
		r := &results[i]
		if r.accepted {
			continue
		}
		if r.err == nil {
			r.err = why
		}
		if failed++; first == nil {
			first = r.err
		}
	}
	if failed == 0 {
		return nil
	}
	failure := &poller.DeliveryError{Failed: make([]poller.FailedEvent, 0, failed)}
	for i := range results {
		if r := &results[i]; !r.accepted {
			// Each event is a message of its own: what makes it impossible is about this very one.
			failed := poller.FailedEvent{Index: i, Cause: r.cause, Named: r.cause != poller.Unavailable}
			failed.General = general && !failed.Named
			if failed.Named {
				failed.Err = output.Errorf(r.err, "publishing to RabbitMQ at %s: %v", o.broker, r.err)
			}
			failure.Failed = append(failure.Failed, failed)
		}
	}
	failure.Err = output.Errorf(first, "publishing to RabbitMQ at %s: %d of %d events failed: %v", o.broker, failed,
		len(results), first)
	return failure
}

// deliver fills in the results and returns why the events without one failed; general says that no event would have
// fared better.
func (o *Output) deliver(
	ctx context.Context, d *change.Delivery, results []result,
) (general bool, why error) {
	select {
	case o.places <- struct{}{}:
		defer func() { <-o.places }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	routes := o.routes(d, results)
	l, err := o.ready(ctx)
	if err != nil {
		return true, err
	}
	if err := l.prove(ctx, routes, results); err != nil {
		return false, err
	}
	n, err := l.take(ctx)
	if err != nil {
		return false, err
	}
	return n.send(ctx, d, routes, results)
}

// routes finds the events' routes; an event without one is impossible.
func (o *Output) routes(d *change.Delivery, results []result) []route {
	routes := make([]route, len(d.Events))
	for i := range d.Events {
		var err error
		routes[i], err = o.routeOf(d, &d.Events[i])
		if err != nil {
			results[i] = result{cause: poller.Impossible,
				err: output.Errorf(err, "event %s cannot be sent: %v", d.Events[i].ID, err)}
		}
	}
	return routes
}

var errLongRoute = errors.New("its destination has an exchange or a routing key of more than 255 bytes, and AMQP has no room for that")

// routeOf reads a destination: see the package comment.
func (o *Output) routeOf(d *change.Delivery, e *change.Event) (route, error) {
	exchange, key, found, err := o.cfg.Destinations.Cut(d, e)
	if err != nil {
		return route{}, err
	}
	if !found { // a queue
		exchange, key = "", exchange
	}
	if len(exchange) > maxShort || len(key) > maxShort {
		return route{}, errLongRoute
	}
	return route{exchange, key}, nil
}
