package main

import (
	"context"
	"strings"

	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/production"
	"github.com/rowrelay/rowrelay/publisher"
)

// gatheredPoller collects what is found of one poller.
type gatheredPoller struct {
	*gathering
	w     *wired
	found *production.Poller
}

// poller adds a poller, with what the settings and the files of a Function App say of it.
func (g *gathering) poller(w *wired) *gatheredPoller {
	p := &gatheredPoller{gathering: g, w: w, found: &production.Poller{
		Config: w.cfg, Engine: w.conn.Engine, Links: linksOf(w), DeadLetters: "the rows themselves",
	}}
	g.facts.Pollers = append(g.facts.Pollers, p.found)
	for i := range w.cfg.Outputs {
		p.found.Destinations = append(p.found.Destinations, destination(&w.cfg.Outputs[i]))
	}
	if w.cfg.Source.Mode.Can(mode.Document) {
		p.found.DeadLetters = deadLettersAt(g.app, w.cfg, "")
		if g.app.store != nil {
			p.found.Margin = g.app.store.Margin(w.cfg.LeaseTTL)
		}
	}
	if g.facts.Host != nil {
		p.readFunctions()
	}
	return p
}

// readFunctions reads the function.json of every function of the poller.
func (p *gatheredPoller) readFunctions() {
	p.found.Leftovers = leftovers(p.c, p.w.cfg)
	for _, fn := range functionsOf(p.w.cfg) {
		one := foundFunction(appRoot(p.c), &fn)
		p.found.Functions = append(p.found.Functions, one)
		if fn.name == p.w.cfg.Name+handler.CleanupSuffix {
			p.found.CleanupErr = one.Err
		}
		p.logLevels("Function."+fn.name, "Function."+fn.name+".User")
	}
}

// ask asks the database, the state store and the queues.
func (p *gatheredPoller) ask(ctx context.Context) {
	w, f := p.w, p.found
	p.check(checkPoller(ctx, p.c, p.app, w, &p.host, 0))
	if w.runner == nil {
		f.Broken = "the poller has a fault: see settings"
		return
	}
	f.Rights, f.RightsErr = engine.AskRights(ctx, w.conn, w.cfg.Source.Table, w.cfg.Source.Timeout)
	p.askQueues(ctx, p.app.cfg.State.Create)
	if w.outbox != nil {
		about, err := w.outbox.About(ctx)
		if err != nil {
			f.Broken = "the outbox has a fault: see settings"
			return
		}
		f.Outbox = outboxFacts(&about, w)
		return
	}
	var err error
	if f.Cursor, err = w.source.CursorColumns(ctx); err != nil {
		f.Broken = "the source has a fault: see settings"
	}
	if p.app.store != nil {
		f.Letters.Stored, f.Letters.StoredErr = p.countLetters(ctx)
	}
}

// check takes over what `rowrelay check` finds.
func (p *gatheredPoller) check(view *pollerView) {
	f := p.found
	for _, text := range view.Faults {
		p.facts.Faults = append(p.facts.Faults, p.w.cfg.Name+": "+text)
	}
	f.Faults, f.Warnings = view.Faults, view.Warnings
	f.Schedule, f.Fires, f.Gap = view.Schedule, view.fires, view.gap
	f.Table = production.Table{
		Index: view.Index, CreateIndex: view.CreateIndex, Key: view.Key, Incarnation: view.Incarnation, NullCursors: view.NullCursors,
	}
	if l := view.Late; l != nil {
		f.Table.Late = &production.Late{Mode: l.Mode, Why: l.Why, Missed: l.Missed, Held: l.Held, Mend: l.Mend, Shown: l.shown, Age: l.age}
	}
	for _, out := range view.Outputs {
		f.Outputs = append(f.Outputs, production.Output{Paused: out.Paused, Parked: out.Parked})
	}
}

func outboxFacts(about *publisher.About, w *wired) *production.Outbox {
	return &production.Outbox{
		Strategy: string(about.Strategy), Layout: about.Layout, Paused: about.Paused, Unsuited: strategyWarnings(about, w),
		Dead: about.Figures.Dead, Failed: about.Figures.Failed,
	}
}

// countLetters counts the poller's dead letters in the state store.
func (p *gatheredPoller) countLetters(ctx context.Context) (n int, err error) {
	prefix := deadletter.Root + p.app.cfg.State.AppName + "/" + p.w.cfg.Name
	found, err := p.app.store.List(ctx, prefix)
	for _, key := range found {
		rest := strings.TrimPrefix(key, prefix)
		if strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, ".") { // not another poller's, whose name begins so
			n++
		}
	}
	return n, err
}
