// Package wiring joins configuration and parts: it is the only package that knows all the others. Nothing in it
// parses a command line, asks or prints.
package wiring

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/schedule"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/telemetry"
	"github.com/rowrelay/rowrelay/telemetry/otlp"
)

// Process is what the parts are told of the process.
type Process struct {
	Environ   []string
	File      string               // that settings were read from, beside the environment
	Added     []string             // what that file says, as KEY=VALUE
	Version   string               // said to receivers and brokers
	Out       io.Writer            // takes the events of output__kind=stdout
	Telemetry *telemetry.Telemetry // nil: nothing is exported
	Log       *slog.Logger         // is told of a request without an answer while its tick goes on; nil: nobody is
	Cut       context.Context      //nolint:containedctx // its end gives up requests under way; nil: they have output__timeout
	Seen      *checkpointed.Seen   // of all Apps that follow one another in the process; nil: none follows
}

// App is the configuration made into parts. Nothing in it has connected to anything yet: the first tick does.
type App struct {
	Config  *config.App
	Store   state.Store // nil while Config has faults of its own
	Pollers []*Poller

	process   Process
	databases map[config.Database]*database
	shapes    map[string]func(*change.Event) (change.Event, error) // by output
	closers   []func() error
}

// Poller is one poller. One with faults has no runner, and does not hinder the others. The app's faults stand in
// App.Config.
type Poller struct {
	inspect.Wired
	Runner *poller.Poller

	Cleanup *schedule.Schedule // when `rowrelay run` cleans an outbox up; nil for never
	// For fan-out, of an outbox and of leases: which partitions have work, and the runner of one.
	work      func(context.Context) (partitions []int, of int, err error)
	partition func(n int) (handler.Runner, error)
}

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

