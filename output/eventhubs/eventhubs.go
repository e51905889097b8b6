// Package eventhubs sends events to Azure Event Hubs: one message for each event, in the single form of output__format
// (output__kind=eventhubs).
//
// The partition key is the aggregate's id, or the order key of a row: what has one key stays in one partition, in the
// order in which it was sent. A key beyond the service's 128 characters stands as its beginning and a hash, the same
// one every time; an event without an aggregate has no key, and goes to any partition. MessageId is the event's id
// (Event Hubs drops no repetitions: receivers do, by it), the application properties are the event's attributes.
//
// A batch of Event Hubs has one partition key, and the service takes it as a whole or not at all: the events of one order
// key are a batch, so that a delivery may hold several, and those without a key are another. Batches go side by side
// over one link for each hub.
//
// # What is proved, and against what
//
// The package is tested with the SDK against Apache Qpid Proton 0.37 (internal/amqptest): wire form, dispositions,
// refused links and tokens, a lost link and connection, sizes, the end of a context; with a connection string and
// without TLS, and as an identity over TLS, with tokens that nobody checks. It has never been run against Azure: that
// the service answers with the conditions that package azmessaging judges is what its documentation and the SDK's
// source say.
package eventhubs

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"github.com/rowrelay/rowrelay/output/azmessaging"
)

// Config is what an Output needs.
type Config = azmessaging.Config

// Output implements poller.Output. It is safe for concurrent use.
type Output = azmessaging.Output[*azeventhubs.ProducerClient]

// busy is how long the service asks throttled senders to wait (error 50002: "Please wait 4 seconds and try again").
const busy = 4 * time.Second

// leastLimit is less than what the links of any hub take, in bytes: those of the tier Basic take 256 KiB.
const leastLimit = 64 << 10

// New checks cfg. Nothing is sent. Close the output in the end.
func New(cfg Config) (*Output, error) {
	return azmessaging.New(cfg, azmessaging.Service[*azeventhubs.ProducerClient]{
		Name: "Event Hubs", Entity: "event hub", Role: "Azure Event Hubs Data Sender", Busy: busy,
		Open: func(ctx context.Context, hub string) (*azeventhubs.ProducerClient, error) {
			return open(ctx, &cfg.Connection, hub)
		},
		Close: end, Send: send, Code: code,
	})
}

func open(ctx context.Context, c *azmessaging.Connection, hub string) (*azeventhubs.ProducerClient, error) {
	// The SDK's retries are off: the tick repeats, and does so only while its right to deliver holds.
	options := &azeventhubs.ProducerClientOptions{
		RetryOptions: azeventhubs.RetryOptions{MaxRetries: -1},
		NewWebSocketConn: func(ctx context.Context, _ azeventhubs.WebSocketConnParams) (net.Conn, error) {
			return c.Dial(ctx)
		},
	}
	var client *azeventhubs.ProducerClient
	var err error
	if c.Text != "" {
		client, err = azeventhubs.NewProducerClientFromConnectionString(c.Text, hub, options)
	} else {
		client, err = azeventhubs.NewProducerClient(c.Namespace, hub, c.Credential, options)
	}
	if err != nil {
		return nil, err
	}
	// This opens the link. One that takes less than any hub does is none that works: the SDK would call every event too
	// large.
	if _, err = client.NewEventDataBatch(ctx, &azeventhubs.EventDataBatchOptions{MaxBytes: leastLimit}); err != nil {
		end(ctx, client)
		return nil, err
	}
	return client, nil
}

// end closes the connection. What the SDK says about it is of no more use.
func end(ctx context.Context, client *azeventhubs.ProducerClient) { _ = client.Close(ctx) }

// send sends what has room as a batch, which has one partition key.
func send(ctx context.Context, client *azeventhubs.ProducerClient, messages []*azmessaging.Message) (n int, err error) {
	var batchOptions azeventhubs.EventDataBatchOptions
	if key := &messages[0].Key; *key != "" {
		batchOptions.PartitionKey = key
	}
	batch, err := client.NewEventDataBatch(ctx, &batchOptions)
	if err != nil {
		return len(messages), err
	}
	for _, m := range messages {
		event := &azeventhubs.EventData{MessageID: &m.ID, ContentType: &m.ContentType, Properties: m.Properties, Body: m.Body}
		if err := batch.AddEventData(event, nil); n > 0 && errors.Is(err, azeventhubs.ErrEventDataTooLarge) {
			break
		} else if err != nil {
			return n + 1, err
		}
		n++
	}
	// Where the service rejects it with a condition that the SDK does not know, the SDK ends the connection: what else is
	// under way on it is then unavailable, and is sent again.
	return n, client.SendEventDataBatch(ctx, batch, nil)
}

func code(err error) azmessaging.Code {
	if errors.Is(err, azeventhubs.ErrEventDataTooLarge) {
		return azmessaging.TooLarge
	}
	// the answer to a token; its type is the SDK's own affair
	if strings.Contains(err.Error(), "rpc: failed, status code 404") {
		return azmessaging.NotFound
	}
	var own *azeventhubs.Error
	if !errors.As(err, &own) {
		return azmessaging.NoCode
	}
	if own.Code == azeventhubs.ErrorCodeUnauthorizedAccess {
		return azmessaging.Unauthorized
	}
	return azmessaging.NoCode
}
