package wiring

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/schedule"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/telemetry"
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

// Close closes connections. It is called when no tick runs any more.
func (a *App) Close() error {
	var errs []error
	for _, closer := range slices.Backward(a.closers) { // who uses a pool before the pool
		errs = append(errs, closer())
	}
	return errors.Join(errs...)
}

// ErrNoPoller reports settings without a poller: mostly those of another directory.
var ErrNoPoller = errors.New("the settings name no poller: is local.settings.json in this directory, or does this " +
	"command need --config?")

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
		return nil, fmt.Errorf("there is no poller %q: %w", name, ErrNoPoller)
	}
	return nil, fmt.Errorf("there is no poller %q: the settings name %q", name, names)
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

// failed makes an error a fault of a setting, and reports whether there was one.
func (w *Poller) failed(setting string, err error) bool {
	if err != nil {
		w.Faults.Add(setting, err.Error(), "")
	}
	return err != nil
}

// database is the connections that the pollers of one connection string share: a hundred pollers are not to take a
// hundred connections of a server that has a hundred for all.
type database struct {
	reading *pool.Pool
	writing *sql.DB // of outboxes
}

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

// connect reads the connection string; the pool that comes of it connects when it is first used.
func (a *App) connect(w *Poller) {
	d := w.Config.Source.Connection
	var err error
	if w.Connection, err = inspect.ConnectionOf(&d); w.failed(d.Setting, err) {
		return
	}
	for _, text := range w.Connection.Warnings {
		w.Warnings.Add(d.Setting, text, "")
	}
}

// leastShared is how many connections a database's pollers share, unless one of them asks for more.
const leastShared = 8

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

func (a *App) checkSchedule(w *Poller) {
	s, err := parseSchedule(w.Config.Schedule)
	if err != nil {
		w.Faults.Add(w.Config.Setting("schedule"), err.Error(), "Write an NCRONTAB expression such as */10 * * * * *")
	}
	w.Schedule = s
}

func sourceConfig(p *config.Poller) plan.Config {
	s := &p.Source
	return plan.Config{
		Poller: p.Name, Table: s.Table, Query: s.Query, Cursor: s.Cursor, Key: s.Key, OrderKey: s.OrderKey,
		Columns: s.Columns, Where: s.Where, Start: s.Start, TimeZone: s.Location, DeleteWhen: s.DeleteWhen, Op: s.Op,
		NullCursor: s.NullCursor, Identity: s.Identity, Timeout: s.Timeout, Connections: s.Connections,
		MaxRowBytes: p.MaxRowBytes, LateCommits: s.LateCommits, LateWindow: s.LateWindow,
		Tracked: s.Mode.Can(mode.Triggers), Leased: s.Mode.Can(mode.Leases), ReadCommitted: s.ReadsCommitted(),
		TrackTable:     s.TrackTable,
		TrackRetention: s.TrackRetention, EveryChange: s.EveryChange, BeforeImage: s.BeforeImage,
		Operations: s.Operations, Changed: s.Changed, Ignored: s.IgnoreContext,
	}
}

// policyOf is what becomes of events that the destination refuses.
func policyOf(p *config.Poller) poller.Policy {
	return poller.Policy{
		MaxAttempts: p.MaxAttempts, Delays: p.RetryDelays, MaxParked: p.MaxParked, Block: p.AfterDeadLetter == "block",
	}
}
