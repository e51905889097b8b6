package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/config/localsettings"
	"github.com/rowrelay/rowrelay/config/nested"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/telemetry"
	"github.com/rowrelay/rowrelay/wiring"
)

// load reads the settings as the standalone commands see them: the environment, and what a file adds to it, as the host
// would put it there; from then on they are in c.environ too. Its error is about that file only; faults of settings
// stand in the App. Databases are asked for the tables of source__tables, and for nothing else.
func load(c *console) (*config.App, error) {
	if err := c.addFile(); err != nil {
		return nil, err
	}
	c.written = c.environ
	return c.expand(nil), nil
}

// expand makes pollers of source__tables, for the tables that there are now. A pattern that means none, or of which the
// database does not answer, keeps those of before, by poller: other patterns' tables do not wait for it.
func (c *console) expand(before map[string]config.Found) *config.App {
	c.found = map[string]config.Found{}
	app, expanded := config.LoadTables(c.written, func(p *config.Poller) (config.Found, error) {
		found, err := c.tables(p)
		if were, there := before[p.Name]; there && (err != nil || len(found.Tables) == 0) {
			found, err = were, nil
		}
		c.found[p.Name] = found
		return found, err
	})
	c.patterns, c.environ = !slices.Equal(expanded, c.written), expanded
	return app
}

// unasked reads the settings without a question to a database.
func (c *console) unasked() (*config.App, error) {
	err := c.addFile()
	app, _ := config.Load(c.environ) // its error is the faults that the App holds
	return app, err
}

// addFile adds the settings of a file to the environment.
func (c *console) addFile() (err error) {
	if c.added, err = c.fileSettings(); err == nil {
		c.environ = config.Merge(c.environ, c.added)
	}
	return err
}

// tables asks a database for the tables that a poller stands for.
func (c *console) tables(p *config.Poller) (config.Found, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-c.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	found, err := inspect.Tables(ctx, p, p.Source.Timeout)
	return found, plaintext.Error(err)
}

// fileSettings reads the settings that a file adds to the environment: that of --config, that of --settings, or
// local.settings.json where there is one.
func (c *console) fileSettings() ([]string, error) {
	switch {
	case c.config != "" && c.settings != "":
		return nil, commandline.Mistaken("--config and --settings both name the file of the settings: give one of them")
	case c.config != "":
		return nested.Read(c.config)
	}
	list, err := localsettings.Read(cmp.Or(c.settings, "local.settings.json"))
	if c.settings == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// file is the one that settings were read from, for people.
func (c *console) file() string { return cmp.Or(c.config, c.settings, "local.settings.json") }

// environmentOnly refuses a file of settings for a command that reads none.
func (c *console) environmentOnly(command string) error {
	if c.config == "" {
		return nil
	}
	return commandline.Mistaken("rowrelay %s takes no --config: `rowrelay config to-env --config %s --json` makes a "+
		"local.settings.json of it", command, c.config)
}

// process is what the parts are told of the process.
func (c *console) process() *wiring.Process {
	return &wiring.Process{Environ: c.environ, File: c.file(), Added: c.added, Version: version, Out: c.out,
		Telemetry: c.telemetry, Cut: c.cut, Log: c.log, Seen: c.seen}
}

// open loads the settings and joins their parts, for a command that changes nothing. It returns the named pollers, or
// all of them; whoever calls it closes the app.
func (c *console) open(names []string) (*wiring.App, []*wiring.Poller, error) {
	cfg, err := load(c)
	if err != nil {
		return nil, nil, err
	}
	a := wiring.New(cfg, c.process())
	chosen, err := a.Choose(names)
	if err != nil {
		_ = a.Close() // nothing was written
		return nil, nil, err
	}
	return a, chosen, nil
}

// newLogger logs as the host expects it, or for people where a person is watching.
func newLogger(c *console, cfg *config.App) *slog.Logger {
	level := levelOf(cfg)
	if f, ok := c.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && !c.json {
		return slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: level}))
	}
	out := c.out
	if slices.ContainsFunc(cfg.Pollers, printsEvents) {
		out = c.err // standard output is the events'
	}
	return handler.NewHostLogger(out, c.err, level)
}

// auditLogger logs to standard error what a command changes: for people as text, with --json as JSON.
func auditLogger(c *console, cfg *config.App) *slog.Logger {
	if c.json {
		return handler.NewHostLogger(c.err, c.err, levelOf(cfg))
	}
	return slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: levelOf(cfg)}))
}

// printsEvents reports whether a poller's events go to standard output.
func printsEvents(p *config.Poller) bool {
	return slices.ContainsFunc(p.Outputs, func(o config.Output) bool { return o.Kind == "stdout" })
}

func levelOf(cfg *config.App) slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		return slog.LevelInfo // a fault of log__level is told with the others
	}
	return level
}

// tell logs at the start what is wrong, worth knowing, or fixed for the process.
func tell(ctx context.Context, log *slog.Logger, a *wiring.App) {
	for _, f := range a.Config.Faults {
		log.ErrorContext(ctx, "configuration fault", "event", "config_invalid", "setting", f.Setting, "error", f.Problem,
			"next", f.Mend)
	}
	for _, w := range a.Pollers {
		for _, f := range w.Faults {
			log.ErrorContext(ctx, "configuration fault", "event", "config_invalid", "poller", w.Config.Name, "setting",
				f.Setting,
				"error", f.Problem, "next", f.Mend)
		}
		for _, f := range w.Warnings {
			log.WarnContext(ctx, f.Problem, "event", "warning", "poller", w.Config.Name, "setting", f.Setting, "next", f.Mend)
		}
	}
	for _, f := range a.Config.Warnings {
		log.WarnContext(ctx, f.Problem, "event", "warning", "setting", f.Setting, "next", f.Mend)
	}
}

// newRegistry is what /metrics shows and OTLP exports: the handler's metrics, when it has registered them, beside those
// of the process and of Go's runtime.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	about := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rowrelay_build_info", Help: "Which rowrelay this is; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	about.Set(1)
	registry.MustRegister(about, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// startTelemetry exports traces and metrics where the OTEL_ variables say so; nil where they do not.
func startTelemetry(ctx context.Context, c *console, cfg *config.App, registry prometheus.Gatherer,
	log *slog.Logger) *telemetry.Telemetry {
	service := "rowrelay"
	if name := cfg.State.AppName; name != "" {
		service = name
	}
	lendEnvironment(c)
	return telemetry.Start(ctx, telemetry.Config{
		Env: c.env, Service: service, Instance: c.process().Instance(), Version: version, Registry: registry, Log: log,
	})
}

// lendEnvironment makes the OTEL_ variables of local.settings.json those of the process, as the Functions host does:
// the exporters read them there.
func lendEnvironment(c *console) {
	for _, pair := range c.environ {
		name, value, _ := strings.Cut(pair, "=")
		if _, set := os.LookupEnv(name); set || !strings.HasPrefix(name, "OTEL_") {
			continue
		}
		_ = os.Setenv(name, value) // a name with a NUL byte; it is nobody's
	}
}
