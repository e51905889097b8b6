package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/wiring"
)

// target is what a command is about that shows or changes a poller's state.
type target struct {
	*console
	output string // --output
	yes    bool   // --yes
	dryRun bool   // --dry-run
	// command is the command's path, "rowrelay state show", for a poller that has no document.
	command string
	of      *outputOf // what the next result is about, where a command is about several
	// history says that output may also be backfill-NAME, the document of a named backfill.
	history bool
}

// choice is which document the command is about.
func (t *target) choice() *wiring.Choice {
	return &wiring.Choice{Output: t.output, Command: t.command, Backfills: t.history}
}

// remember notes which command runs.
func (t *target) remember(cmd *cobra.Command, _ []string) { t.command = cmd.CommandPath() }

// flags adds what every command has that changes something.
func (t *target) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&t.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&t.dryRun, "dry-run", false, "only show what would be done")
	return cmd
}

// onApp joins the parts for some work on them.
func (t *target) onApp(work func(*wiring.App) error) error {
	cfg, err := load(t.console)
	if err != nil {
		return err
	}
	a := wiring.New(cfg, t.process())
	defer func() { _ = a.Close() }() // what was to be written is written by now
	return work(a)
}

// onDocument opens the document of a poller's output for some work on it.
func (t *target) onDocument(ctx context.Context, name string, work func(*wiring.Document) error) error {
	return t.onApp(func(a *wiring.App) error {
		d, err := t.find(ctx, a, name)
		if err != nil {
			return err
		}
		return work(d)
	})
}

// planned makes cmd change the document of the poller that its first argument names.
func (t *target) planned(cmd *cobra.Command,
	plan func(context.Context, *wiring.Document, []string) (*admin.Plan, error)) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.onDocument(cmd.Context(), args[0], func(d *wiring.Document) error {
			plan, err := plan(cmd.Context(), d, args)
			return t.carryOut(cmd.Context(), d.Poller, plan, err)
		})
	}
	return t.flags(cmd)
}

// outputFlag adds --output, which names one of a poller's outputs.
func outputFlag(flags *pflag.FlagSet, output *string) {
	flags.StringVar(output, "output", "", "name of a further output (outputs__<name>); default is the poller's own")
}

// planning makes the plan of what is done with a poller at once.
type planning func(admin.Controls, context.Context) (*admin.Plan, error)

// onOneOrAll makes cmd do something with the poller that is named, or with --all with every output of every poller.
func (t *target) onOneOrAll(cmd *cobra.Command, plan planning) *cobra.Command {
	var all bool
	cmd.Flags().BoolVar(&all, "all", false, "every output of every poller")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if all {
			return nil
		}
		return cobra.ExactArgs(1)(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !all:
			return t.onApp(func(a *wiring.App) error { return t.onEither(cmd.Context(), a, args[0], plan) })
		case len(args) > 0 || t.output != "":
			return commandline.Mistaken("--all is about every output of every poller: write %s --all", cmd.CommandPath())
		}
		return t.onAll(cmd.Context(), plan)
	}
	return t.flags(cmd)
}

// onEither does something with the document of a poller, or with its outbox.
func (t *target) onEither(ctx context.Context, a *wiring.App, name string, plan planning) error {
	c, end, err := a.Controls(ctx, t.choice(), name, operator(), auditLogger(t.console, a.Config))
	if err != nil {
		return err
	}
	defer end()
	p, err := plan(c, ctx)
	return plaintext.Error(t.carryOut(ctx, strings.ToLower(name), p, err))
}

// onAll does something with every output of every poller, after it has asked once. What fails for one does not keep it
// from the others.
func (t *target) onAll(ctx context.Context, plan planning) error {
	return t.onApp(func(a *wiring.App) error {
		if !t.yes && !t.dryRun {
			if err := confirm(t.console, everyPoller); err != nil {
				return err
			}
		}
		total := 0
		var failed []error
		for _, p := range a.Config.Pollers {
			for _, out := range inspect.OutputsOf(p) {
				total++
				one := *t
				one.output, one.yes, one.of = out.Name, true, &outputOf{p.Name, out.Name}
				if err := one.onEither(ctx, a, p.Name, plan); err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", poller.Address(p.Name, out.Name), plaintext.Error(err)))
				}
			}
		}
		switch {
		case total == 0:
			return wiring.ErrNoPoller
		case len(failed) == total:
			return fmt.Errorf("it failed for all %d:\n%w", total, errors.Join(failed...))
		case len(failed) > 0:
			return fmt.Errorf("it failed for %d of %d, and was done for the others:\n%w", len(failed), total,
				errors.Join(failed...))
		}
		return nil
	})
}

