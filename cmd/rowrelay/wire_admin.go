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
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/state"
)

// managedDocument is a state document in somebody's hands, with the parts that it was made of.
type managedDocument struct {
	*admin.Document
	app *app
	w   *wired
	out *wiredOutput
}

// find returns what the target's output of a poller is made of. Other pollers' faults do not matter here.
func (a *app) find(ctx context.Context, t *target, name string) (*wired, *wiredOutput, error) {
	w, err := a.poller(strings.ToLower(name))
	if err != nil {
		return nil, nil, err
	}
	if err := refuse(a.cfg, []*wired{w}); err != nil {
		return nil, nil, err
	}
	if m := w.cfg.Source.Mode; !m.Can(mode.Document) {
		return nil, nil, m.NoDocument(w.cfg.Name, t.command)
	}
	part, isBackfill := strings.CutPrefix(t.output, admin.BackfillPrefix)
	if isBackfill && t.history {
		out, err := a.backfillOf(ctx, w, part, instance(t.console))
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
func (w *wired) output(name string) *wiredOutput {
	for _, out := range w.outputs {
		if out.cfg.Name == name {
			return out
		}
	}
	return nil
}

// administered is the document of a poller's output, for somebody to change. output is its name, or that of a named
// backfill.
func (a *app) administered(w *wired, out *wiredOutput, output, by string, log *slog.Logger) *managedDocument {
	d := &admin.Document{
		App: a.cfg.State.AppName, Poller: w.cfg.Name, Output: output, Key: out.key, Keeper: out.keeper,
		Store: a.store, Letters: deadletter.NewStore(a.store), Source: w.source, Positions: w.source,
		Ordering: poller.Ordering(w.cfg.Ordering), MaxParked: w.cfg.MaxParked, By: by, Log: log,
	}
	if w.cfg.DeadLetter.Kind == "queue" {
		d.Queue = w.cfg.DeadLetter.Queue
	}
	return &managedDocument{d, a, w, out}
}

// backfillOf finds the document of a named backfill, with the output that it sends to.
func (a *app) backfillOf(ctx context.Context, w *wired, name, owner string) (*wiredOutput, error) {
	output, err := admin.Ranges{Store: a.store, App: a.cfg.State.AppName, Poller: w.cfg.Name}.OutputOf(ctx, name)
	if err != nil {
		return nil, err
	}
	if out := w.output(output); out != nil {
		return a.namedOutput(w, out.cfg, name, owner)
	}
	return nil, fmt.Errorf("the backfill %s was for output %q, which the settings do not have any more", name, output)
}

// namedOutput is an output with the document of a named backfill.
func (a *app) namedOutput(w *wired, out *config.Output, name, owner string) (*wiredOutput, error) {
	key := state.Key(a.cfg.State.AppName, w.cfg.Name, admin.BackfillPrefix+name)
	keeper, err := state.New(state.Config{
		Store: a.store, Key: key, Poller: w.cfg.Name, Owner: a.cfg.State.AppName + "/" + owner, TTL: w.cfg.LeaseTTL,
	})
	return &wiredOutput{cfg: out, key: key, keeper: keeper}, err
}

// sender sends the rows of a named backfill as its poller's output does.
func (d *managedDocument) sender(c *console, name string, rate int, src checkpointed.Source) (*admin.Sender, error) {
	a, p, out := d.app, d.w.cfg, d.out.cfg
	named, err := a.namedOutput(d.w, out, name, instance(c))
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
	policy := policyOf(p)
	// A key that waits for a person would keep it from ending. What comes after it is the live poller's.
	policy.Block = false
	feed, err := checkpointed.New(checkpointed.Config{
		App: a.cfg.State.AppName, Poller: p.Name, Output: admin.BackfillPrefix + name, Source: src, Keeper: named.keeper,
		Ordering: poller.Ordering(p.Ordering), Policy: policy, DeadLetters: letters,
		LateWindow: p.Source.LateWindow, LateLimit: p.Source.LateLimit, LateMemory: p.Source.LateMemory,
		MaxRowBytes: p.MaxRowBytes,
	})
	if err != nil {
		return nil, err
	}
	rows := p.BatchSize
	if rate > 0 {
		rows = min(rows, rate)
	}
	relay, err := poller.NewRelay(poller.Config{
		App: a.cfg.State.AppName, Poller: p.Name, Output: out.Name, Backfill: name, Feed: feed, To: to,
		Ordering: poller.Ordering(p.Ordering), Concurrency: p.Concurrency,
		Fetch:         poller.Limit{Rows: rows, Bytes: p.BatchBytes},
		RequestEvents: out.Batch, RequestBytes: out.BatchBytes, Size: size, RejectStatus: out.RejectStatus,
		Retries: out.Retries,
		Timeout: out.Timeout, Budget: p.TickBudget, MaxBatches: 1,
	})
	return &admin.Sender{Relay: relay, Keeper: named.keeper, Key: named.key}, err
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
	pub, err := publisher.New(publisherConfig(a, c, w.cfg, nil), w.conn)
	if err != nil {
		return nil, nil, fmt.Errorf("pollers__%s__source: %w", w.cfg.Name, err)
	}
	return w.cfg, pub, nil
}

// tableOf returns a poller that is an outbox, connected, without faults that concern its table. Nothing else of it is
// wired.
func (a *app) tableOf(name string) (*wired, error) {
	for _, p := range a.cfg.Pollers {
		a.pollers = append(a.pollers, &wired{cfg: p})
	}
	w, err := a.poller(strings.ToLower(name))
	if err != nil {
		return nil, err
	}
	for _, f := range w.cfg.Faults {
		if aboutTable(w.cfg, f.Setting) {
			w.faults = append(w.faults, f)
		}
	}
	if len(w.faults) == 0 {
		a.connect(w)
	}
	switch {
	case len(w.faults) > 0:
		return nil, fmt.Errorf("the settings have %d fault(s):\n%w", len(w.faults), w.faults)
	case !w.cfg.Source.Mode.Can(mode.Marks):
		return nil, w.cfg.Source.Mode.NoMarks(w.cfg.Name)
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
