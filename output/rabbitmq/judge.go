package rabbitmq

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// judgeDial tells what a failed attempt to connect means.
func judgeDial(err error) error {
	switch {
	// The library says so for whatever ends the handshake at that point: a broker that closes the connection without a word, as
	// it does with a wrong password, and one that is just going down.
	case errors.Is(err, amqp.ErrCredentials), errors.Is(err, amqp.ErrSASL):
		return output.Errorf(err, "the broker did not let us in: check user and password in the URL that output__connection names (or it is just starting or stopping)")
	case errors.Is(err, amqp.ErrVhost):
		return output.Errorf(err, "the broker did not open the virtual host: check the path of the URL that output__connection names, and the user's permissions (rabbitmqctl list_permissions)")
	default:
		return output.Errorf(err, "connect: %v", err)
	}
}

// reason is the text of an error of the library.
func (l *link) reason(err error) string {
	var e *amqp.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Reason
	switch {
	case errors.Is(err, amqp.ErrClosed):
		return "the connection was closed; the next attempt opens a new one"
	case e.Code == amqp.FrameError && !e.Server:
		text = "the connection was lost: " + e.Reason
	case e.Code == amqp.AccessRefused:
		text += ": give the user the permission to write (rabbitmqctl set_permissions)"
	case e.Code == amqp.ConnectionForced:
		text += " (the broker stops, or an operator closed the connection)"
	}
	return text
}

// unroutable is what a returned message means: see the package comment for why nothing is held against the event.
func unroutable(r route, why *amqp.Return) error {
	if r.exchange == "" {
		return fmt.Errorf("queue %q does not exist (%s): declare it durable, or set state__create=true; a destination of an exchange is written exchange/routing-key", r.key, output.OneLine(why.ReplyText, 100))
	}
	return fmt.Errorf("exchange %q has no queue for the routing key %q (%s): bind a durable queue to it for that key", r.exchange, r.key, output.OneLine(why.ReplyText, 100))
}

// nacked is what basic.nack means.
func nacked(r route) error {
	return fmt.Errorf("the broker did not take the message (basic.nack) for exchange %q, routing key %q: a queue is full (x-overflow=reject-publish) or has failed", r.exchange, r.key)
}

// tooLarge is what makes an event impossible.
func tooLarge(e *change.Event, size int, limit int64) error {
	return fmt.Errorf("event %s takes %d bytes as a message, and %d are the most for RabbitMQ: raise the broker's max_message_size, leave columns out, or send a reference", e.ID, size, limit)
}

// sizes finds the two numbers in "message size 134217729 is larger than configured max size 134217728".
var sizes = regexp.MustCompile(`message size (\d+) .*max size (\d+)`)

// learnLimit notes that the broker's limit is lower than ours. It closed the channel over one event, which is then impossible;
// what came behind it was not taken, and is sent again without it.
func (n *lane) learnLimit(reason *amqp.Error, d *change.Delivery, results []result) {
	found := sizes.FindStringSubmatch(reason.Reason)
	if found == nil {
		return
	}
	limit, err := strconv.ParseInt(found[2], 10, 64)
	if err != nil {
		return
	}
	n.link.o.limit.Store(min(limit, n.link.o.limit.Load()))
	for i := range results {
		if r := &results[i]; !r.accepted && r.err == nil {
			n.body = n.link.o.cfg.Format.AppendEvent(n.body[:0], d, i)
			if int64(len(n.body)) > limit {
				*r = result{cause: poller.Impossible, err: tooLarge(&d.Events[i], len(n.body), limit)}
			}
		}
	}
}
