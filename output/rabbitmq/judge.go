package rabbitmq

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
)

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

// errForeign cannot come from a broker that returns what it was sent.
var errForeign = errors.New("the broker returned a message that it was not sent over this channel: none of the delivery counts as accepted")

// causeOf says what an error of the broker is about: an answer to one question, which costs its channel only, is about
// the exchange or queue that was asked for; all else is about the connection.
func causeOf(err error) poller.Cause {
	var answer *amqp.Error
	if errors.As(err, &answer) && answer.Server && answer.Recover {
		return poller.Misplaced
	}
	return poller.Unavailable
}

// learnPlace notes that one place of this delivery is missing or forbidden, which cost the channel: its events are
// misplaced, those of others were only dragged along. A place that is forbidden is not tried again for a while, so that
// others get through meanwhile; one that is missing is looked for before the next delivery.
func (n *lane) learnPlace(reason *amqp.Error, routes []route, results []result) {
	var open, named []int
	for _, i := range n.events {
		if results[i].accepted || results[i].err != nil {
			continue
		}
		open = append(open, i)
		if about(reason.Reason, routes[i]) {
			named = append(named, i)
		}
	}
	// A reason is cut at 255 bytes, and may name nothing: then it can only be about the one route that there is.
	if len(named) == 0 && !slices.ContainsFunc(open, func(i int) bool { return routes[i] != routes[open[0]] }) {
		named = open
	}
	err := output.Errorf(reason, "%s", n.link.reason(reason))
	for _, i := range named {
		results[i] = result{cause: poller.Misplaced, err: err}
	}
	if reason.Code == amqp.NotFound {
		n.link.forget(routes)
	} else {
		n.link.avoid(reason.Reason, err)
	}
}

// unroutable is what a returned message means: see the package comment for why nothing is held against the event.
func unroutable(r route, returned *amqp.Return, create bool) error {
	why := plaintext.Cut(plaintext.Line(returned.ReplyText), 100)
	switch {
	case r.exchange != "":
		return fmt.Errorf("exchange %q has no queue for the routing key %q (%s): bind a durable queue to it for that key",
			r.exchange, r.key, why)
	case create:
		return fmt.Errorf("queue %q does not exist any more (%s): the next request declares it (state__create=true)", r.key, why)
	default:
		return fmt.Errorf("queue %q does not exist (%s): declare it durable, or set state__create=true; "+
			"a destination of an exchange is written exchange/routing-key", r.key, why)
	}
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

// learnLimit notes that the broker's limit is lower than ours. It closed the channel over one event, which is then
// impossible; what came after it was not taken, and is sent again without it.
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
