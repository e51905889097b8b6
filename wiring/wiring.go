// Package wiring joins configuration and parts: it is the only package that knows all the others. Nothing in it
// parses a command line, asks or prints.
package wiring

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/telemetry/otlp"
)

// New turns a configuration into pollers. It never fails: what is wrong stands in the faults of what it concerns.
func New(cfg *config.App, process *Process) *App {
	a := &App{Config: cfg, process: *process}
	if len(cfg.Faults) == 0 && cfg.State.Kind != "" { // outboxes alone need none
		if err := a.openStore(&cfg.State); err != nil {
			setting := "state__connection"
			if cfg.State.Kind == "file" {
				setting = "state__path"
			}
			cfg.Faults.Add(setting, err.Error(), "")
		}
	}
	for _, p := range cfg.Pollers {
		w := &Poller{Wired: inspect.Wired{Config: p, Faults: slices.Clone(p.Faults), Warnings: p.Warnings}}
		a.Pollers = append(a.Pollers, w)
		a.checkSchedule(w)
		a.connect(w)
		w.checkDestinations()
		a.checkShapes(w)
		a.openDocuments(w)
	}
	a.checkSharing()
	a.warnLinks(process.host().Env)
	for _, w := range a.Pollers {
		switch {
		case len(cfg.Faults) > 0, len(w.Faults) > 0:
		case w.Config.Source.Mode == mode.Outbox:
			a.wireOutbox(w)
		case w.Config.Source.Mode == mode.Leased:
			a.wireLeased(w)
		default:
			a.wireOutputs(w)
		}
	}
	return a
}

// Unwired is pollers by their names, of which nothing is wired.
func Unwired(cfg *config.App) *App {
	a := &App{Config: cfg}
	for _, p := range cfg.Pollers {
		a.Pollers = append(a.Pollers, &Poller{Wired: inspect.Wired{Config: p}})
	}
	return a
}

// Choose returns the named pollers, each once, or all of them.
func (a *App) Choose(names []string) ([]*Poller, error) {
	if len(names) == 0 {
		return a.Pollers, nil
	}
	chosen := make([]*Poller, 0, len(names))
	for _, name := range names {
		w, err := a.Poller(strings.ToLower(name))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(chosen, w) {
			chosen = append(chosen, w)
		}
	}
	return chosen, nil
}

// Refuse is the error of a standalone start with faults: nobody restarts this process in a loop, so it says them and
// ends.
func Refuse(cfg *config.App, chosen []*Poller) error {
	faults := append(config.Faults(nil), cfg.Faults...)
	for _, w := range chosen {
		faults = append(faults, w.Faults...)
	}
	if len(faults) > 0 {
		return fmt.Errorf("the settings have %d fault(s):\n%w", len(faults), faults)
	}
	if len(chosen) == 0 {
		return errors.New("there are no pollers: set pollers__<name>__source__table and so on (docs/settings.md), or try rowrelay demo")
	}
	return nil
}

func (a *App) wireOutputs(w *Poller) {
	src, err := source.Sharing(a.database(w).reading, sourceConfig(w.Config))
	if w.failed("pollers__"+w.Config.Name+"__source", err) {
		return
	}
	w.Source = src
	relays := make([]*poller.Relay, 0, len(w.Config.Outputs))
	for _, document := range w.Outputs {
		out := document.Config
		prefix := outputPrefix(w.Config.Name, out.Name)
		to, err := a.OpenOutput(w.Config, out)
		if w.failed(prefix, err) {
			continue
		}
		letters, err := a.openDeadLetters(w)
		if w.failed(w.Config.Setting("dead_letter__connection"), err) {
			return
		}
		rows := feedConfig(a, w.Config, out.Name, src, document.Keeper, letters)
		rows.FutureRows = late.FutureRows(w.Config.Source.FutureRows)
		rows.Snapshot = w.Config.Source.Mode == mode.ChangeTracking && w.Config.Source.Start == "snapshot"
		rows.Resync, rows.SnapshotChunk = w.Config.Source.OnGap == "resync", w.Config.Source.SnapshotChunk
		rows.Seen = a.process.Seen
		rows.Wait, rows.Continue = w.Config.Source.OnLongTransaction == "wait", w.Config.Source.OnFailover == "continue"
		feed, err := checkpointed.New(rows)
		if w.failed(prefix, err) {
			return
		}
		relay, err := poller.NewRelay(relayConfig(a, w.Config, out, feed, to))
		if w.failed(prefix, err) {
			return
		}
		relays = append(relays, relay)
	}
	if len(w.Faults) == 0 {
		w.Runner = poller.New(relays...)
	}
}

// feedConfig is how rows of a source go to an output, whatever range of it they are. name is that of the document.
func feedConfig(a *App, p *config.Poller, name string, src checkpointed.Source, keeper *state.Keeper,
	letters poller.DeadLetters) checkpointed.Config {
	return checkpointed.Config{
		App: a.Config.State.AppName, Poller: p.Name, Output: name, Source: src, Keeper: keeper,
		Ordering: poller.Ordering(p.Ordering), Policy: policyOf(p), DeadLetters: letters,
		LateWindow: p.Source.LateWindow, LateLimit: cmp.Or(p.Source.LateLimit, time.Minute), LateMemory: p.Source.LateMemory,
		MaxRowBytes: p.MaxRowBytes,
	}
}

// warnLinks adds a warning for every connection that leaves this machine unverified. The sources' are there already, as
// warnings of their connection strings, and those of URLs, by config.
func (a *App) warnLinks(env func(string) string) {
	exports, _ := otlp.Exports(env) // what is wrong with the variables is said where telemetry starts
	links := inspect.TelemetryLinks(exports)
	if l := inspect.StateLink(&a.Config.State); l != nil {
		links = append(links, *l)
	}
	for _, l := range links {
		if l.Leaves() {
			a.Config.Warnings.Add(l.Setting, l.Warning(), "")
		}
	}
	for _, w := range a.Pollers {
		for _, l := range inspect.LinksOf(w.Config, w.Connection) {
			said := slices.ContainsFunc(w.Warnings, func(f config.Fault) bool { return f.Problem == l.Warning() })
			if l.Leaves() && l.Kind != "http" && l.Kind != w.Connection.Engine && !said {
				w.Warnings.Add(l.Setting, l.Warning(), "")
			}
		}
	}
}

// Inspect describes chosen pollers. hosted says that functions start their ticks, and not the setting schedule.
func (a *App) Inspect(chosen []*Poller, hosted bool) *inspect.App {
	from := inspect.Wiring{Config: a.Config, File: a.process.File, Added: a.process.Added, Functions: a.process.host(),
		Hosted: hosted, Store: a.Store}
	for _, w := range chosen {
		one := w.Wired
		one.Runs = w.Runner != nil
		from.Pollers = append(from.Pollers, one)
	}
	return inspect.New(from)
}
