package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/reload"
)

func newRun(c *console) *cobra.Command {
	var how runOptions
	cmd := &cobra.Command{
		Use:   "run [poller ...]",
		Short: "Relay without the Functions host, until Ctrl-C",
		Long: `Run gives every poller its ticks by its own schedule (the setting schedule, an NCRONTAB expression as in function.json,
in UTC). On status__listen it shows how they are doing, under /status, and Prometheus metrics under /metrics. ` +
			`Without names it
runs all pollers. A poller with poll_interval polls without a gap: where its tick ends at the budget, the next ` +
			`begins at once.
Outboxes are cleaned up by their source__cleanup_schedule.

Ctrl-C stops cleanly: requests under way are finished, what was accepted is committed, and the lease is released. A
second Ctrl-C ends at once; then what was not committed is delivered again.

With --config, SIGHUP reads the file anew, and the files of secrets that settings name; --watch does so after each
change of the file. Each poller ends its tick as for Ctrl-C, and begins again with what was read. Where that has faults,
or changes what only a restart can (state__…, status__listen, OTEL_…), it is told, and the settings that run go on.

` + disclosure,
		Example: `  rowrelay run
  rowrelay run orders --once
  rowrelay run --config rowrelay.yaml --watch`,
		RunE: func(cmd *cobra.Command, names []string) error {
			how.names = names
			return runAlone(cmd.Context(), c, &how)
		},
	}
	cmd.Flags().BoolVar(&how.once, "once", false,
		"run one tick of each poller, until it is drained or its budget is over, then exit; fails when a tick failed. "+
			"More ticks follow only while the search for an event that requests fail for goes on")
	cmd.Flags().BoolVar(&how.watch, "watch", false, "reload when the file of --config has changed")
	return cmd
}

func runAlone(ctx context.Context, c *console, how *runOptions) error {
	if how.watch && (c.config == "" || how.once) {
		return commandline.Mistaken("--watch is for rowrelay run --config FILE, without --once")
	}
	c.seen = &checkpointed.Seen{}
	g, err := newGeneration(c, how)
	if err != nil {
		return err
	}
	page := &switching{ready: make(chan struct{})}
	c.telemetry = startTelemetry(ctx, &g.console, g.cfg, page, g.log)
	defer c.telemetry.Shutdown(ctx)
	if err := g.wire(c.telemetry); err != nil {
		return err
	}
	defer tellStopping(ctx, g.log)()
	if how.once {
		return g.once(ctx, page)
	}
	stop, err := serveStatus(ctx, g.cfg, page, g.log)
	if err != nil {
		g.close()
		return err
	}
	defer stop()
	asked := reload.Asked(ctx, c.config, how.watch, c.in)
	var ending sync.WaitGroup
	for next := g; next != nil; {
		g = next
		next = g.relay(ctx, page, asked, &ending)
	}
	ending.Wait()
	g.log.Info("stopped")
	return nil
}

// tellStopping says why the end takes a while, where it does: a receiver that does not answer is waited for until
// output__timeout. What it returns is called at the end.
func tellStopping(ctx context.Context, log *slog.Logger) func() {
	ended, end := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		select {
		case <-ended.Done():
		case <-time.After(time.Second):
			log.Info("stopping: requests under way are waited for; a second signal (Ctrl-C) ends at once, and they are sent again")
		}
	})
	return end
}
