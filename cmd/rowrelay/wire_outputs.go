package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/azmessaging"
	"github.com/rowrelay/rowrelay/output/bearer"
	"github.com/rowrelay/rowrelay/output/eventhubs"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/output/rabbitmq"
	"github.com/rowrelay/rowrelay/output/servicebus"
	"github.com/rowrelay/rowrelay/output/stdout"
	"github.com/rowrelay/rowrelay/output/storagequeue"
	"github.com/rowrelay/rowrelay/output/webhook"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/telemetry"
)

// openOutput returns the output and the size that an event takes in its format.
func (a *app) openOutput(c *console, p *config.Poller, out *config.Output) (poller.Output, func(*change.Event) int,
	error) {
	format, err := change.ParseFormat(out.Format)
	if err != nil {
		return nil, nil, err
	}
	to, err := a.openKind(c, p, out, format)
	if out.Type != "" || out.Source != "" {
		to = attributed{to, out.Type, out.Source}
	}
	return to, sizeIn(format, a.cfg.State.AppName, p, out), err
}

// openKind opens an output of output__kind.
func (a *app) openKind(c *console, p *config.Poller, out *config.Output, format change.Format) (poller.Output, error) {
	switch out.Kind {
	case "http":
		to, err := openHTTP(p, out, format)
		if err != nil {
			return nil, err
		}
		a.closers = append(a.closers, to.Close)
		return to, nil
	case "queue":
		client, err := azure.Queue(&out.Connection, out.Queue)
		if err != nil {
			return nil, err
		}
		to, err := storagequeue.New(storagequeue.Config{
			Client: client, Format: format, Concurrency: p.Concurrency, Create: out.Connection.Development || a.cfg.State.Create,
		})
		return to, err
	case "stdout":
		return stdout.New(c.out, format), nil
	default:
		to, err := a.openBroker(p, out, format)
		if err != nil {
			return nil, err
		}
		a.closers = append(a.closers, to.Close)
		return to, nil
	}
}

func openHTTP(p *config.Poller, out *config.Output, format change.Format) (*webhook.Output, error) {
	headers := make(map[string]string, len(out.Headers))
	for name, value := range out.Headers {
		headers[name] = value.Reveal()
	}
	cfg := webhook.Config{
		URL: out.URL.Reveal(), Headers: headers, Secret: out.Secret.Reveal(), Gzip: out.Gzip, Method: out.Method,
		Methods: out.Methods, Every: out.Every, Certificate: out.ClientCertificate.Reveal(),
		Format: format, Single: out.Batch == 1, Concurrency: p.Concurrency, Version: version,
	}
	var tokens bearer.Source
	switch out.Auth {
	case "entra":
		identity, err := azure.Credential(out.Identity())
		if err != nil {
			return nil, err
		}
		tokens = bearer.Entra(identity, out.AuthScope)
	case "oauth2":
		tokens = bearer.OAuth2(bearer.Client{
			TokenURL: out.AuthTokenURL.Reveal(), ID: out.AuthClientID, Secret: out.AuthClientSecret.Reveal(), Scope: out.AuthScope,
		})
	}
	if tokens != nil {
		cfg.Authorize = func(next http.RoundTripper) http.RoundTripper { return bearer.New(tokens, next) }
	}
	return webhook.New(cfg)
}

// attributed puts the CloudEvents attributes on each delivery that the settings choose.
type attributed struct {
	poller.Output

	kind, source string
}

func (o attributed) Deliver(ctx context.Context, d change.Delivery) error {
	d.Type, d.Source = o.kind, o.source
	return o.Output.Deliver(ctx, d)
}

// brokerOutput is an output that keeps connections.
type brokerOutput interface {
	poller.Output
	Close() error
}

