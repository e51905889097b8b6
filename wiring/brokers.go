//go:build !small

package wiring

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/azmessaging"
	"github.com/rowrelay/rowrelay/output/eventhubs"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/output/rabbitmq"
	"github.com/rowrelay/rowrelay/output/servicebus"
	"github.com/rowrelay/rowrelay/poller"
)

// Program is what to type for this program.
const Program = "rowrelay"

// openBroker returns an output that sends to a broker. It does not connect yet.
func (a *App) openBroker(p *config.Poller, out *config.Output, format change.Format) (brokerOutput, error) {
	destinations, err := output.ParseDestinations(out.Destination, out.Destinations)
	if err != nil {
		return nil, err
	}
	destinations.KeepCase = out.DestinationCase == "keep"
	switch out.Kind {
	case "rabbitmq":
		return rabbitmq.New(rabbitmq.Config{
			URL: out.Broker.ConnectionString.Reveal(), Destinations: destinations, Format: format,
			Concurrency: p.Concurrency, Create: a.Config.State.Create, Version: a.process.Version,
		})
	case "kafka":
		connection, credential, err := kafkaConnection(&out.Broker)
		if err != nil {
			return nil, err
		}
		return kafka.New(kafka.Config{
			Connection: connection, Credential: credential, Certificate: out.ClientCertificate.Reveal(),
			Destinations: destinations, Format: format,
			MaxMessage: out.MaxMessageBytes, Timeout: out.Timeout, Create: a.Config.State.Create,
		})
	case "eventhubs", "servicebus":
		connection, err := namespaceConnection(&out.Broker)
		if err != nil {
			return nil, err
		}
		if only := connection.EntityPath; only != "" &&
			(!strings.EqualFold(out.Destination, only) || len(out.Destinations) > 0) {
			return nil, fmt.Errorf("the connection string in %s is for %q alone (EntityPath): write "+
				"output__destination=%[2]s, without output__destinations__…, or take the connection string of the whole "+
				"namespace", out.Broker.Setting, only)
		}
		cfg := azmessaging.Config{
			Connection: connection, Destinations: destinations, Format: format,
			Concurrency: messagesPerRequest * p.Concurrency,
		}
		if out.Kind == "eventhubs" {
			to, err := eventhubs.New(cfg)
			return bounded{to}, err
		}
		to, err := servicebus.New(cfg)
		return bounded{to}, err
	default:
		return nil, fmt.Errorf("output kind %q is none of those that docs/settings.md lists", out.Kind)
	}
}

const (
	// messagesPerRequest is how many events of one request are under way at once where each is a message of its own.
	messagesPerRequest = 4
	// closeTimeout bounds the goodbye to a broker: nothing is lost without it.
	closeTimeout = 5 * time.Second
)

// bounded closes an output whose Close waits as long as its context.
type bounded struct{ to closingOutput }

type closingOutput interface {
	poller.Output
	Close(ctx context.Context) error
}

func (b bounded) Deliver(ctx context.Context, d change.Delivery) error { return b.to.Deliver(ctx, d) }

func (b bounded) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return b.to.Close(ctx)
}

// kafkaConnection reads a broker's connection; the credential is nil where the connection says who sends.
func kafkaConnection(b *config.Broker) (kafka.Connection, azcore.TokenCredential, error) {
	if b.Namespace == "" {
		connection, err := kafka.ParseConnection(b.ConnectionString.Reveal())
		if err != nil {
			return kafka.Connection{}, nil, fmt.Errorf("reading %s: %w", b.Setting, err)
		}
		return connection, nil, nil
	}
	credential, err := azure.Credential(b.Identity)
	if err != nil {
		return kafka.Connection{}, nil, err
	}
	connection, err := kafka.EventHubs(b.Namespace)
	return connection, credential, err
}

func namespaceConnection(b *config.Broker) (azmessaging.Connection, error) {
	if b.Namespace == "" {
		connection, err := azmessaging.ParseConnection(b.ConnectionString.Reveal())
		if err != nil {
			return azmessaging.Connection{}, fmt.Errorf("reading %s: %w", b.Setting, err)
		}
		return connection, nil
	}
	credential, err := azure.Credential(b.Identity)
	if err != nil {
		return azmessaging.Connection{}, err
	}
	return azmessaging.WithIdentity(b.Namespace, credential)
}
