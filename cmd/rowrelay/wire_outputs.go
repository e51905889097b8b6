package main

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/output/stdout"
	"github.com/rowrelay/rowrelay/output/storagequeue"
	"github.com/rowrelay/rowrelay/output/webhook"
	"github.com/rowrelay/rowrelay/poller"
)

// openOutput returns the output and the size that an event takes in its format.
func (a *app) openOutput(c *console, p *config.Poller, out *config.Output) (poller.Output, func(*change.Event) int, error) {
	format, err := change.ParseFormat(out.Format)
	if err != nil {
		return nil, nil, err
	}
	size := sizeIn(format, a.cfg.State.AppName, p)
	switch out.Kind {
	case "http":
		headers := make(map[string]string, len(out.Headers))
		for name, value := range out.Headers {
			headers[name] = value.Reveal()
		}
		to, err := webhook.New(webhook.Config{
			URL: out.URL.Reveal(), Headers: headers, Secret: out.Secret.Reveal(), Gzip: out.Gzip,
			Format: format, Single: out.Batch == 1, Concurrency: p.Concurrency, Version: version,
		})
		if err != nil {
			return nil, nil, err
		}
		a.closers = append(a.closers, to.Close)
		return to, size, nil
	case "queue":
		client, err := queueClient(&out.Connection, out.Queue)
		if err != nil {
			return nil, nil, err
		}
		to, err := storagequeue.New(storagequeue.Config{
			Client: client, Format: format, Concurrency: p.Concurrency, Create: out.Connection.Development || a.cfg.State.Create,
		})
		return to, size, err
	case "stdout":
		return stdout.New(c.out, format), size, nil
	default:
		return nil, nil, fmt.Errorf("output kind %q is not http, queue or stdout", out.Kind)
	}
}

// sizeIn returns the most that an event takes in a request, in bytes. What the request says besides the event (batch id,
// table, fingerprint) is taken at its longest, because it is not known yet.
func sizeIn(format change.Format, app string, p *config.Poller) func(*change.Event) int {
	longest := &change.Delivery{
		App: app, Poller: p.Name, Engine: "sqlserver", Table: p.Source.Table + strings.Repeat("x", 128),
		Fingerprint: strings.Repeat("x", len("sha256:")+64), BatchID: "batch_20060102_150405_000000",
	}
	return func(e *change.Event) int { return format.Bound(longest, e) }
}
