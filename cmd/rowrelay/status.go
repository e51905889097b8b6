package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/status"
)

func newStatus(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "status [poller ...]",
		Short: "Show how every poller is doing: health, lag, position, lease, parked events, dead letters",
		Long: `Status shows for each poller and output what the status page shows: how it is doing and why, how far
it has come, who holds the lease, what is parked or was given up, and the last error with what to do about it. The
worst comes first. With --json it prints the report that /status.json answers.

It asks the state store and the databases of outboxes, each for five seconds at most, and changes nothing.

Only a tick knows the lag, the rate, the last error, and who holds rows back. Ticks leave a note of it in the state
store: those that did something every 15 seconds at most, those that found nothing every minute. Where that sign of
life is overdue, or run has ended in order, the poller is silent. Without a state store, which outboxes do not need,
only the page of the instance that ticks knows it.

It fails (exit code 1) when something is failing, silent or unknown (a part of its figures could not be read, or no
tick has left a sign of life), or when the settings have faults. Parked events, dead letters and a pause do not make
it fail.`,
		Example: `  rowrelay status
  rowrelay status orders
  rowrelay status --json | jq -r '.outputs[] | select(.health != "healthy") | .poller + ": " + .says'`,
		RunE: func(cmd *cobra.Command, names []string) error { return showStatus(cmd.Context(), c, names) },
	}
}

func showStatus(ctx context.Context, c *console, names []string) error {
	a, chosen, err := c.open(names)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // nothing was written
	if len(chosen) == 0 && len(a.Config.Faults) == 0 {
		return errors.New("there are no pollers: set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	report := newStatusBoard(c, a, c.functionApp().File().Err == nil, chosen, nil, nil).Report(ctx)
	slices.SortStableFunc(report.Outputs, func(x, y status.Output) int {
		return cmp.Compare(slices.Index(status.Healths, x.Health), slices.Index(status.Healths, y.Health))
	})
	if c.json {
		err = printing.JSON(c.out, &report)
	} else {
		err = report.WriteText(c.out)
	}
	if err != nil {
		return err
	}
	if len(report.Faults) > 0 || slices.ContainsFunc(report.Outputs, needsSomebody) {
		return &exitError{errors.New("something is failing")}
	}
	return nil
}

// needsSomebody reports whether an output's health makes the command fail: what cannot be read may be as bad as
// anything.
func needsSomebody(o status.Output) bool {
	return o.Health == status.Failing || o.Health == status.Silent || o.Health == status.Unknown
}
