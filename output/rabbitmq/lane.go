package rabbitmq

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
)

// numberHeader holds a message's number on its channel, as its confirm has it. A message that is returned is recognised
// by that alone: its id need not be unique, nor its route.
const numberHeader = "rowrelay_publish"

// send publishes the events that have no result yet, and waits for their confirms. It returns why some have none, and
// whether that is general, as an alarm is. The lane is given back, or closed.
func (n *lane) send(
	ctx context.Context, d *change.Delivery, routes []route, results []result,
) (general bool, why error) {
	why = n.publish(ctx, d, routes, results)
	unconfirmed := n.collect(ctx, routes, results)
	clear(n.confirms)
	switch {
	case n.ch.IsClosed():
		why = n.why(d, routes, results)
		if cause := context.Cause(ctx); cause != nil {
			why = cause
		}
	case unconfirmed:
		n.link.pipe.stop(n.end) // the right has ended: what has not left must not leave any more
		n.link.doubt(n)
		cause := context.Cause(ctx)
		if why, general = n.link.alarm(cause), true; why == nil {
			why, general = cause, false
		}
	default:
		n.link.give(n)
	}
	return general, why
}

// publish hands the messages to the connection, which sends them together. It stops at the first that the library does
// not take, and at the end of ctx.
func (n *lane) publish(ctx context.Context, d *change.Delivery, routes []route, results []result) error {
	if cap(n.confirms) < len(results) {
		n.confirms = make([]*amqp.DeferredConfirmation, len(results))
	}
	n.confirms = n.confirms[:len(results)]
	n.events = n.events[:0]
	n.first = int64(n.ch.GetNextPublishSeqNo()) //nolint:gosec // it counts from 1
	n.end = 0
	n.link.pipe.hold()
	defer n.link.pipe.release()
	for i := range results {
		if results[i].err != nil {
			continue
		}
		if ctx.Err() != nil {
			n.link.pipe.stop(n.end) // before the release
			return context.Cause(ctx)
		}
		message, err := n.compose(d, i)
		if err != nil {
			results[i] = result{cause: poller.Impossible, err: err}
			continue
		}
		n.confirms[i], err = n.ch.PublishWithDeferredConfirm(routes[i].exchange, routes[i].key, true, false, message)
		if err != nil {
			n.confirms[i] = nil // what the library calls one is of no use
			return output.Errorf(err, "publish: %s", n.link.reason(err))
		}
		n.events = append(n.events, i)
		n.end = n.link.pipe.position()
	}
	return nil
}

// compose makes the message of event i. Errors are about this event: it can never be sent.
func (n *lane) compose(d *change.Delivery, i int) (amqp.Publishing, error) {
	e := &d.Events[i]
	o := n.link.o
	n.body = o.cfg.Format.AppendEvent(n.body[:0], d, i)
	if limit := o.limit.Load(); int64(len(n.body)) > limit {
		return amqp.Publishing{}, tooLarge(e, len(n.body), limit)
	}
	n.attributes = d.Attributes(n.attributes[:0], e)
	size := n.setHeaders(n.first + int64(len(n.events)))
	// A message's properties are one frame, and a frame that is too large costs the whole connection.
	if frame := n.link.conn.Config.FrameSize; len(e.ID) > maxShort || frame > 0 && size+4*maxShort+64 > frame {
		return amqp.Publishing{}, fmt.Errorf("event %s cannot be sent: its headers take %d bytes and its id %d, and the broker takes %d (frame_max) and %d: shorten its aggregate_id, idempotency_key or cursor columns",
			plaintext.Cut(plaintext.Line(e.ID), maxShort), size, len(e.ID), frame, maxShort)
	}
	message := amqp.Publishing{
		Headers: n.headers, ContentType: o.cfg.Format.ContentTypeOf(e), DeliveryMode: amqp.Persistent,
		MessageId: e.ID, Timestamp: e.Time, Body: n.body,
	}
	if e.Outbox != nil && !e.Outbox.CreatedAt.IsZero() {
		message.Timestamp = e.Outbox.CreatedAt
	}
	// The headers hold these in full; a property that is too long is left out.
	if eventType, _ := n.headers["event_type"].(string); len(eventType) <= maxShort {
		message.Type = eventType
	}
	if len(d.App) <= maxShort {
		message.AppId = d.App
	}
	if cap(n.body) > keep {
		n.body = nil
	}
	return message, nil
}

