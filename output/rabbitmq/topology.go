package rabbitmq

import (
	"context"
	"errors"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// maxProven bounds the memory of what exists, where routes are made of ids.
const maxProven = 10000

// prove looks once in a connection whether an exchange is there, and declares it where that is wanted; the same for a
// queue where it is wanted. A message to a missing exchange costs the channel, and with it the confirms of all other
// events of the delivery: so the events of a missing exchange fail before, and the others go.
func (l *link) prove(ctx context.Context, routes []route, results []result) error {
	var failed map[route]error
	for i, r := range routes {
		if results[i].err != nil {
			continue
		}
		if err := l.avoids(r); err != nil {
			results[i] = result{cause: poller.Misplaced, err: err}
			continue
		}
		if r.exchange != "" {
			r.key = "" // the exchange is what is looked for
		} else if !l.o.cfg.Create {
			continue // the message itself shows that a queue is missing
		}
		err, known := failed[r]
		if !known {
			err = l.proveOne(ctx, r)
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if failed == nil {
			failed = map[route]error{}
		}
		failed[r] = err
		results[i] = result{cause: causeOf(err), err: err}
	}
	return nil
}

func (l *link) proveOne(ctx context.Context, r route) error {
	l.mu.Lock()
	_, known := l.proven[r]
	l.mu.Unlock()
	if known {
		return nil
	}
	_, err := within(ctx, func() (struct{}, error) { return struct{}{}, l.look(r) }, func(struct{}) {})
	if err != nil {
		return err
	}
	l.mu.Lock()
	if len(l.proven) >= maxProven {
		clear(l.proven)
	}
	l.proven[r] = struct{}{}
	l.mu.Unlock()
	return nil
}

// look asks the broker.
func (l *link) look(r route) error {
	err := l.ask(func(ch *amqp.Channel) error {
		if r.exchange != "" {
			return ch.ExchangeDeclarePassive(r.exchange, amqp.ExchangeTopic, true, false, false, false, nil)
		}
		_, err := ch.QueueDeclarePassive(r.key, true, false, false, false, nil)
		return err
	})
	var answer *amqp.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &answer):
		return err
	case answer.Code == amqp.ResourceLocked: // another connection's exclusive queue: it is there
		return nil
	case answer.Code != amqp.NotFound:
		return output.Errorf(err, "look for %s: %s", r, l.reason(err))
	case !l.o.cfg.Create:
		return output.Errorf(err, "%s does not exist: declare it, with a durable queue bound to it, or set state__create=true (which declares a durable topic exchange)", r)
	}
	err = l.ask(func(ch *amqp.Channel) error {
		if r.exchange != "" {
			return ch.ExchangeDeclare(r.exchange, amqp.ExchangeTopic, true, false, false, false, nil)
		}
		_, err := ch.QueueDeclare(r.key, true, false, false, false, nil)
		return err
	})
	if err != nil {
		return output.Errorf(err, "declare %s: %s", r, l.reason(err))
	}
	return nil
}

// String names what look looks for.
func (r route) String() string {
	if r.exchange != "" {
		return "exchange " + r.exchange
	}
	return "queue " + r.key
}

// ask uses a channel of its own: an answer that says no closes it.
func (l *link) ask(question func(*amqp.Channel) error) error {
	ch, err := l.conn.Channel()
	if err != nil {
		return output.Errorf(err, "open a channel: %s", l.reason(err))
	}
	if err := question(ch); err != nil {
		return err
	}
	_ = ch.Close() // an error is one of the connection, and the next to use it meets it
	return nil
}
