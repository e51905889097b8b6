package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
)

func newState(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Show a poller's position, and control it: reset, pause, copy, accept",
		Long: `State shows and changes the document that holds a poller's checkpoint and lease.

Every change shows first what it would do, with the rows counted that would be sent again or skipped, and asks for the
poller's name (--yes goes on without asking, --dry-run only shows). A change of the position is refused while an instance
holds the lease: pause the poller first, which works at any time and takes effect at its next batch. Each change is one
compare-and-swap, and is written to the log.`,
		Args: cobra.NoArgs,
	}
	t := &target{console: c}
	cmd.PersistentPreRun = t.remember
	cmd.PersistentFlags().StringVar(&t.output, "output", "", "name of a further output (outputs__<name>); default is the poller's own")
	cmd.AddCommand(newStateShow(t), newStateReset(t), newStatePause(t), newStateResume(t), newStateAcceptFingerprint(t),
		newStateAcceptGap(t), newStateExport(t), newStateClone(t), newStateImport(t))
	return cmd
}

// target is the document that a command is about.
type target struct {
	*console
	output string // --output
	yes    bool   // --yes
	dryRun bool   // --dry-run
	// command is the command's path, "rowrelay state show", for a poller that has no document.
	command string
	// history says that output may also be backfill-NAME, the document of a named backfill.
	history bool
	// remote is not nil where the status page asks, and not a person at the console.
	remote *remote
}

// remote is a process that relays, and carries out what somebody asks for on its status page: by the same functions as the
// commands, without their questions, and on its own parts.
type remote struct {
	app *app
	log *slog.Logger
	by  string
	// said is how the work ended.
	said outcome
}

// who is the person that asks.
func (t *target) who() string {
	if t.remote != nil {
		return t.remote.by
	}
	return operator()
}

// config is the settings of the process, or what the console shows of them.
func (t *target) config() (*config.App, error) {
	if t.remote != nil {
		return t.remote.app.cfg, nil
	}
	return load(t.console)
}

// auditLog is where it is written what an operator did.
func (t *target) auditLog(cfg *config.App) *slog.Logger {
	if t.remote != nil {
		return t.remote.log
	}
	return newLogger(t.console, cfg)
}

// remember notes which command runs.
func (t *target) remember(cmd *cobra.Command, _ []string) { t.command = cmd.CommandPath() }

// flags adds what every command has that changes something.
func (t *target) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&t.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&t.dryRun, "dry-run", false, "only show what would be done")
	return cmd
}

// open finds the parts of one output of one poller. Other pollers' faults do not matter here.
func (t *target) open(ctx context.Context, name string) (*app, *wired, *wiredOutput, error) {
	if t.remote != nil {
		w, out, err := t.find(ctx, t.remote.app, name)
		return t.remote.app, w, out, err
	}
	cfg, err := load(t.console)
	if err != nil {
		return nil, nil, nil, err
	}
	a := wire(t.console, cfg)
	w, out, err := t.find(ctx, a, name)
	if err != nil {
		return nil, nil, nil, errors.Join(err, a.Close())
	}
	return a, w, out, nil
}

// find returns the target's output of a poller.
func (t *target) find(ctx context.Context, a *app, name string) (*wired, *wiredOutput, error) {
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
	if name, ok := strings.CutPrefix(t.output, backfillPrefix); ok && t.history {
		out, err := a.backfillOf(ctx, w, name, instance(t.console))
		return w, out, err
	}
	for _, out := range w.outputs {
		if out.cfg.Name == t.output {
			return w, out, nil
		}
	}
	if part, ok := strings.CutPrefix(t.output, backfillPrefix); ok {
		return nil, nil, fmt.Errorf("poller %s has no output %q, and this command changes no named backfill: started again under its name it goes "+
			"on (rowrelay backfill %[1]s --name %[3]s), under another name it begins anew", name, t.output, part)
	}
	return nil, nil, fmt.Errorf("poller %s has no output %q", name, t.output)
}
