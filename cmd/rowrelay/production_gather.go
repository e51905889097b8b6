package main

import (
	"context"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/production"
	"github.com/rowrelay/rowrelay/telemetry"
)

// gathering collects what the production checklist is judged by.
type gathering struct {
	c     *console
	app   *app
	file  host.File
	facts *production.Facts
}

// gather collects all that there is to know of the chosen pollers, and of what they share.
func gather(ctx context.Context, c *console, a *app, chosen []*wired) *production.Facts {
	g := newGathering(c, a)
	if len(chosen) == 0 {
		g.facts.Faults = append(g.facts.Faults, "there are no pollers: set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	g.askStore(ctx)
	for _, w := range chosen {
		g.poller(w).ask(ctx)
	}
	return g.facts
}

// newGathering knows what the settings and the files of a Function App say. It has asked no service yet.
func newGathering(c *console, a *app) *gathering {
	g := &gathering{c: c, app: a, file: c.functionApp().File()}
	s := &a.cfg.State
	f := &production.Facts{
		Config: a.cfg, Environ: c.environ, Local: localNames(c), Faults: append(lines(a.cfg.Faults), g.file.Faults()...),
		Store: production.Store{
			Name: storeName(s), Link: stateLink(a.cfg), Opened: a.store != nil, Account: azure.Account(&s.Connection), OneContainer: azure.OfOneContainer(&s.Connection),
		},
	}
	g.facts = f
	f.HostAccount = azure.HostAccountOf(f.Env)
	f.Telemetry = telemetryFacts(c)
	if g.file.Err == nil {
		f.Host = &production.Host{Timeout: g.file.Timeout()}
		f.Host.HTTP, f.Host.Unread = httpTriggers(c.functionApp())
		g.logLevels("Host.Function.Console")
	}
	return g
}

// logLevels adds what the host passes on of categories.
func (g *gathering) logLevels(categories ...string) {
	for _, category := range categories {
		level, rule := g.file.Logging.Level(category)
		g.facts.Host.LogLevels = append(g.facts.Host.LogLevels, production.LogLevel{Category: category, Level: level, Rule: rule})
	}
}

func telemetryFacts(c *console) production.Telemetry {
	exports, told := telemetry.Exports(c.env)
	t := production.Telemetry{Links: telemetryLinks(exports), Faults: told}
	for _, e := range exports {
		if e.Signal == "metrics" {
			t.Metrics = &telemetryLinks([]telemetry.Export{e})[0]
		}
	}
	return t
}
