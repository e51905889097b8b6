package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/deadletter"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/output/storagequeue"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/schedule"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/blobstore"
	"github.com/rowrelay/rowrelay/state/filestore"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/telemetry"
)

// app is the configuration made into parts. Nothing in it has connected to anything yet: the first tick does.
type app struct {
	cfg       *config.App
	store     state.Store // nil while cfg has faults of its own
	pollers   []*wired
	closers   []func() error
	telemetry *telemetry.Telemetry // nil: nothing is exported
	cut       context.Context      //nolint:containedctx // its end gives up requests under way; nil: they have output__timeout
}

// wired is one poller. A poller with faults has no runner, and does not hinder the others.
type wired struct {
	cfg      *config.Poller
	schedule *schedule.Schedule
	conn     engine.Connection
	source   *source.Cursor // shared by the outputs; nil where there are faults, and of an outbox
	outputs  []*wiredOutput // none of an outbox
	outbox   *wiredOutbox   // of the mode outbox, without faults
	runner   *poller.Poller
	faults   config.Faults // its own; the app's stand in app.cfg
	warnings config.Faults
}

// wiredOutput is one output of a poller, with the session's parts that commands look into.
type wiredOutput struct {
	cfg    *config.Output
	key    string
	keeper *state.Keeper
}

// wire turns a configuration into pollers. It never fails: what is wrong stands in the faults of what it concerns.
func wire(c *console, cfg *config.App) *app {
	a := &app{cfg: cfg, telemetry: c.telemetry, cut: c.cut}
	if len(cfg.Faults) == 0 && cfg.State.Kind != "" { // outboxes alone need none
		store, err := openStore(cfg)
		if err != nil {
			setting := "state__connection"
			if cfg.State.Kind == "file" {
				setting = "state__path"
			}
			cfg.Faults.Add(setting, err.Error(), "")
		} else { // an adapter's own nil would not be one in the interface
			a.store = store
		}
	}
	for _, p := range cfg.Pollers {
		w := &wired{cfg: p, faults: slices.Clone(p.Faults), warnings: p.Warnings}
		a.pollers = append(a.pollers, w)
		a.checkSchedule(w)
		a.connect(w)
		w.checkDestinations()
	}
	a.checkSharing()
	a.warnLinks(c.env)
	for _, w := range a.pollers {
		switch {
		case len(cfg.Faults) > 0, len(w.faults) > 0:
		case w.cfg.Source.Mode == mode.Outbox:
			a.wireOutbox(c, w)
		default:
			a.wireOutputs(c, w)
		}
	}
	return a
}

