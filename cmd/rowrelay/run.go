package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/wiring"
)

func newRun(c *console) *cobra.Command {
	var how running
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

// running is how `rowrelay run` was called.
type running struct {
	names       []string
	once, watch bool
}

// polling bounds a tick of `run` that goes on polling: the next begins at once, and what a tick has to tell (its line,
// its metrics, the Error line of a dead letter) is told when it ends.
const polling = 5 * time.Second

func runAlone(ctx context.Context, c *console, how *running) error {
	if how.watch && (c.config == "" || how.once) {
		return &usageError{errors.New("--watch is for rowrelay run --config FILE, without --once")}
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
	if how.once {
		return g.once(ctx, page)
	}
	stop, err := serveStatus(ctx, g.cfg, page, g.log)
	if err != nil {
		g.close()
		return err
	}
	defer stop()
	asked := reloads(ctx, c, how)
	var ending sync.WaitGroup
	for next := g; next != nil; {
		g = next
		next = g.relay(ctx, page, asked, &ending)
	}
	ending.Wait()
	g.log.Info("stopped")
	return nil
}

// refuseMarks refuses source__late_commits=settle on a cursor that is no time: how old such rows are is known by what
// this process has seen a window ago, and a single tick has seen nothing. A source that does not answer is left to the
// tick.
func refuseMarks(ctx context.Context, chosen []*wiring.Poller) error {
	for _, w := range chosen {
		if w.Source == nil {
			continue // an outbox: its rows say themselves what was sent
		}
		d, err := w.Source.Describe(ctx)
		if err != nil || d.Late != late.Settle {
			continue
		}
		last, err := w.Source.Latest(ctx)
		if err != nil || last.IsStart() {
			continue
		}
		var cursor struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(last, &cursor); err != nil {
			return fmt.Errorf("reading the latest position of %s: %w", w.Config.Name, err)
		}
		kind := cursor.Kind
		if len(w.Config.Source.Cursor) > 1 || !strings.HasPrefix(kind, "timestamp+") && !strings.HasPrefix(kind, "date+") {
			return fmt.Errorf("run --once of %s would never send anything: with %s=settle on a cursor that is no time (%s), a row is sent by "+
				"the process that has seen it for %s: use overlap, or run without --once", w.Config.Name,
				w.Config.Setting("source__late_commits"), kind, w.Config.Source.LateWindow)
		}
	}
	return nil
}

func runOnce(ctx context.Context, h *handler.Handler, chosen []*wiring.Poller) error {
	failed := make([]bool, len(chosen))
	var wg sync.WaitGroup
	for i, w := range chosen {
		wg.Go(func() {
			failed[i] = tickOnce(ctx, h, w.Config.Name)
		})
	}
	wg.Wait()
	for i := range failed {
		if failed[i] {
			return &exitError{fmt.Errorf("a tick of %s failed", chosen[i].Config.Name)} // its log line has said why
		}
	}
	return nil
}

// tickOnce runs one tick of a poller, and more only while each goes on with the search for an event that the last one's
// requests failed for: no other process could go on with it. It reports whether a tick failed.
func tickOnce(ctx context.Context, h *handler.Handler, name string) (failed bool) {
	for last := math.MaxInt; ; {
		reports, err := h.Tick(ctx, name, handler.Invocation{})
		failed = failed || err != nil
		left := 0
		for i := range reports {
			failed = failed || reports[i].Failed()
			left += reports[i].Searching
		}
		if left == 0 || left >= last || ctx.Err() != nil {
			return failed
		}
		last = left
	}
}

// serveStatus serves the status page and /metrics.
func serveStatus(ctx context.Context, cfg *config.App, page http.Handler, log *slog.Logger) (stop func(), err error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", cfg.Status.Listen)
	if err != nil {
		return nil, fmt.Errorf("status__listen: %w: give another address, such as 127.0.0.1:0", err)
	}
	cfg.Status.Listen = listener.Addr().String()
	server := &http.Server{
		Handler: page, ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the listener of the status page and the metrics ended", "error", err)
		}
	}()
	return func() { _ = server.Close() }, nil // readers are not waited for
}

// keepTicking ticks by the schedule until ctx ends. Ticks do not overlap: what falls due while one runs is one tick
// later. A poller with poll_interval goes on polling where its tick ended at the budget: the next begins at once, or
// else changes would wait for the schedule once in each budget.
func keepTicking(ctx context.Context, h *handler.Handler, w *wiring.Poller, log *slog.Logger) {
	for {
		next, ok := w.Schedule.Next(time.Now())
		if !ok || clock.Sleep(ctx, time.Until(next)) != nil { // one that never fires is a fault of the settings
			return
		}
		for again := true; again; {
			reports, err := h.Tick(ctx, w.Config.Name, handler.Invocation{})
			if err != nil {
				log.Error("the tick could not begin", "poller", w.Config.Name, "error", err)
			}
			again = ctx.Err() == nil && endedAtBudget(w.Config, reports)
		}
	}
}

// endedAtBudget reports whether a tick that polls ended because its time was over, and nothing else. One that failed
// waits for the schedule, which keeps a fault from being met again and again without a pause.
func endedAtBudget(p *config.Poller, reports []poller.Report) bool {
	if p.PollInterval <= 0 {
		return false
	}
	for i := range reports {
		r := &reports[i]
		if (r.Event == poller.TickComplete || r.Event == poller.FetchEmpty) && r.Ended.Sub(r.Started) >= p.TickBudget {
			return true
		}
	}
	return false
}

// cleanupSpread is the most that a clean-up begins after its time, so that instances with one schedule do not ask at
// once.
const cleanupSpread = 30 * time.Second

// keepCleaning cleans an outbox up by its own schedule until ctx ends, beside its ticks. The start is no occasion: what
// is to be deleted has waited for days.
func keepCleaning(ctx context.Context, h *handler.Handler, w *wiring.Poller) {
	for {
		next, ok := w.Cleanup.Next(time.Now())
		spread := cleanupSpread
		if after, ok := w.Cleanup.Next(next); ok {
			spread = min(spread, after.Sub(next)/2)
		}
		if !ok || clock.Sleep(ctx, time.Until(next.Add(rand.N(spread)))) != nil { //nolint:gosec // no secret
			return
		}
		_ = h.Cleanup(ctx, w.Config.Name, 0, handler.Invocation{}) // it has logged why; the next time goes on
	}
}
