package wiring

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

// Document is a state document in somebody's hands, with the parts that it was made of.
type Document struct {
	*admin.Document
	App *App
	Of  *Poller
	To  *inspect.WiredOutput
}

// Choice is which document of a poller is meant.
type Choice struct {
	Output  string
	Command string // the command's path, for a poller that has no document
	// Backfills says that Output may also be backfill-NAME, the document of a named backfill.
	Backfills bool
}

// Find returns what the chosen output of a poller is made of. Other pollers' faults do not matter here.
func (a *App) Find(ctx context.Context, of *Choice, name string) (*Poller, *inspect.WiredOutput, error) {
	w, err := a.Poller(strings.ToLower(name))
	if err != nil {
		return nil, nil, err
	}
	if err := Refuse(a.Config, []*Poller{w}); err != nil {
		return nil, nil, err
	}
	if m := w.Config.Source.Mode; !m.Can(mode.Document) {
		return nil, nil, m.NoDocument(w.Config.Name, of.Command)
	}
	part, isBackfill := strings.CutPrefix(of.Output, admin.BackfillPrefix)
	if isBackfill && of.Backfills {
		out, err := a.backfillOf(ctx, w, part)
		return w, out, err
	}
	if out := w.output(of.Output); out != nil {
		return w, out, nil
	}
	if isBackfill {
		return nil, nil, fmt.Errorf("poller %s has no output %q, and this command changes no named backfill: started again under its name it goes "+
			"on (rowrelay backfill %[1]s --name %[3]s), under another name it begins anew", name, of.Output, part)
	}
	return nil, nil, fmt.Errorf("poller %s has no output %q", name, of.Output)
}

// output returns an output by its name; nil where there is none.
func (w *Poller) output(name string) *inspect.WiredOutput {
	for i := range w.Outputs {
		if w.Outputs[i].Config.Name == name {
			return &w.Outputs[i]
		}
	}
	return nil
}

// Managed is the document of the chosen output of a poller, or of a named backfill, for somebody to change.
func (a *App) Managed(ctx context.Context, of *Choice, name, by string, log *slog.Logger) (*Document, error) {
	w, out, err := a.Find(ctx, of, name)
	if err != nil {
		return nil, err
	}
	d := &admin.Document{
		App: a.Config.State.AppName, Poller: w.Config.Name, Output: of.Output, Key: out.Key, Keeper: out.Keeper,
		Store: a.Store, Letters: deadletter.NewStore(a.Store), Source: w.Source, Positions: w.Source,
		Ordering: poller.Ordering(w.Config.Ordering), MaxParked: w.Config.MaxParked, By: by, Log: log,
	}
	if w.Config.DeadLetter.Kind == "queue" {
		d.Queue = w.Config.DeadLetter.Queue
	}
	return &Document{d, a, w, out}, nil
}

// backfillOf finds the document of a named backfill, with the output that it sends to.
func (a *App) backfillOf(ctx context.Context, w *Poller, name string) (*inspect.WiredOutput, error) {
	output, err := admin.Ranges{Store: a.Store, App: a.Config.State.AppName, Poller: w.Config.Name}.OutputOf(ctx, name)
	if err != nil {
		return nil, err
	}
	if out := w.output(output); out != nil {
		named, err := a.document(w.Config, out.Config, admin.BackfillPrefix+name)
		return &named, err
	}
	return nil, fmt.Errorf("the backfill %s was for output %q, which the settings do not have any more", name, output)
}

// Sender sends the rows of a named backfill as its poller's output does.
func (d *Document) Sender(name string, rate int, src checkpointed.Source) (*admin.Sender, error) {
	a, p, out := d.App, d.Of.Config, d.To.Config
	named, err := a.document(p, out, admin.BackfillPrefix+name)
	if err != nil {
		return nil, err
	}
	to, err := a.OpenOutput(p, out)
	if err != nil {
		return nil, err
	}
	letters, err := a.openDeadLetters(d.Of)
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
	cfg := relayConfig(a, p, out, feed, to)
	cfg.Backfill, cfg.MaxBatches, cfg.PollInterval = name, 1, 0
	if rate > 0 {
		cfg.Fetch.Rows = min(cfg.Fetch.Rows, rate)
	}
	relay, err := poller.NewRelay(cfg)
	return &admin.Sender{Relay: relay, Keeper: named.Keeper, Key: named.Key}, err
}

// Controls are what can be done with a poller at once: those of an outbox that can be opened, else of the document of
// the chosen output. Whoever calls it ends them.
func (a *App) Controls(ctx context.Context, of *Choice, name, by string, log *slog.Logger) (
	c admin.Controls, end func(), err error,
) {
	if p, pub, err := OpenTable(a.Config, &a.process, name); err == nil {
		outbox := &admin.Outbox{Poller: p.Name, Events: pub, By: by, Log: log}
		return outbox, func() { _ = pub.Close() }, nil // what was to be written is written by then
	}
	d, err := a.Managed(ctx, of, name, by, log)
	if err != nil {
		return nil, nil, err
	}
	return d, func() {}, nil
}

// OpenTable opens the outbox of a poller, for its table alone. Nothing is published here: of its settings only those of
// the table and the claims have to be right, so that it can be paused, or looked into, while others are being mended.
// Whoever calls it closes it.
func OpenTable(cfg *config.App, process *Process, name string) (*config.Poller, *publisher.Publisher, error) {
	w, err := TableOf(cfg, name)
	if err != nil {
		return nil, nil, err
	}
	pub, err := publisher.New(publisherConfig(&App{Config: cfg, process: *process}, w.Config, nil), w.Connection)
	if err != nil {
		return nil, nil, fmt.Errorf("pollers__%s__source: %w", w.Config.Name, err)
	}
	return w.Config, pub, nil
}

// TableOf returns a poller that is an outbox, connected, without faults that concern its table. Nothing else of it is
// wired.
func TableOf(cfg *config.App, name string) (*Poller, error) {
	w, err := SourceOf(cfg, name)
	if err == nil && !w.Config.Source.Mode.Can(mode.Marks) {
		return nil, w.Config.Source.Mode.NoMarks(w.Config.Name)
	}
	return w, err
}

// SourceOf returns a poller, connected, without faults that concern its table. Nothing else of it is wired.
func SourceOf(cfg *config.App, name string) (*Poller, error) {
	a := Unwired(cfg)
	w, err := a.Poller(strings.ToLower(name))
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
	if !ok {
		rest, ok = strings.CutPrefix(strings.ToLower(setting), "defaults__")
	}
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