// openBroker returns an output that sends to a broker. It does not connect yet.
func (a *app) openBroker(p *config.Poller, out *config.Output, format change.Format) (brokerOutput, error) {
	destinations, err := output.ParseDestinations(out.Destination, out.Destinations)
	if err != nil {
		return nil, err
	}
	destinations.KeepCase = out.DestinationCase == "keep"
	switch out.Kind {
	case "rabbitmq":
		return rabbitmq.New(rabbitmq.Config{
			URL: out.Broker.ConnectionString.Reveal(), Destinations: destinations, Format: format,
			Concurrency: p.Concurrency, Create: a.cfg.State.Create, Version: version,
		})
	case "kafka":
		connection, credential, err := kafkaConnection(&out.Broker)
		if err != nil {
			return nil, err
		}
		return kafka.New(kafka.Config{
			Connection: connection, Credential: credential, Destinations: destinations, Format: format,
			MaxMessage: out.MaxMessageBytes, Timeout: out.Timeout, Create: a.cfg.State.Create,
		})
	case "eventhubs", "servicebus":
		connection, err := namespaceConnection(&out.Broker)
		if err != nil {
			return nil, err
		}
		if only := connection.EntityPath; only != "" &&
			(!strings.EqualFold(out.Destination, only) || len(out.Destinations) > 0) {
			return nil, fmt.Errorf("the connection string in %s is for %q alone (EntityPath): write output__destination=%[2]s, without output__destinations__…, or take the connection string of the whole namespace", out.Broker.Setting, only)
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

// checkDestinations says every fault of the templates of a poller's brokers: config does not know them.
func (w *wired) checkDestinations() {
	for i := range w.Config.Outputs {
		out := &w.Config.Outputs[i]
		if out.Destination == "" {
			continue // no broker, or config has said what is wrong
		}
		prefix := "output__"
		if out.Name != "" {
			prefix = "outputs__" + out.Name + "__"
		}
		w.checkDestination(prefix+"destination", out.Destination)
		for _, eventType := range slices.Sorted(maps.Keys(out.Destinations)) {
			w.checkDestination(prefix+"destinations__"+eventType, out.Destinations[eventType])
		}
	}
}

func (w *wired) checkDestination(key, template string) {
	_, err := output.ParseDestinations(template, nil)
	if err == nil {
		return
	}
	if inner := errors.Unwrap(err); inner != nil { // without the name, which the fault has in front of it
		err = fmt.Errorf("%q: %w", template, inner)
	}
	w.Faults.Add(w.Config.Setting(key), err.Error(), "")
}

// sizeIn returns the most that an event takes in a request, in bytes. What the request says besides the event (batch
// id, table, fingerprint) is taken at its longest, because it is not known yet.
func sizeIn(format change.Format, app string, p *config.Poller, out *config.Output) func(*change.Event) int {
	longest := &change.Delivery{
		App: app, Poller: p.Name, Engine: "sqlserver", Table: p.Source.Table + strings.Repeat("x", 128),
		Fingerprint: strings.Repeat("x", len("sha256:")+64), BatchID: "batch_20060102_150405_000000",
		Type: out.Type, Source: out.Source,
	}
	return func(e *change.Event) int { return format.Bound(longest, e) }
}

// aboutOutput is what spans say of an output: nothing that could be a secret.
func aboutOutput(p *config.Poller, out *config.Output) telemetry.About {
	about := telemetry.About{Poller: p.Name, Output: out.Name, Kind: out.Kind, Destination: out.Destination}
	switch out.Kind {
	case "queue":
		about.Destination = out.Queue
	case "http":
		if u, err := url.Parse(out.URL.Reveal()); err == nil { // the path and query may hold a function's key
			about.Server = u.Hostname()
			about.Port, _ = strconv.Atoi(u.Port())
		}
	}
	return about
}

// relayConfig is how an output's events travel, whatever feed they come from.
func relayConfig(a *app, p *config.Poller, out *config.Output, feed poller.Feed, to poller.Output,
	size func(*change.Event) int) poller.Config {
	about := aboutOutput(p, out)
	return poller.Config{
		App: a.cfg.State.AppName, Poller: p.Name, Output: out.Name,
		Feed: a.telemetry.Feed(feed, about), To: a.telemetry.Output(host.Stoppable(a.cut, to), about),
		Ordering: poller.Ordering(p.Ordering), Concurrency: p.Concurrency,
		Fetch: poller.Limit{Rows: p.BatchSize, Bytes: p.BatchBytes}, FetchMost: p.BatchSizeMax,
		RequestEvents: out.Batch, RequestBytes: out.BatchBytes, Size: size, KeyEvents: keyEvents(out),
		RejectStatus: out.RejectStatus, Retries: out.Retries, Timeout: out.Timeout, Budget: p.TickBudget,
		PollInterval: p.PollInterval, PollIntervalMax: p.PollIntervalMax, MaxBatches: p.MaxBatches,
	}
}

// keyEvents is how many events of one order key a request may hold: several, where the output takes them as a whole or
// not at all.
func keyEvents(out *config.Output) int {
	switch out.Kind {
	case "kafka", "eventhubs", "servicebus":
		return out.Batch
	}
	return 1
}
