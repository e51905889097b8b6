package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
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
At last it says what "func start" in this directory still lacks: the program, and settings of the host's own.

An existing file is left alone unless --force is given; host.json always is.`,
		RunE: func(_ *cobra.Command, names []string) error { return writeFunctions(c, names, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite existing function.json files")
	return printsOnly("what it has written", cmd)
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
	app, p := c.functionApp(), &printer{w: c.out}
	path, written, err := app.WriteFile(slices.ContainsFunc(chosen, host.FansOut))
	p.written(path, written, err, "exists, left alone", "written; it starts rowrelay beside it")
	if p.err == nil {
		if path, p.err = app.MakeStateDirectory(&cfg.State); path != "" {
			p.line("%s made, for the state", path)
		}
	}
	for _, one := range chosen {
		for _, f := range host.FunctionsOf(one) {
			p.function(app, &f, force)
		}
		p.lines(app.Leftovers(one))
	}
	if all {
		p.page(app, cfg, force)
	}
	if p.err != nil {
		return p.err
	}
	return p.lacks(append(app.StartLacks(chosen, c.settings), c.conversion()...))
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

// written says what became of a file.
func (p *printer) written(path string, written bool, err error, exists, done string) {
	switch {
	case p.err != nil:
	case err != nil:
		p.err = err
	case written:
		p.line("%s %s", path, done)
	default:
		p.line("%s %s", path, exists)
	}
}

// function writes a function, unless something has failed.
func (p *printer) function(app host.App, f *host.Function, force bool) {
	if p.err == nil {
		path, written, err := app.WriteFunction(f, force)
		p.written(path, written, err, "exists, left alone (--force overwrites it)", "written; "+f.Note)
	}
}

// page writes the functions of the status page. A poller of the same name comes first, as it does when the host calls:
// without the page it works, and without the poller nothing would.
func (p *printer) page(app host.App, cfg *config.App, force bool) {
	for _, f := range host.PageFunctions() {
		if cfg.Poller(f.Name) != nil {
			p.line("%s/ is the poller's: the status page has no function of that name under the host until the poller is renamed", f.Name)
			continue
		}
		p.function(app, &f, force)
	}
}

// lacks says what `func start` still lacks, each with its remedy.
func (p *printer) lacks(texts []string) error {
	if len(texts) == 0 {
		p.line("func start lacks nothing here")
		return p.err
	}
	p.line("func start still lacks here:")
	for _, text := range texts {
		p.line("  %s", text)
	}
	return p.err
}
