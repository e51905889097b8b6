package kafka

import (
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
)

// Config is what an Output needs.
type Config struct {
	// Connection is what output__connection names: see ParseConnection and EventHubs.
	Connection Connection
	// Credential is the identity that Event Hubs knows the sender by, instead of a user and a secret in Connection. It
	// needs the role Azure Event Hubs Data Sender. Nil for none.
	Credential azcore.TokenCredential
	// Certificate is output__client_certificate: PEM of a certificate and its key, by which the brokers know the sender.
	// "" is none.
	Certificate string
	// Destinations say which topic an event goes to.
	Destinations output.Destinations
	// Format is output__format.
	Format change.Format
	// MaxMessage is the most bytes that a batch of records takes, and so a record with its key and headers: what the
	// brokers have as message.max.bytes, and topics as max.message.bytes: output__max_message_bytes. 0 means 1,000,000, a
	// little less than both Kafka's default and Event Hubs' limit.
	MaxMessage int
	// Timeout bounds a delivery, connecting included: output__timeout. 0 means 30 s.
	Timeout time.Duration
	// Create creates a topic that does not exist, with the broker's own number of partitions and replicas.
	Create bool
}

// Output implements poller.Output. It is safe for concurrent use.
type Output struct {
	cfg      Config
	security []kgo.Opt

	mu     sync.Mutex
	idle   []*producer // the last is taken first, so that those which are not needed stay unused
	closed bool
}

// producer is a client that one delivery at a time has to itself.
type producer struct {
	client  *kgo.Client
	trouble *trouble
	closed  bool
}
