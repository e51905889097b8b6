package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"golang.org/x/term"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/mode"
)

// load reads the settings as the standalone commands see them: the environment, and the Values of local.settings.json
// as the host would put them there; from then on they are in c.environ too. Its error is about that file only; faults of settings stand in the App.
func load(c *console) (*config.App, error) {
	path := c.settings
	if path == "" {
		path = "local.settings.json"
	}
	local, err := config.ReadLocalSettings(path)
	switch {
	case err == nil:
		c.environ = config.Merge(c.environ, local)
	case c.settings == "" && errors.Is(err, fs.ErrNotExist):
	default:
		return nil, err
	}
	app, _ := config.Load(c.environ) // its error is the faults that the App holds
	return app, nil
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

// printsEvents reports whether a poller's events go to standard output.
func printsEvents(p *config.Poller) bool {
	return slices.ContainsFunc(p.Outputs, func(o config.Output) bool { return o.Kind == "stdout" })
}

// handlerOf makes the wired pollers answer: with their ticks, or with their faults. file is host.json under the Functions
// host, nil standalone.
func handlerOf(c *console, a *app, file *host.File) []handler.Poller {
	pollers := make([]handler.Poller, 0, len(a.pollers))
	for _, w := range a.pollers {
		p := handler.Poller{Name: w.cfg.Name}
		for i := range w.cfg.Outputs {
			p.Outputs = append(p.Outputs, w.cfg.Outputs[i].Name)
		}
		if w.cfg.Source.Mode == mode.Outbox {
			p.Outbox = &handler.Outbox{} // so that its functions are known, and answer with its faults
		}
		if w.outbox != nil {
			outbox, err := a.handlerOutbox(c, w, file)
			if err != nil {
				w.faults.Add(w.cfg.Setting("source__fanout_connection"), err.Error(), "")
			}
			p.Outbox = outbox
		}
		p.Faults = faultsOf(w.faults)
		if w.runner != nil {
			p.Runner = a.telemetry.Runner(w.runner)
		}
		pollers = append(pollers, p)
	}
	return pollers
}

func levelOf(cfg *config.App) slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		return slog.LevelInfo // a fault of log__level is told with the others
	}
	return level
}

func faultsOf(faults config.Faults) []error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errs
}