// Close closes connections. It is called when no tick runs any more.
func (a *App) Close() error {
	var errs []error
	for _, closer := range slices.Backward(a.closers) { // who uses a pool before the pool
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

// Poller returns a poller by its name.
func (a *App) Poller(name string) (*Poller, error) {
	names := make([]string, 0, len(a.Pollers))
	for _, w := range a.Pollers {
		if w.Config.Name == name {
			return w, nil
		}
		names = append(names, w.Config.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no poller %q: the settings name no poller: is local.settings.json in this directory?", name)
	}
	return nil, fmt.Errorf("there is no poller %q: the settings name %q", name, names)
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

func (a *App) checkSchedule(w *Poller) {
	s, err := parseSchedule(w.Config.Schedule)
	if err != nil {
		w.Faults.Add(w.Config.Setting("schedule"), err.Error(), "Write an NCRONTAB expression such as */10 * * * * *")
	}
	w.Schedule = s
}

// parseSchedule reads a schedule, and refuses one that never fires: a poller would look well and do nothing.
func parseSchedule(text string) (*schedule.Schedule, error) {
	s, err := schedule.Parse(text)
	if err != nil {
		return nil, err
	}
	if _, ok := s.Next(time.Now()); !ok {
		return nil, fmt.Errorf("%q never fires: there is no such day", text)
	}
	return s, nil
}

// connect reads the connection string; the pool that comes of it connects when it is first used.
func (a *App) connect(w *Poller) {
	d := w.Config.Source.Connection
	var err error
	if w.Connection, err = inspect.ConnectionOf(&d); err != nil {
		w.Faults.Add(d.Setting, err.Error(), "")
		return
	}
	for _, text := range w.Connection.Warnings {
		w.Warnings.Add(d.Setting, text, "")
	}
}

// database is the connections that the pollers of one connection string share: a hundred pollers are not to take a
// hundred connections of a server that has a hundred for all.
type database struct {
	reading *pool.Pool
	writing *sql.DB // of outboxes
}

// leastShared is how many connections a database's pollers share, unless one of them asks for more.
const leastShared = 8

// database returns what the poller shares with others.
func (a *App) database(w *Poller) *database {
	key := w.Config.Source.Connection
	key.Setting = "" // two names of one string are one database
	if d := a.databases[key]; d != nil {
		return d
	}
	n := leastShared
	for _, other := range a.Config.Pollers {
		at := other.Source.Connection
		if at.Setting = ""; at == key {
			n = max(n, other.Source.Connections)
		}
	}
	d := &database{reading: pool.New(w.Connection, n), writing: w.Connection.WriteDB(n)}
	if a.databases == nil {
		a.databases = map[config.Database]*database{}
	}
	a.databases[key] = d
	a.closers = append(a.closers, d.reading.Close, d.writing.Close)
	return d
}

func (a *App) wireOutputs(w *Poller) {
	src, err := source.Sharing(a.database(w).reading, sourceConfig(w.Config))
	if err != nil {
		w.Faults.Add("pollers__"+w.Config.Name+"__source", err.Error(), "")
		return
	}
	w.Source = src
	relays := make([]*poller.Relay, 0, len(w.Config.Outputs))
	for _, document := range w.Outputs {
		out := document.Config
		prefix := outputPrefix(w.Config.Name, out.Name)
		to, err := a.OpenOutput(w.Config, out)
		if err != nil {
			w.Faults.Add(prefix, err.Error(), "")
			continue
		}
		letters, err := a.openDeadLetters(w)
		if err != nil {
			w.Faults.Add(w.Config.Setting("dead_letter__connection"), err.Error(), "")
			return
		}
		rows := feedConfig(a, w.Config, out.Name, src, document.Keeper, letters)
		rows.FutureRows = late.FutureRows(w.Config.Source.FutureRows)
		rows.Snapshot = w.Config.Source.Mode == mode.ChangeTracking && w.Config.Source.Start == "snapshot"
		rows.Resync, rows.SnapshotChunk = w.Config.Source.OnGap == "resync", w.Config.Source.SnapshotChunk
		rows.Seen = a.process.Seen
		rows.Wait, rows.Continue = w.Config.Source.OnLongTransaction == "wait", w.Config.Source.OnFailover == "continue"
		feed, err := checkpointed.New(rows)
		if err != nil {
			w.Faults.Add(prefix, err.Error(), "")
			return
		}
		relay, err := poller.NewRelay(relayConfig(a, w.Config, out, feed, to))
		if err != nil {
			w.Faults.Add(prefix, err.Error(), "")
			return
		}
		relays = append(relays, relay)
	}
	if len(w.Faults) == 0 {
		w.Runner = poller.New(w.Config.Name, relays...)
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

func sourceConfig(p *config.Poller) plan.Config {
	s := &p.Source
	return plan.Config{
		Poller: p.Name, Table: s.Table, Query: s.Query, Cursor: s.Cursor, Key: s.Key, OrderKey: s.OrderKey,
		Columns: s.Columns, Where: s.Where, Start: s.Start, TimeZone: s.Location, DeleteWhen: s.DeleteWhen, Op: s.Op,
		NullCursor: s.NullCursor, Identity: s.Identity, Timeout: s.Timeout, Connections: s.Connections,
		MaxRowBytes: p.MaxRowBytes, LateCommits: s.LateCommits, LateWindow: s.LateWindow,
		Tracked: s.Mode.Can(mode.Triggers), Leased: s.Mode.Can(mode.Leases), TrackTable: s.TrackTable,
		Operations: s.Operations, Changed: s.Changed, Ignored: s.IgnoreContext,
	}
}

// policyOf is what becomes of events that the destination refuses.
func policyOf(p *config.Poller) poller.Policy {
	return poller.Policy{
		MaxAttempts: p.MaxAttempts, Delays: p.RetryDelays, MaxParked: p.MaxParked, Block: p.AfterDeadLetter == "block",
	}
}

// Instance names this process for people: the Functions instance, or the host and process.
func (p *Process) Instance() string {
	if id := p.host().Env("WEBSITE_INSTANCE_ID"); id != "" {
		return id[:min(len(id), 12)]
	}
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown"
	}
	return fmt.Sprintf("%s-%d", machine, os.Getpid())
}

// host is the Function App that the environment describes.
func (p *Process) host() host.App { return host.AppOf(p.Environ) }

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
