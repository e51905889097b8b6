package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
)

// managedDocument is a state document in somebody's hands, with the parts that it was made of.
type managedDocument struct {
	*admin.Document
	app *app
	w   *wired
	out *inspect.WiredOutput
}

// find returns what the target's output of a poller is made of. Other pollers' faults do not matter here.
func (a *app) find(ctx context.Context, t *target, name string) (*wired, *inspect.WiredOutput, error) {
	w, err := a.poller(strings.ToLower(name))
	if err != nil {
		return nil, nil, err
	}
	if err := refuse(a.cfg, []*wired{w}); err != nil {
		return nil, nil, err
	}
	if m := w.Config.Source.Mode; !m.Can(mode.Document) {
		return nil, nil, m.NoDocument(w.Config.Name, t.command)
	}
	part, isBackfill := strings.CutPrefix(t.output, admin.BackfillPrefix)
	if isBackfill && t.history {
		out, err := a.backfillOf(ctx, t.console, w, part)
		return w, out, err
	}
	if out := w.output(t.output); out != nil {
		return w, out, nil
	}
	if isBackfill {
		return nil, nil, fmt.Errorf("poller %s has no output %q, and this command changes no named backfill: started again under its name it goes "+
			"on (rowrelay backfill %[1]s --name %[3]s), under another name it begins anew", name, t.output, part)
	}
	return nil, nil, fmt.Errorf("poller %s has no output %q", name, t.output)
}

// output returns an output by its name; nil where there is none.
func (w *wired) output(name string) *inspect.WiredOutput {
	for i := range w.Outputs {
		if w.Outputs[i].Config.Name == name {
			return &w.Outputs[i]
		}
	}
	return nil
}

// managed is the document of the target's output of a poller, or of a named backfill, for somebody to change.
func (a *app) managed(ctx context.Context, t *target, name, by string, log *slog.Logger) (*managedDocument, error) {
	w, out, err := a.find(ctx, t, name)
	if err != nil {
		return nil, err
	}
	d := &admin.Document{
		App: a.cfg.State.AppName, Poller: w.Config.Name, Output: t.output, Key: out.Key, Keeper: out.Keeper,
		Store: a.store, Letters: deadletter.NewStore(a.store), Source: w.Source, Positions: w.Source,
		Ordering: poller.Ordering(w.Config.Ordering), MaxParked: w.Config.MaxParked, By: by, Log: log,
	}
	if w.Config.DeadLetter.Kind == "queue" {
		d.Queue = w.Config.DeadLetter.Queue
	}
	return &managedDocument{d, a, w, out}, nil
}

// backfillOf finds the document of a named backfill, with the output that it sends to.
func (a *app) backfillOf(ctx context.Context, c *console, w *wired, name string) (*inspect.WiredOutput, error) {
	output, err := admin.Ranges{Store: a.store, App: a.cfg.State.AppName, Poller: w.Config.Name}.OutputOf(ctx, name)
	if err != nil {
		return nil, err
	}
	if out := w.output(output); out != nil {
		named, err := a.document(c, w.Config, out.Config, admin.BackfillPrefix+name)
		return &named, err
	}
	return nil, fmt.Errorf("the backfill %s was for output %q, which the settings do not have any more", name, output)
}

// sender sends the rows of a named backfill as its poller's output does.
func (d *managedDocument) sender(c *console, name string, rate int, src checkpointed.Source) (*admin.Sender, error) {
	a, p, out := d.app, d.w.Config, d.out.Config
	named, err := a.document(c, p, out, admin.BackfillPrefix+name)
	if err != nil {
		return nil, err
	}
	to, size, err := a.openOutput(c, p, out)
	if err != nil {
		return nil, err
	}
	letters, err := a.openDeadLetters(d.w)
	if err != nil {
		return nil, err
	}
	rows := feedConfig(a, p, admin.BackfillPrefix+name, src, named.Keeper, letters)
	// A key that waits for a person would keep it from ending. What comes after it is the live poller's.
	rows.Policy.Block = false
	feed, err := checkpointed.New(rows)
	if err != nil {
		return nil, err
	}
	cfg := relayConfig(a, p, out, feed, to, size)
	cfg.Backfill, cfg.MaxBatches, cfg.PollInterval = name, 1, 0
	if rate > 0 {
		cfg.Fetch.Rows = min(cfg.Fetch.Rows, rate)
	}
	relay, err := poller.NewRelay(cfg)
	return &admin.Sender{Relay: relay, Keeper: named.Keeper, Key: named.Key}, err
}