// Close closes connections. It is called when no tick runs any more.
func (a *app) Close() error {
	var errs []error
	for _, closer := range a.closers {
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

func (a *app) poller(name string) (*wired, error) {
	names := make([]string, 0, len(a.pollers))
	for _, w := range a.pollers {
		if w.cfg.Name == name {
			return w, nil
		}
		names = append(names, w.cfg.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no poller %q: the settings name no poller: is local.settings.json in this directory?", name)
	}
	return nil, fmt.Errorf("there is no poller %q: the settings name %q", name, names)
}

// choose returns the named pollers, each once, or all of them.
func (a *app) choose(names []string) ([]*wired, error) {
	if len(names) == 0 {
		return a.pollers, nil
	}
	chosen := make([]*wired, 0, len(names))
	for _, name := range names {
		w, err := a.poller(strings.ToLower(name))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(chosen, w) {
			chosen = append(chosen, w)
		}
	}
	return chosen, nil
}

func (a *app) checkSchedule(w *wired) {
	s, err := schedule.Parse(w.cfg.Schedule)
	if err != nil {
		w.faults.Add(w.cfg.Setting("schedule"), err.Error(), "Write an NCRONTAB expression such as */10 * * * * *")
	}
	w.schedule = s
}

// connect reads the connection string; the pool that comes of it connects when it is first used.
func (a *app) connect(w *wired) {
	d := w.cfg.Source.Connection
	var err error
	switch {
	case d.ConnectionString != "":
		w.conn, err = engines.Parse(d.ConnectionString.Reveal())
	case d.Server != "":
		w.conn, err = sqlserver.IdentityConnection(d.Server, d.Database, d.Credential, d.ClientID)
	default:
		return // config has said what is missing
	}
	if err != nil {
		w.faults.Add(d.Setting, err.Error(), "")
		return
	}
	for _, text := range w.conn.Warnings {
		w.warnings.Add(d.Setting, text, "")
	}
}

func (a *app) wireOutputs(c *console, w *wired) {
	src, err := source.New(sourceConfig(w.cfg), w.conn)
	if err != nil {
		w.faults.Add("pollers__"+w.cfg.Name+"__source", err.Error(), "")
		return
	}
	w.source = src
	a.closers = append(a.closers, src.Close)
	relays := make([]*poller.Relay, 0, len(w.cfg.Outputs))
	for i := range w.cfg.Outputs {
		out := &w.cfg.Outputs[i]
		prefix := outputPrefix(w.cfg.Name, out.Name)
		to, size, err := a.openOutput(c, w.cfg, out)
		if err != nil {
			w.faults.Add(prefix, err.Error(), "")
			continue
		}
		wired, err := a.document(c, w.cfg, out)
		if err != nil {
			w.faults.Add("state__kind", err.Error(), "")
			return
		}
		letters, err := a.openDeadLetters(w)
		if err != nil {
			w.faults.Add(w.cfg.Setting("dead_letter__connection"), err.Error(), "")
			return
		}
		feed, err := checkpointed.New(checkpointed.Config{
			App: a.cfg.State.AppName, Poller: w.cfg.Name, Output: out.Name, Source: src, Keeper: wired.keeper,
			Ordering: poller.Ordering(w.cfg.Ordering), Policy: policyOf(w.cfg), DeadLetters: letters,
			LateWindow: w.cfg.Source.LateWindow, LateLimit: w.cfg.Source.LateLimit, LateMemory: w.cfg.Source.LateMemory,
			MaxRowBytes: w.cfg.MaxRowBytes, FutureRows: late.FutureRows(w.cfg.Source.FutureRows),
			Wait: w.cfg.Source.OnLongTransaction == "wait", Continue: w.cfg.Source.OnFailover == "continue",
		})
		if err != nil {
			w.faults.Add(prefix, err.Error(), "")
			return
		}
		relay, err := poller.NewRelay(relayConfig(a, w.cfg, out, feed, to, size))
		if err != nil {
			w.faults.Add(prefix, err.Error(), "")
			return
		}
		w.outputs = append(w.outputs, wired)
		relays = append(relays, relay)
	}
	if len(w.faults) == 0 {
		w.runner = poller.New(w.cfg.Name, relays...)
	}
}

// document is an output with the keeper of its state document.
func (a *app) document(c *console, p *config.Poller, out *config.Output) (*wiredOutput, error) {
	key := state.Key(a.cfg.State.AppName, p.Name, out.Name)
	keeper, err := state.New(state.Config{
		Store: a.store, Key: key, Poller: p.Name, Owner: a.cfg.State.AppName + "/" + instance(c), TTL: p.LeaseTTL,
	})
	return &wiredOutput{cfg: out, key: key, keeper: keeper}, err
}

func outputPrefix(name, output string) string {
	if output == "" {
		return "pollers__" + name + "__output"
	}
	return "pollers__" + name + "__outputs__" + output
}

func sourceConfig(p *config.Poller) plan.Config {
	s := &p.Source
	return plan.Config{
		Poller: p.Name, Table: s.Table, Query: s.Query, Cursor: s.Cursor, Key: s.Key, OrderKey: s.OrderKey,
		Columns: s.Columns, Where: s.Where, Start: s.Start, TimeZone: s.Location, DeleteWhen: s.DeleteWhen, Op: s.Op,
		NullCursor: s.NullCursor, Identity: s.Identity, Timeout: s.Timeout, Connections: s.Connections,
		MaxRowBytes: p.MaxRowBytes, LateCommits: s.LateCommits, LateWindow: s.LateWindow,
	}
}

// policyOf is what becomes of events that the destination refuses.
func policyOf(p *config.Poller) poller.Policy {
	return poller.Policy{
		MaxAttempts: p.MaxAttempts, Delays: p.RetryDelays, MaxParked: p.MaxParked, Block: p.AfterDeadLetter == "block",
	}
}

// openDeadLetters returns what takes a poller's dead letters. One that is too large for its queue is put into the state
// store.
func (a *app) openDeadLetters(w *wired) (poller.DeadLetters, error) {
	store := deadletter.NewStore(a.store)
	to := &w.cfg.DeadLetter
	if to.Kind != "queue" {
		return store, nil
	}
	client, err := azure.Queue(&to.Connection, to.Queue)
	if err != nil {
		return nil, err
	}
	queue, err := storagequeue.New(storagequeue.Config{
		Client: client, Format: change.Row, Concurrency: w.cfg.Concurrency,
		Create: to.Connection.Development || a.cfg.State.Create,
	})
	if err != nil {
		return nil, err
	}
	return deadletter.NewQueue(queue, store), nil
}

// instance names this process for people: the Functions instance, or the host and process.
func instance(c *console) string {
	if id := c.env("WEBSITE_INSTANCE_ID"); id != "" {
		return id[:min(len(id), 12)]
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// warnLinks adds a warning for every connection that leaves this machine unverified. The sources' are there already, as
// warnings of their connection strings, and those of URLs, by config.
func (a *app) warnLinks(env func(string) string) {
	exports, _ := telemetry.Exports(env) // what is wrong with the variables is said where telemetry starts
	links := inspect.TelemetryLinks(exports)
	if l := inspect.StateLink(&a.cfg.State); l != nil {
		links = append(links, *l)
	}
	for _, l := range links {
		if l.Leaves() {
			a.cfg.Warnings.Add(l.Setting, l.Warning(), "")
		}
	}
	for _, w := range a.pollers {
		for _, l := range inspect.LinksOf(w.cfg, w.conn) {
			said := slices.ContainsFunc(w.warnings, func(f config.Fault) bool { return f.Problem == l.Warning() })
			if l.Leaves() && l.Kind != "http" && l.Kind != w.conn.Engine && !said {
				w.warnings.Add(l.Setting, l.Warning(), "")
			}
		}
	}
}

// inspect describes chosen pollers. hosted says that functions start their ticks, and not the setting schedule.
func (a *app) inspect(c *console, chosen []*wired, hosted bool) *inspect.App {
	from := inspect.Wiring{Config: a.cfg, Settings: c.settings, Functions: c.functionApp(), Hosted: hosted, Store: a.store}
	for _, w := range chosen {
		one := inspect.Wired{
			Config: w.cfg, Schedule: w.schedule, Connection: w.conn, Source: w.source, Runs: w.runner != nil, Faults: w.faults,
			Warnings: w.warnings,
			Outputs:  a.documents(c, w),
		}
		if w.outbox != nil {
			one.Outbox = w.outbox.Operator
		}
		from.Pollers = append(from.Pollers, one)
	}
	return inspect.New(from)
}

// documents are the outputs of a poller with their state documents, those with faults included.
func (a *app) documents(c *console, w *wired) (list []inspect.WiredOutput) {
	if a.store == nil || !w.cfg.Source.Mode.Can(mode.Document) {
		return nil
	}
	outputs := inspect.OutputsOf(w.cfg)
	for i := range outputs {
		out := &outputs[i]
		at := slices.IndexFunc(w.outputs, func(o *wiredOutput) bool { return o.cfg == out })
		if at >= 0 {
			list = append(list, inspect.WiredOutput{Config: out, Key: w.outputs[at].key, Keeper: w.outputs[at].keeper})
		} else if one, err := a.document(c, w.cfg, out); err == nil { // else a fault, which is told
			list = append(list, inspect.WiredOutput{Config: out, Key: one.key, Keeper: one.keeper})
		}
	}
	return list
}

// openStore opens the state store. It does not connect yet.
func openStore(cfg *config.App) (state.Store, error) {
	switch cfg.State.Kind {
	case "file":
		return filestore.New(cfg.State.Path)
	case "memory":
		return memstore.New(), nil
	case "blob":
		client, err := azure.Container(&cfg.State.Connection, cfg.State.Container)
		if err != nil {
			return nil, err
		}
		return blobstore.New(blobstore.Config{
			Client: client, Create: cfg.State.Create || cfg.State.Connection.Development,
		})
	default:
		return nil, fmt.Errorf("%q is not blob, file or memory", cfg.State.Kind)
	}
}
