package main

import (
	"context"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/telemetry"
)

// facts are what the checklist is judged by.
type facts struct {
	c       *console
	app     *app
	host    *hostFile
	hosted  bool            // there is a host.json: this is a Function App
	local   map[string]bool // the settings that local.settings.json holds
	faults  []string        // of all that check finds
	pollers []*pollerFacts
	state   *link // nil: the state is in no service

	listErr error // why the documents cannot be listed
	missing bool  // file: the directory is not there yet
	copies  copies

	exports    []telemetry.Export // where telemetry goes
	exportTold []string           // what is wrong with the OTEL_ variables
}

// pollerFacts are those of one poller. What needs the database is empty where broken says why.
type pollerFacts struct {
	w      *wired
	view   *pollerView
	links  []link
	broken string

	functions  []foundFunction // those that the settings ask for, under the host
	leftovers  []string        // those that they do not, and that are there
	cleanupErr error           // of <poller>_cleanup/function.json

	rights    source.Rights
	rightsErr error
	cursor    []source.CursorColumn
	cursorErr error
	about     *publisher.About

	queues  map[string]error // those that it puts messages on: nil is there
	letters int              // dead letters in the state store
	lettErr error
	waiting *int64 // dead letters in their queue, about; nil: there is no queue, or waitErr
	waitErr error
}

func gather(ctx context.Context, c *console, a *app, chosen []*wired) *facts {
	host := readHost(appRoot(c), c.environ)
	f := &facts{c: c, app: a, host: &host, hosted: host.err == nil, state: stateLink(a.cfg)}
	f.faults = append(lines(a.cfg.Faults), host.faults()...)
	if len(chosen) == 0 {
		f.faults = append(f.faults, "there are no pollers: set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	f.exports, f.exportTold = telemetry.Exports(c.env)
	f.askStore(ctx)
	for _, w := range chosen {
		p := f.gatherPoller(ctx, w)
		for _, text := range p.view.Faults {
			f.faults = append(f.faults, w.cfg.Name+": "+text)
		}
		f.pollers = append(f.pollers, p)
	}
	return f
}

func (f *facts) gatherPoller(ctx context.Context, w *wired) *pollerFacts {
	p := &pollerFacts{w: w, view: checkPoller(ctx, f.c, f.app, w, f.host, 0), links: linksOf(w)}
	if f.hosted {
		p.readFunctions(f.c)
		p.cleanupErr = p.missing(w.cfg.Name + handler.CleanupSuffix)
	}
	if w.runner == nil {
		p.broken = "the poller has a fault: see settings"
		return p
	}
	p.rights, p.rightsErr = source.AskRights(ctx, w.conn, w.cfg.Source.Table, w.cfg.Source.Timeout)
	p.askQueues(ctx, f.app.cfg.State.Create)
	if w.outbox != nil {
		about, err := w.outbox.About(ctx)
		if err != nil {
			p.broken = "the outbox has a fault: see settings"
			return p
		}
		p.about = &about
		return p
	}
	p.cursor, p.cursorErr = w.source.CursorColumns(ctx)
	if p.cursorErr != nil {
		p.broken = "the source has a fault: see settings"
	}
	if f.app.store != nil {
		found, err := f.app.store.List(ctx, deadletter.Root+f.app.cfg.State.AppName+"/"+w.cfg.Name)
		for _, key := range found {
			rest := strings.TrimPrefix(key, deadletter.Root+f.app.cfg.State.AppName+"/"+w.cfg.Name) // not another poller's, whose name begins so
			if strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, ".") {
				p.letters++
			}
		}
		p.lettErr = err
	}
	return p
}

// env is a setting of the environment, whatever its case.
func (f *facts) env(name string) string {
	for _, pair := range f.c.environ {
		if key, value, ok := strings.Cut(pair, "="); ok && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// localNames are the settings that local.settings.json, or the file of --settings, holds.
func localNames(c *console) map[string]bool {
	path := c.settings
	if path == "" {
		path = "local.settings.json"
	}
	values, err := config.ReadLocalSettings(path)
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, pair := range values {
		name, _, _ := strings.Cut(pair, "=")
		names[name] = true
	}
	return names
}
