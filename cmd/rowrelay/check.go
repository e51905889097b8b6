package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/inspect/report"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/production"
)

func newCheck(c *console) *cobra.Command {
	var rows int
	var ddl, ready bool
	var accepted []string
	cmd := &cobra.Command{
		Use:   "check [poller ...]",
		Short: "Prove the settings, and show what would be sent",
		Long: `Check validates all settings, reads host.json and function.json, connects to each database and to the state store, and
shows for each poller: the statement that it will run (of an outbox: its layout, strategy, figures and owners), the ` +
			`index
that serves it, the first rows that it would send, the longest delay until a change is seen, how late commits are ` +
			`found and
what can still be missed, what becomes of an event that the destination refuses, the lease's margin, and what is unsafe.
It sends and changes nothing.

It fails when anything is at fault; warnings do not make it fail.

With --production it goes through the checklist of docs/production.md instead: for each item the verdict (ok, to mend,
cannot tell, does not apply), what was seen, and what to do. It fails when an item is to mend that --accept does ` +
			`not name.`,
		Example: `  rowrelay check
  rowrelay check orders --rows 10
  rowrelay check orders --ddl > orders.sql
  rowrelay check --json | jq '.pollers[].warnings'
  rowrelay check --production
  rowrelay check --production --accept lag,ordering`,
		RunE: func(cmd *cobra.Command, names []string) error {
			err := cmp.Or(commandline.OneOf(cmd.Flags(), "production", "ddl"),
				commandline.OneOf(cmd.Flags(), "production", "rows"))
			switch {
			case err != nil:
				return err
			case ready:
				return checkProduction(cmd.Context(), c, names, accepted)
			case len(accepted) > 0:
				return commandline.Mistaken("--accept is for items of --production")
			case rows < 0:
				return commandline.Mistaken("--rows must not be negative")
			case ddl && c.json:
				return commandline.Mistaken("--ddl prints SQL, and no JSON: with --json alone it is the member ddl of each poller")
			}
			return check(cmd.Context(), c, names, rows, ddl)
		},
	}
	cmd.Flags().IntVar(&rows, "rows", 3, "how many rows to show")
	cmd.Flags().BoolVar(&ddl, "ddl", false,
		"print only the statements that let late commits be found exactly; it runs none of them")
	cmd.Flags().BoolVar(&ready, "production", false, "go through the production checklist (docs/production.md)")
	cmd.Flags().StringSliceVar(&accepted, "accept", nil,
		"ids of items that are meant to be as they are: they are shown, and do not make --production fail")
	return cmd
}

func check(ctx context.Context, c *console, names []string, rows int, ddl bool) error {
	a, chosen, err := c.open(names)
	if err != nil {
		return c.unopened(err)
	}
	defer func() { _ = a.Close() }() // nothing was written
	found := report.Of(ctx, a.Inspect(chosen, c.functionApp().File().Err == nil), rows)
	switch {
	case c.json:
		err = printing.JSON(c.out, found)
	case ddl:
		err = found.WriteDDL(c.out)
	default:
		err = found.WriteText(c.out)
	}
	if err == nil && found.Summary.Failures > 0 {
		err = &exitError{errors.New("check found faults")}
	}
	return err
}

// unopened says why the settings could not be read, or do not name what is asked about: with --json as JSON, too.
func (c *console) unopened(err error) error {
	if !c.json {
		return err
	}
	return errors.Join(printing.JSON(c.out, report.Unopened(err)), &exitError{err})
}

// checkProduction goes through the production checklist. It sends nothing and changes nothing.
func checkProduction(ctx context.Context, c *console, names, accepted []string) error {
	for _, id := range accepted {
		if !production.Known(id) {
			return commandline.Mistaken("--accept %s: there is no such item; docs/production.md lists them", id)
		}
	}
	a, chosen, err := c.open(names)
	if err != nil {
		return c.unopened(err)
	}
	defer func() { _ = a.Close() }() // nothing was written
	found := a.Inspect(chosen, c.functionApp().File().Err == nil)
	if len(chosen) == 0 {
		found.Faults = append(found.Faults,
			"there are no pollers: set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	found.Audit(ctx)
	report := production.Judge(found, accepted)
	if c.json {
		err = printing.JSON(c.out, report)
	} else {
		err = report.WriteText(c.out)
	}
	if err == nil && report.ToMend() > 0 {
		err = &exitError{errors.New("the production checklist has items to mend")}
	}
	return err
}