// setHeaders turns the attributes into headers, beside the message's number, and returns their size on the wire. Most
// values are those of the event before: they are left as they are, which saves their conversion to an interface.
func (n *lane) setHeaders(number int64) int {
	size := 0
	for range 2 {
		size = 4 + 1 + len(numberHeader) + 1 + 8
		n.headers[numberHeader] = number
		for _, a := range n.attributes {
			size += 1 + len(a.Name) + 1 + 4 + len(a.Value)
			if old, ok := n.headers[a.Name].(string); !ok || old != a.Value {
				n.headers[a.Name] = a.Value
			}
		}
		if len(n.headers) == len(n.attributes)+1 {
			break
		}
		clear(n.headers) // the event before had others
	}
	return size
}

// collect waits for the confirms, or for the end of ctx, and notes what has come; it reports whether some are still to
// come.
func (n *lane) collect(ctx context.Context, routes []route, results []result) (unconfirmed bool) {
	var foreign error
	returned := func(r *amqp.Return) {
		number, _ := r.Headers[numberHeader].(int64)
		if at := number - n.first; at >= 0 && at < int64(len(n.events)) {
			i := n.events[at]
			results[i] = result{cause: poller.Misplaced, err: unroutable(routes[i], r, n.link.o.cfg.Create)}
			if routes[i].exchange == "" { // a queue that went away costs no channel, and is told here only
				n.link.forget(routes[i : i+1])
			}
			return
		}
		foreign = errForeign // whichever it was, it was not delivered
	}
	for _, confirm := range n.confirms {
		if confirm != nil && !n.await(ctx, confirm, returned) {
			break
		}
	}
	n.drain(returned)
	closed := n.ch.IsClosed() // then the library has ended the confirms that never came as if they were nacks
	for i, confirm := range n.confirms {
		switch {
		case confirm == nil || results[i].err != nil:
		case foreign != nil:
			results[i].err = foreign
		case confirm.Acked():
			results[i].accepted = true
		case !closed && isDone(confirm):
			results[i] = result{cause: poller.Misplaced, err: nacked(routes[i])}
		default:
			unconfirmed = true
		}
	}
	return unconfirmed
}

// await waits for one confirm and reports whether it came before ctx ended. Meanwhile it takes what is returned: the
// library reads nothing from the connection while nobody does.
func (n *lane) await(ctx context.Context, confirm *amqp.DeferredConfirmation, returned func(*amqp.Return)) bool {
	returns := n.returns
	for {
		select {
		case <-confirm.Done():
			return true
		case r, ok := <-returns:
			if !ok { // the channel is closed, and with it the confirm
				returns = nil
				continue
			}
			returned(&r)
		case <-ctx.Done():
			return false
		}
	}
}

// drain takes the returns that have arrived. One comes before the confirm of its message: none of a confirmed message
// is missing.
func (n *lane) drain(returned func(*amqp.Return)) {
	for {
		select {
		case r, ok := <-n.returns:
			if !ok {
				return
			}
			returned(&r)
		default:
			return
		}
	}
}

func isDone(confirm *amqp.DeferredConfirmation) bool {
	select {
	case <-confirm.Done():
		return true
	default:
		return false
	}
}

// why says why the channel was closed, and notes what can be learned from it.
func (n *lane) why(d *change.Delivery, routes []route, results []result) error {
	var reason *amqp.Error
	select {
	case reason = <-n.closes: // the library sends it before it ends the confirms; nil for a closing of our own
	case <-time.After(closeTimeout): // never: closed means that it is on its way
	}
	if reason == nil {
		return errClosed
	}
	switch reason.Code {
	case amqp.NotFound, amqp.AccessRefused:
		n.learnPlace(reason, routes, results)
	case amqp.PreconditionFailed:
		n.learnLimit(reason, d, results)
	}
	return output.Errorf(reason, "%s", n.link.reason(reason))
}