// controls are what can be done with a poller at once: those of an outbox that can be opened, else of the document of
// the target's output. Whoever calls it ends them.
func (a *app) controls(ctx context.Context, t *target, name, by string, log *slog.Logger) (
	c admin.Controls, end func(), err error,
) {
	if p, pub, err := openTable(t.console, a.cfg, name); err == nil {
		outbox := &admin.Outbox{Poller: p.Name, Events: pub, By: by, Log: log}
		return outbox, func() { _ = pub.Close() }, nil // what was to be written is written by then
	}
	d, err := a.managed(ctx, t, name, by, log)
	if err != nil {
		return nil, nil, err
	}
	return d, func() {}, nil
}

// openTable opens the outbox of a poller, for its table alone. Nothing is published here: of its settings only those of
// the table and the claims have to be right, so that it can be paused, or looked into, while others are being mended.
// Whoever calls it closes it.
func openTable(c *console, cfg *config.App, name string) (*config.Poller, *publisher.Publisher, error) {
	a := &app{cfg: cfg}
	w, err := a.tableOf(name)
	if err != nil {
		return nil, nil, err
	}
	pub, err := publisher.New(publisherConfig(a, c, w.Config, nil), w.Connection)
	if err != nil {
		return nil, nil, fmt.Errorf("pollers__%s__source: %w", w.Config.Name, err)
	}
	return w.Config, pub, nil
}

// tableOf returns a poller that is an outbox, connected, without faults that concern its table. Nothing else of it is
// wired.
func (a *app) tableOf(name string) (*wired, error) {
	w, err := a.sourceOf(name)
	if err == nil && !w.Config.Source.Mode.Can(mode.Marks) {
		return nil, w.Config.Source.Mode.NoMarks(w.Config.Name)
	}
	return w, err
}

// sourceOf returns a poller, connected, without faults that concern its table. Nothing else of it is wired.
func (a *app) sourceOf(name string) (*wired, error) {
	for _, p := range a.cfg.Pollers {
		a.pollers = append(a.pollers, &wired{Wired: inspect.Wired{Config: p}})
	}
	w, err := a.poller(strings.ToLower(name))
	if err != nil {
		return nil, err
	}
	for _, f := range w.Config.Faults {
		if aboutTable(w.Config, f.Setting) {
			w.Faults = append(w.Faults, f)
		}
	}
	if len(w.Faults) == 0 {
		a.connect(w)
	}
	if len(w.Faults) > 0 {
		return nil, fmt.Errorf("the settings have %d fault(s):\n%w", len(w.Faults), w.Faults)
	}
	return w, nil
}

// aboutTable reports whether a setting says where a poller's outbox and its claims are, what is in its columns, or
// which events wait behind others there.
func aboutTable(p *config.Poller, setting string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(setting), "pollers__"+p.Name+"__")
	if !ok { // the setting that holds a connection, or a misspelt name
		lower := strings.ToLower(setting)
		for _, name := range []string{strings.ToLower(p.Source.ConnectionSetting),
			strings.ToLower(p.Source.Connection.Setting)} {
			if lower == name || strings.HasPrefix(lower, name+"__") {
				return true
			}
		}
		return strings.HasPrefix(lower, "poll") && strings.Contains(lower, "source")
	}
	switch {
	case strings.HasPrefix(rest, "source__fanout_"), rest == "source__cleanup_schedule":
		return false
	default:
		return strings.HasPrefix(rest, "source__") || rest == "ordering" || rest == "after_dead_letter"
	}
}
