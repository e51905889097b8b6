// Package servicebus sends events to queues and topics of Azure Service Bus: a message for each event, in the single
// form of output__format (output__kind=servicebus).
//
// A message's MessageId is the event's id, so that duplicate detection (a property of the entity) drops repetitions
// within its window. SessionId and PartitionKey are the aggregate's id, or the order key of a row: an entity with
// sessions keeps each aggregate's order for its receivers, one without ignores the session. An id beyond the service's
// 128 characters stands as its beginning and a hash, the same one every time. An event without an aggregate has
// neither: it has no order to keep, and an entity with sessions refuses it. Subject is the event's type, the
// application properties are the event's attributes.
//
// The events of one order key are a batch, one message of AMQP, which the service takes as a whole or not at all: so a
// delivery may hold several. Batches do not mix keys, which a partitioned entity refuses, and go side by side over one
// link for each destination.
//
// # What is proved, and against what
//
// The package is tested with the SDK against Apache Qpid Proton 0.37 (internal/amqptest): wire form, dispositions,
// refused links and tokens, a lost link and connection, sizes, the end of a context; with a connection string and
// without TLS, and as an identity over TLS, with tokens that nobody checks. It has never been run against Azure: that
// the service answers with the conditions that package azmessaging judges is what its documentation and the SDK's
// source say.
package servicebus

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/rowrelay/rowrelay/output/azmessaging"
)

// Config is what an Output needs.
type Config = azmessaging.Config

// Output implements poller.Output. It is safe for concurrent use.
type Output = azmessaging.Output[*link]

// busy is how long the service asks throttled senders to wait (Throttling operations on Azure Service Bus).
const busy = 10 * time.Second

// New checks cfg. Nothing is sent. Close the output in the end.
func New(cfg Config) (*Output, error) {
	return azmessaging.New(cfg, azmessaging.Service[*link]{
		Name: "Service Bus", Entity: "queue or topic", Role: "Azure Service Bus Data Sender", Busy: busy,
		Open: func(ctx context.Context, destination string) (*link, error) {
			return open(ctx, &cfg.Connection, destination)
		},
		Close: func(ctx context.Context, l *link) { l.end(ctx) },
		Send:  send,
		Code:  code,
	})
}

// link is a sender on a connection of its own, so that a connection that is lost takes nothing else with it: without
// retries the SDK does not replace one.
type link struct {
	client *azservicebus.Client
	sender *azservicebus.Sender
}

func open(ctx context.Context, c *azmessaging.Connection, destination string) (*link, error) {
	// The SDK's retries are off: the tick repeats, and does so only while its right to deliver holds. The SDK still
	// repeats a message at once, and once, when the link turns out to be detached.
	options := &azservicebus.ClientOptions{
		RetryOptions: azservicebus.RetryOptions{MaxRetries: -1},
		NewWebSocketConn: func(ctx context.Context, _ azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
			return c.Dial(ctx)
		},
	}
	var l link
	var err error
	if c.Text != "" {
		l.client, err = azservicebus.NewClientFromConnectionString(c.Text, options)
	} else {
		l.client, err = azservicebus.NewClient(c.Namespace, c.Credential, options)
	}
	if err != nil {
		return nil, err
	}
	if l.sender, err = l.client.NewSender(destination, nil); err == nil {
		// The SDK opens the link with the first use, and opens several when several uses come at once.
		_, err = l.sender.NewMessageBatch(ctx, nil)
	}
	if err != nil {
		l.end(ctx)
		return nil, err
	}
	return &l, nil
}

// end closes the connection: senders go with it. What the SDK says about it is of no more use.
func (l *link) end(ctx context.Context) { _ = l.client.Close(ctx) }

// send sends what has room as a batch. A message that none has room for may have it by itself.
func send(ctx context.Context, l *link, messages []*azmessaging.Message) (int, error) {
	if len(messages) == 1 {
		return 1, l.sender.SendMessage(ctx, message(messages[0]), nil)
	}
	batch, err := l.sender.NewMessageBatch(ctx, nil)
	if err != nil {
		return len(messages), err
	}
	for n, m := range messages {
		switch err := batch.AddMessage(message(m), nil); {
		case err == nil:
			continue
		case n == 0:
			return send(ctx, l, messages[:1])
		case !errors.Is(err, azservicebus.ErrMessageTooLarge):
			return n + 1, err
		}
		return n, l.sender.SendMessageBatch(ctx, batch, nil)
	}
	return len(messages), l.sender.SendMessageBatch(ctx, batch, nil)
}

func message(m *azmessaging.Message) *azservicebus.Message {
	message := &azservicebus.Message{
		MessageID: &m.ID, Subject: &m.Type, ContentType: &m.ContentType, ApplicationProperties: m.Properties, Body: m.Body,
	}
	if m.Key != "" { // an empty session would be one, too: that of all events without an aggregate
		message.SessionID, message.PartitionKey = &m.Key, &m.Key
	}
	return message
}

func code(err error) azmessaging.Code {
	if errors.Is(err, azservicebus.ErrMessageTooLarge) {
		return azmessaging.TooLarge
	}
	var own *azservicebus.Error
	if !errors.As(err, &own) {
		return azmessaging.NoCode
	}
	switch own.Code {
	case azservicebus.CodeUnauthorizedAccess:
		return azmessaging.Unauthorized
	case azservicebus.CodeNotFound:
		return azmessaging.NotFound
	default:
		return azmessaging.NoCode
	}
}
