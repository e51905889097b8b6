package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/printing"
)

func newFunctions(c *console) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "functions [poller ...]",
		Short: "Write <poller>/function.json for each poller, and host.json",
		Long: `Functions writes, for each poller of the settings, the timer function that the Azure Functions host reads: a folder of
the poller's name with a function.json made from templates/poller.json. Its schedule is the app setting
<POLLER>_SCHEDULE, for example ORDERS_SCHEDULE=*/10 * * * * *. (The host finds no setting whose name contains two
underscores from a function.json.)

For an outbox it also writes <poller>_cleanup, a timer that deletes published events (at source__cleanup_schedule, ` +
			`unless that is
none), and with source__fanout_queue <poller>_partition, which a queue message starts for each partition with work.

Without names it also writes the status page: status, which answers /api/status and /api/status.json to whoever has ` +
			`a function
key, and statusactions, which pauses, resumes and replays for whoever has the admin key (docs/status.md). Remove ` +
			`the folders, and
there is no page.

Where there is no host.json it writes one that starts the file rowrelay beside it. With state__kind=file it makes ` +
			`the directory
of the state, if that lies beside host.json: the host starts anew when a directory appears there, in the middle of ` +
			`the first ticks.
At last it says what "func start" in this directory still lacks: the program, and settings of the host's own; or that
other settings have faults.

An existing file is left alone unless --force is given; host.json always is.`,
		RunE: func(_ *cobra.Command, names []string) error { return writeFunctions(c, names, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite existing function.json files")
	return commandline.PrintsOnly("what it has written", cmd)
}

func writeFunctions(c *console, names []string, force bool) error {
	cfg, err := load(c)
	if err != nil {
		return err
	}
	all := len(names) == 0
	if all {
		for _, p := range cfg.Pollers {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return errors.New("the settings name no poller: set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	var chosen []*config.Poller
	for _, name := range names {
		p := cfg.Poller(strings.ToLower(name))
		if p == nil {
			return fmt.Errorf("the settings name no poller %q", name)
		}
		if err := host.RefusedName(p.Name); err != nil {
			return err
		}
		chosen = append(chosen, p)
	}
	w := &functionWriter{Printer: printing.Printer{W: c.out}, app: c.functionApp(), force: force}
	path, written, err := w.app.WriteFile(slices.ContainsFunc(chosen, host.FansOut))
	w.written(path, written, err, "exists, left alone", "written; it starts rowrelay beside it")
	if w.Err == nil {
		if path, w.Err = w.app.MakeStateDirectory(&cfg.State); path != "" {
			w.Line("%s made, for the state", path)
		}
	}
	for _, one := range chosen {
		for _, f := range host.FunctionsOf(one) {
			w.function(&f)
		}
		w.Lines(w.app.Leftovers(one))
	}
	if all {
		w.page(cfg)
	}
	if w.Err != nil {
		return w.Err
	}
	lacks := append(w.app.StartLacks(chosen, c.settings), c.conversion()...)
	if n := len(cfg.AllFaults()); n > 0 && len(lacks) == 0 { // otherwise some may be the same
		lacks = []string{fmt.Sprintf("the settings have %d fault(s), for which ticks fail: rowrelay check shows them", n)}
	}
	return w.lacks(lacks)
}

// conversion says how settings that the Functions host cannot read become such that it can.
func (c *console) conversion() []string {
	switch {
	case c.config != "":
		return []string{"local.settings.json: func start reads no YAML: rowrelay config to-env --tables --config " + c.config +
			" --json > local.settings.json"}
	case c.patterns:
		return []string{"the settings of each table, because the host takes no source__tables: " +
			"rowrelay config to-env --tables --json prints them"}
	}
	return nil
}

// functionWriter writes the functions of an app, and says so, until something fails.
type functionWriter struct {
	printing.Printer
	app   host.App
	force bool // overwrite
}

// written says what became of a file.
func (w *functionWriter) written(path string, written bool, err error, exists, done string) {
	switch {
	case w.Err != nil:
	case err != nil:
		w.Err = err
	case written:
		w.Line("%s %s", path, done)
	default:
		w.Line("%s %s", path, exists)
	}
}

// function writes a function, unless something has failed.
func (w *functionWriter) function(f *host.Function) {
	if w.Err == nil {
		path, written, err := w.app.WriteFunction(f, w.force)
		w.written(path, written, err, "exists, left alone (--force overwrites it)", "written; "+f.Note)
	}
}

// page writes the functions of the status page. A poller of the same name comes first, as it does when the host calls:
// without the page it works, and without the poller nothing would.
func (w *functionWriter) page(cfg *config.App) {
	for _, f := range host.PageFunctions() {
		if cfg.Poller(f.Name) != nil {
			w.Line("%s/ is the poller's: the status page has no function of that name under the host until the poller is renamed", f.Name)
			continue
		}
		w.function(&f)
	}
}

// lacks says what `func start` still lacks, each with its remedy.
func (w *functionWriter) lacks(texts []string) error {
	if len(texts) == 0 {
		w.Line("func start lacks nothing here")
		return w.Err
	}
	w.Line("func start still lacks here:")
	for _, text := range texts {
		w.Line("  %s", text)
	}
	return w.Err
}
