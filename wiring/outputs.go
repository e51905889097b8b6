package wiring

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

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/bearer"
	"github.com/rowrelay/rowrelay/output/stdout"
	"github.com/rowrelay/rowrelay/output/webhook"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/telemetry"
)

// OpenOutput returns the output and the size that an event takes in its format.
func (a *App) OpenOutput(p *config.Poller, out *config.Output) (poller.Output, func(*change.Event) int,
	error) {
	format, err := change.ParseFormat(out.Format)
	if err != nil {
		return nil, nil, err
	}
	to, err := a.openKind(p, out, format)
	if out.Type != "" || out.Source != "" {
		to = attributed{to, out.Type, out.Source}
	}
	return to, sizeIn(format, a.Config.State.AppName, p, out), err
}

// openKind opens an output of output__kind.
func (a *App) openKind(p *config.Poller, out *config.Output, format change.Format) (poller.Output, error) {
	switch out.Kind {
	case "http":
		to, err := a.openHTTP(p, out, format)
		if err != nil {
			return nil, err
		}
		a.closers = append(a.closers, to.Close)
		return to, nil
	case "queue":
		return a.openQueue(&out.Connection, out.Queue, format, p.Concurrency)
	case "stdout":
		return stdout.New(a.process.Out, format), nil
	default:
		to, err := a.openBroker(p, out, format)
		if err != nil {
			return nil, err
		}
		a.closers = append(a.closers, to.Close)
		return to, nil
	}
}

func (a *App) openHTTP(p *config.Poller, out *config.Output, format change.Format) (*webhook.Output, error) {
	headers := make(map[string]string, len(out.Headers))
	for name, value := range out.Headers {
		headers[name] = value.Reveal()
	}
	cfg := webhook.Config{
		URL: out.URL.Reveal(), Headers: headers, Secret: out.Secret.Reveal(), Gzip: out.Gzip, Method: out.Method,
		Methods: out.Methods, Every: out.Every, Certificate: out.ClientCertificate.Reveal(),
		Several: out.SeveralPerKey,
		Format:  format, Single: out.Batch == 1, Concurrency: p.Concurrency, Version: a.process.Version,
	}
	var tokens bearer.Source
	switch out.Auth {
	case "entra":
		var err error
		if tokens, err = openEntra(out); err != nil {
			return nil, err
		}
	case "oauth2":
		tokens = bearer.OAuth2(bearer.Client{
			TokenURL: out.AuthTokenURL.Reveal(), ID: out.AuthClientID, Secret: out.AuthClientSecret.Reveal(),
			Scope: out.AuthScope,
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

// checkDestinations says every fault of the templates of a poller's brokers: config does not know them.
func (w *Poller) checkDestinations() {
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

func (w *Poller) checkDestination(key, template string) {
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
func relayConfig(a *App, p *config.Poller, out *config.Output, feed poller.Feed, to poller.Output,
	size func(*change.Event) int) poller.Config {
	about := aboutOutput(p, out)
	return poller.Config{
		App: a.Config.State.AppName, Poller: p.Name, Output: out.Name,
		Feed: a.process.Telemetry.Feed(feed, about), To: a.process.Telemetry.Output(host.Stoppable(a.process.Cut, to), about),
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
	case "http":
		if out.SeveralPerKey {
			return out.Batch
		}
	}
	return 1
}
