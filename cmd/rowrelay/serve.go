package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/statuspage"
	"github.com/rowrelay/rowrelay/wiring"
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

On SIGTERM, SIGINT, or the end of the host that started it, it gives requests under way three seconds, commits what ` +
			`was accepted,
releases its leases and leaves, within eight seconds, with the exit code 200, which asks the host for another worker.

` + disclosure,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), c, port) },
	}
	cmd.Flags().StringVar(&port, "port", "", "port to listen on where no host says one")
	return cmd
}

func serve(ctx context.Context, c *console, port string) error {
	if err := c.environmentOnly("serve"); err != nil {
		return err
	}
	fromHost := c.functionApp().Port()
	if fromHost != "" {
		port = fromHost
	}
	hosted := fromHost != ""
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if hosted {
		ended := host.WatchParent(ctx)
		go func() {
			if ended() { // an orphan gets no invocation any more: it ends as if it had been told to
				stop()
			}
		}()
		// Whoever read our output may be gone before us. To write a line then must not end the process before its
		// commit.
		signal.Ignore(syscall.SIGPIPE)
	}
	if port == "" {
		return errors.New("serve is started by the Functions host (func start), which names a port in " +
			"FUNCTIONS_CUSTOMHANDLER_PORT. To relay without the host: rowrelay run. To try serve by hand: --port")
	}
	// Listen first: the host's readiness probe waits in the backlog while the settings are read.
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil && hosted && ctx.Err() != nil {
		return &host.RestartError{Err: errStopped} // the host counts every other end
	}
	if err != nil {
		return fmt.Errorf("listening for the Functions host: %w", err)
	}
	cfg, _ := config.Load(c.environ) // its error is the faults that the App holds
	log := handler.NewHostLogger(c.out, c.err, levelOf(cfg))
	file := c.functionApp().File()
	for _, p := range cfg.Pollers {
		p.Faults = append(p.Faults, p.CheckBudget(file.Timeout())...)
		p.SetLinger(file.Timeout())
	}
	registry := newRegistry()
	c.telemetry, c.log = startTelemetry(ctx, c, cfg, registry, log), log
	cut, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	if hosted {
		c.cut = cut
	}
	a := wiring.New(cfg, c.process())
	lifetime, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	pollers := a.Handlers(&file)
	side := newStatusSide(c, a, true, nil, log)
	registry.MustRegister(side.tracking(), side.letters())
	h := handler.New(lifetime, handler.Config{
		Pollers: pollers, Faults: cfg.Faults.Errors(), HTTP: hostedPage(c, side, log), Log: log, Observe: side.observe,
		Registry: registry,
	})
	server := &http.Server{
		// The host calls 127.0.0.1 (WorkerConstants.HostName). A web site that makes a name of its own point here has that
		// name in Host.
		Handler:           statuspage.ThisMachine(c.telemetry.AfterInvocations(h)),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	tell(ctx, log, a)
	for _, w := range a.Pollers {
		if err := host.RefusedName(w.Config.Name); err != nil && hosted {
			log.Error("a poller never runs", "event", "config_invalid", "poller", w.Config.Name, "error", err)
		}
		if w.Config.ScheduleSet {
			log.Warn("schedule has no effect under the Functions host: function.json owns it",
				"setting", "pollers__"+w.Config.Name+"__schedule", "next", "set the schedule in "+w.Config.Name+"/function.json")
		}
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		c.telemetry.Shutdown(ctx)
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	// Ticks stop beginning requests, commit what was accepted and release their lease.
	end(errStopped)
	ticks := stopGrace(cfg)
	all := ticks + 20*time.Second
	if hosted {
		ticks, all = host.TicksEnd, host.WorkerEnds
		defer time.AfterFunc(host.RequestsEnd, giveUp).Stop()
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), all)
	defer cancel()
	grace, cancel := context.WithTimeout(bound, ticks)
	defer cancel()
	err = server.Shutdown(grace)
	err = errors.Join(err, host.Within(bound, func() error {
		side.close()
		err := a.Close()
		c.telemetry.Shutdown(ctx)
		return err
	}))
	if !hosted {
		return err
	}
	if err != nil {
		log.Warn("the process did not end in order", "error", err, "next",
			"nothing was lost: what was not committed is delivered again, "+
				"at the latest when the lease has run out")
	}
	return &host.RestartError{Err: errStopped}
}

// stopGrace is how long a tick may need to end where no host is in a hurry: the requests under way, then one commit.
func stopGrace(cfg *config.App) time.Duration {
	longest := time.Duration(0)
	for _, p := range cfg.Pollers {
		for i := range p.Outputs {
			longest = max(longest, p.Outputs[i].Timeout)
		}
	}
	return longest + 10*time.Second
}
