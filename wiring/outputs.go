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
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/bearer"
	"github.com/rowrelay/rowrelay/output/shaping"
	"github.com/rowrelay/rowrelay/output/sqltable"
	"github.com/rowrelay/rowrelay/output/stdout"
	"github.com/rowrelay/rowrelay/output/webhook"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/telemetry"
)

// Opened is an output, and how its events become what it sends.
type Opened struct {
	To poller.Output
	// Shape is poller.Config.Shape; nil: events are sent as they are.
	Shape func(*change.Event) (change.Event, error)
	size  func(*change.Event) int // of a shaped event in the output's format
}

// OpenOutput returns the output.
func (a *App) OpenOutput(p *config.Poller, out *config.Output) (*Opened, error) {
	format, err := change.ParseFormat(out.Format)
	if err != nil {
		return nil, err
	}
	shape, err := a.shape(p, out)
	if err != nil {
		return nil, err
	}
	to, err := a.openKind(p, out, format)
	if out.Type != "" || out.Source != "" {
		to = attributed{to, out.Type, out.Source}
	}
	return &Opened{to, shape, sizeIn(format, a.Config.State.AppName, p, out)}, err
}

// shape is what an output makes of events; nil where it sends them as they are. It is made once.
func (a *App) shape(p *config.Poller, out *config.Output) (func(*change.Event) (change.Event, error), error) {
	key := outputPrefix(p.Name, out.Name)
	if known, ok := a.shapes[key]; ok {
		return known, nil
	}
	format, err := change.ParseFormat(out.Format)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // a fault of the settings, which config has told
	}
	shaper, err := shaping.New(shaping.Rules{
		Columns: out.Columns, Masks: out.Mask, Secret: out.MaskSecret.Reveal(), Constants: out.Constants, JQ: out.JQ,
		Cursor: p.Source.Cursor, Format: format, MaxBytes: p.MaxRowBytes,
	})
	if err != nil {
		return nil, err
	}
	if a.shapes == nil {
		a.shapes = map[string]func(*change.Event) (change.Event, error){}
	}
	if a.shapes[key] = nil; shaper != nil {
		a.shapes[key] = shaper.Shape
	}
	return a.shapes[key], nil
}

// checkShapes says what is wrong with the shaping of a poller's outputs: config does not know it.
func (a *App) checkShapes(w *Poller) {
	for i := range w.Config.Outputs {
		out := &w.Config.Outputs[i]
		_, err := a.shape(w.Config, out)
		if fault := (*shaping.Fault)(nil); errors.As(err, &fault) {
			w.Faults.Add(w.Config.Setting(outputKey(out.Name)+fault.Setting), fault.Err.Error(), "See docs/shaping.md")
		}
	}
}

// Deliver sends one event that no tick has shaped. One that the settings leave out counts as sent.
func (o *Opened) Deliver(ctx context.Context, d change.Delivery) error {
	if o.Shape == nil {
		return o.To.Deliver(ctx, d)
	}
	sent, err := o.Shape(&d.Events[0])
	switch {
	case err != nil:
		return err
	case sent.Broken != nil:
		return sent.Broken
	case sent.Aside:
		return nil
	}
	d.Events = []change.Event{sent}
	return o.To.Deliver(ctx, d)
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
	case "sql":
		to, err := a.openTable(p, out)
		if err != nil {
			return nil, err
		}
		a.closers = append(a.closers, to.Close)
		return to, nil
	default:
		to, err := a.openBroker(p, out, format)
		if err != nil {
			return nil, err
		}
		a.closers = append(a.closers, to.Close)
		return to, nil
	}
}

// openTable opens an output that writes into a table. It does not connect yet.
func (a *App) openTable(p *config.Poller, out *config.Output) (*sqltable.Output, error) {
	conn, err := inspect.ConnectionOf(&out.Database)
	if err != nil {
		return nil, err
	}
	return sqltable.New(sqltable.Config{Connection: conn, Table: out.Table, Connections: p.Concurrency,
		Sender: strings.TrimSuffix(a.Config.State.AppName+"/"+p.Name+"/"+out.Name, "/"), Create: a.Config.State.Create})
}

// ready asks the destination of an output whether it can take the rows of a source; nil where there is nothing to ask.
func (a *App) ready(p *config.Poller, out *config.Output) func(context.Context, *source.Check) error {
	if out.Kind != "sql" {
		return nil
	}
	return func(ctx context.Context, rows *source.Check) error {
		to, err := a.openTable(p, out)
		if err != nil {
			return err
		}
		defer to.Close() //nolint:errcheck // nothing was written
		return to.Ready(ctx, rows.Engine, rows.KeyColumns, rows.Catalog)
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
	if log := a.process.Log; log != nil {
		cfg.Doubt = func(text string) {
			log.Warn(text, "event", "warning", "poller", p.Name, "output", out.Name)
		}
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

// checkDestinations says every fault of the templates of a poller's brokers: config does not know them.
func (w *Poller) checkDestinations() {
	for i := range w.Config.Outputs {
		out := &w.Config.Outputs[i]
		if out.Destination == "" {
			continue // no broker, or config has said what is wrong
		}
		prefix := outputKey(out.Name)
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
func relayConfig(a *App, p *config.Poller, out *config.Output, feed poller.Feed, to *Opened) poller.Config {
	about := aboutOutput(p, out)
	stoppable := heard(host.Stoppable(a.process.Cut, to.To), a.process.Log, p.Name, out.Name)
	return poller.Config{
		App: a.Config.State.AppName, Poller: p.Name, Output: out.Name,
		Feed: a.process.Telemetry.Feed(feed, about), To: a.process.Telemetry.Output(stoppable, about),
		Ordering: poller.Ordering(p.Ordering), Concurrency: p.Concurrency,
		Fetch: poller.Limit{Rows: p.BatchSize, Bytes: p.BatchBytes}, FetchMost: p.BatchSizeMax,
		RequestEvents: out.Batch, RequestBytes: out.BatchBytes, Size: to.size, Shape: to.Shape, KeyEvents: keyEvents(out),
		RejectStatus: out.RejectStatus, Retries: out.Retries, Timeout: out.Timeout, Budget: p.TickBudget, Linger: p.Linger,
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

func outputPrefix(name, output string) string {
	return strings.TrimSuffix("pollers__"+name+"__"+outputKey(output), "__")
}

// outputKey is what the settings of an output begin with, within its poller's.
func outputKey(output string) string {
	if output == "" {
		return "output__"
	}
	return "outputs__" + output + "__"
}

// brokerOutput is an output that keeps connections.
type brokerOutput interface {
	poller.Output
	Close() error
}