// find returns the document of the target's output of a poller, for the person at the console.
func (t *target) find(ctx context.Context, a *wiring.App, name string) (*wiring.Document, error) {
	return a.Managed(ctx, t.choice(), name, operator(), auditLogger(t.console, a.Config))
}

// carryOut shows a plan, asks for the poller's name, and applies it. err is that of the planning.
func (t *target) carryOut(ctx context.Context, name string, plan *admin.Plan, err error) error {
	ok, err := t.agreed(name, plan, err)
	if err != nil || !ok {
		return err
	}
	return t.apply(ctx, plan)
}

// agreed shows a plan and asks. It is false for a dry run, and where there is nothing to do.
func (t *target) agreed(name string, plan *admin.Plan, err error) (bool, error) {
	if plan != nil {
		if err := t.notes(plan.Notes); err != nil {
			return false, err
		}
	}
	var nothing *admin.Nothing
	if errors.As(err, &nothing) {
		return false, t.idle("%s", nothing.Why)
	}
	if err != nil {
		return false, err
	}
	text := plan.What
	if plan.Key != "" {
		text += fmt.Sprintf("\n  document  %s\n  delivered as far as  %s", plan.Key, plan.Reached)
	}
	if err := t.say("%s", text); err != nil {
		return false, err
	}
	if t.dryRun {
		return false, t.idle("dry run: nothing was changed")
	}
	return true, t.confirmed(name)
}

// confirmed asks, unless --yes says that nobody is to be asked.
func (t *target) confirmed(name string) error {
	if t.yes {
		return nil
	}
	return confirm(t.console, name)
}

// apply makes a planned change and says how it ended.
func (t *target) apply(ctx context.Context, plan *admin.Plan) error {
	result, err := plan.Apply(ctx)
	return t.ended(result, err)
}

// ended says what came of a change. Something may have been done although something else failed.
func (t *target) ended(result admin.Result, err error) error {
	if err := t.notes(result.Notes); err != nil {
		return err
	}
	if stopped := new(admin.Stopped); errors.As(err, &stopped) {
		return t.stopped("%s", stopped.Text)
	}
	if result.Text == "" {
		return err
	}
	return errors.Join(err, t.done("%s", result.Text))
}

func (t *target) notes(notes []string) error {
	for _, note := range notes {
		if err := t.say("%s", note); err != nil {
			return err
		}
	}
	return nil
}

// say writes a line for the person at the console. With --json standard output is the result's: see done.
func (t *target) say(format string, args ...any) error {
	_, err := fmt.Fprintf(t.talk(), format+"\n", args...)
	return err
}

// outcome is what a command that changes something prints with --json: one line.
type outcome struct {
	*outputOf
	Done   bool   `json:"done"` // false: nothing was changed and nothing failed, or it was stopped
	Result string `json:"result"`
}

// outputOf names one output of several.
type outputOf struct {
	Poller string `json:"poller"`
	Output string `json:"output"`
}

// done says how a command ended that has done what it was for, as its last line.
func (t *target) done(format string, args ...any) error { return t.outcome(true, format, args...) }

// idle says why a command has changed nothing, as its last line.
func (t *target) idle(format string, args ...any) error { return t.outcome(false, format, args...) }

// stopped says as the last line how far a command came that was stopped, which fails.
func (t *target) stopped(format string, args ...any) error {
	if err := t.outcome(false, format, args...); err != nil {
		return err
	}
	return &exitError{fmt.Errorf(format, args...)}
}

func (t *target) outcome(done bool, format string, args ...any) error {
	if !t.json {
		return t.say(format, args...)
	}
	return json.NewEncoder(t.out).Encode(outcome{t.of, done, fmt.Sprintf(format, args...)})
}

// initTimeout bounds one statement of `outbox init --apply` and `track install --apply`: an index on a table that is
// full takes long.
const initTimeout = 30 * time.Minute

// createFile makes the SQLite file where there is none: an empty one is an empty database.
func createFile(conn engine.Connection, setting string) error {
	if conn.Engine != "sqlite" {
		return nil
	}
	f, err := os.OpenFile(conn.Identity, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("create the SQLite file of %s: %w", setting, err)
	}
	return f.Close()
}

// statements is what a command that prints DDL prints with --json.
type statements struct {
	Engine     string   `json:"engine"`
	Statements []string `json:"statements"`
}
