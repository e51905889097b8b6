package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/poller"
)

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
			return t.onApp(func(a *app) error { return t.onEither(cmd.Context(), a, args[0], plan) })
		case len(args) > 0 || t.output != "":
			return &usageError{fmt.Errorf("--all is about every output of every poller: write %s --all", cmd.CommandPath())}
		}
		return t.onAll(cmd.Context(), plan)
	}
	return t.flags(cmd)
}

// onEither does something with the document of a poller, or with its outbox.
func (t *target) onEither(ctx context.Context, a *app, name string, plan planning) error {
	c, end, err := a.controls(ctx, t, name, operator(), auditLogger(t.console, a.cfg))
	if err != nil {
		return err
	}
	defer end()
	p, err := plan(c, ctx)
	return flat(t.carryOut(ctx, strings.ToLower(name), p, err))
}

// onAll does something with every output of every poller, after it has asked once. What fails for one does not keep it
// from the others.
func (t *target) onAll(ctx context.Context, plan planning) error {
	return t.onApp(func(a *app) error {
		if !t.yes && !t.dryRun {
			if err := confirm(t.console, everyPoller); err != nil {
				return err
			}
		}
		total := 0
		var failed []error
		for _, p := range a.cfg.Pollers {
			for _, out := range inspect.OutputsOf(p) {
				total++
				one := *t
				one.output, one.yes, one.of = out.Name, true, &outputOf{p.Name, out.Name}
				if err := one.onEither(ctx, a, p.Name, plan); err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", poller.Address(p.Name, out.Name), flat(err)))
				}
			}
		}
		switch {
		case total == 0:
			return errors.New("the settings name no poller: is local.settings.json in this directory?")
		case len(failed) > 0:
			return fmt.Errorf("it failed for %d of %d, and was done for the others:\n%w", len(failed), total,
				errors.Join(failed...))
		}
		return nil
	})
}
