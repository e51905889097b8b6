package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/statuspage"
)

func newServe(c *console) *cobra.Command {
	var port string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer the Azure Functions host (the host starts this)",
		Long: `Serve speaks the custom-handler protocol of the Azure Functions host on 127.0.0.1, on the port that the host names in
FUNCTIONS_CUSTOMHANDLER_PORT. Each invocation of a timer function runs one tick of the poller of the same name.

It never exits on a fault of settings, database or destination: it answers 500 and says why on stderr, because the host
gives up on a worker that keeps exiting. Settings come from the environment only, as the host sets it.

` + disclosure,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), c, port) },
	}
	cmd.Flags().StringVar(&port, "port", "", "port to listen on where no host says one")
	return cmd
}

// errStopped is why ticks end when the process was asked to.
var errStopped = errors.New("the process was told to stop")

func serve(ctx context.Context, c *console, port string) error {
	if fromHost := c.env("FUNCTIONS_CUSTOMHANDLER_PORT"); fromHost != "" {
		port = fromHost
	}
	if port == "" {
		return errors.New("serve is started by the Functions host (func start), which names a port in " +
			"FUNCTIONS_CUSTOMHANDLER_PORT. To relay without the host: rowrelay run. To try serve by hand: --port")
	}
	// Listen first: the host's readiness probe waits in the backlog while the settings are read.
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return fmt.Errorf("listening for the Functions host: %w", err)
	}
	cfg, _ := config.Load(c.environ) // its error is the faults that the App holds
	log := handler.NewHostLogger(c.out, c.err, levelOf(cfg))
	host := readHost(appRoot(c), c.environ)
	for _, p := range cfg.Pollers {
		p.Faults = append(p.Faults, p.CheckBudget(host.timeout())...)
	}
	registry := newRegistry()
	c.telemetry = startTelemetry(ctx, c, cfg, registry, log)
	defer c.telemetry.Shutdown(ctx)
	a := wire(c, cfg)
	lifetime, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	pollers := handlerOf(c, a, &host)
	side := newStatusSide(c, a, &host, nil, log)
	h := handler.New(lifetime, handler.Config{
		Pollers: pollers, Faults: faultsOf(cfg.Faults), HTTP: hostedPage(c, side, log), Log: log, Observe: side.observe, Registry: registry,
	})
	server := &http.Server{
		// The host calls 127.0.0.1 (WorkerConstants.HostName). A web site that makes a name of its own point here has that name in Host.
		Handler:           statuspage.ThisMachine(c.telemetry.AfterInvocations(h)),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	tell(ctx, log, a)
	for _, w := range a.pollers {
		if w.cfg.ScheduleSet {
			log.Warn("schedule has no effect under the Functions host: function.json owns it",
				"setting", "pollers__"+w.cfg.Name+"__schedule", "next", "set the schedule in "+w.cfg.Name+"/function.json")
		}
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	// Ctrl-C under func start. Ticks stop beginning requests, commit what was accepted and release their lease.
	end(errStopped)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace(cfg))
	defer cancel()
	err = server.Shutdown(grace)
	side.close()
	return errors.Join(err, a.Close())
}

// stopGrace is how long a tick may need to end: the requests under way, then one commit.
func stopGrace(cfg *config.App) time.Duration {
	longest := time.Duration(0)
	for _, p := range cfg.Pollers {
		for i := range p.Outputs {
			longest = max(longest, p.Outputs[i].Timeout)
		}
	}
	return longest + 10*time.Second
}
