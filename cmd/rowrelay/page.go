package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
	"github.com/rowrelay/rowrelay/statuspage"
	"github.com/rowrelay/rowrelay/wiring"
)

// statusSide is the side of a process that people look at: what its ticks have told, the report over all outputs, and
// what the page's buttons do.
type statusSide struct {
	// Reader gives the report; Operator carries out what the page asks for.
	Reader   status.Reader
	Operator *wiring.Operator

	seen *status.Recorder // nil in a command that does not tick
}

// newStatusSide makes it of a wired app. hosted says that functions start its ticks; else the pollers of ticking
// tick in this process by their schedules (none of them for run --once). Close it when no tick runs any more.
func newStatusSide(c *console, a *wiring.App, hosted bool, ticking []*wiring.Poller, log *slog.Logger) *statusSide {
	silent, idle := map[string]time.Duration{}, map[string]time.Duration{}
	for _, p := range a.Inspect(a.Pollers, hosted).Pollers {
		if hosted || ticks(ticking, p.Config.Name) {
			silent[p.Config.Name], idle[p.Config.Name] = status.SilentAfter(p), status.IdleAfter(p)
		}
	}
	seen := status.NewRecorder(status.RecorderConfig{App: a.Config.State.AppName,
		Instance: c.process().Instance(), Store: a.Store,
		SilentAfter: func(poller string) time.Duration { return silent[poller] },
		IdleAfter:   func(poller string) time.Duration { return idle[poller] }, Alone: !hosted, Log: log})
	board := newStatusBoard(c, a, hosted, a.Pollers, ticking, seen)
	actions := &wiring.Operator{App: a, Board: board, Stop: c.stop, Ended: errStopped, Log: log}
	return &statusSide{board, actions, seen}
}

// tracking are the metrics that are read off the same board.
func (s *statusSide) tracking() prometheus.Collector {
	return handler.NewTrackingMetrics(func(ctx context.Context) (list []handler.Tracked) {
		for _, o := range s.Operator.Board.Measured(ctx) {
			t := handler.Tracked{Poller: o.Poller, Output: o.Output}
			if s := o.Scale; s != nil {
				t.Counted, t.Unprocessed, t.Workers = true, s.Unprocessed, s.TargetWorkers
			}
			if p := o.Progress; p != nil && p.Whole {
				t.Snapshot, t.Read, t.Estimated = true, p.Read, p.Estimated
			}
			list = append(list, t)
		}
		return list
	})
}

// letters are the dead letters, counted off the same board.
func (s *statusSide) letters() prometheus.Collector {
	return handler.NewLetterMetrics(func(ctx context.Context) (list []handler.DeadLetters) {
		for _, c := range s.Operator.Board.DeadLetters(ctx) {
			list = append(list, handler.DeadLetters{Poller: c.Poller, Output: c.Output, N: c.DeadLetters})
		}
		return list
	})
}

// observe is handler.Config's Observe.
func (s *statusSide) observe(r *poller.Report, next string) { s.seen.Observe(r, next) }

// close waits for actions under way, and writes what is left to note.
func (s *statusSide) close() {
	s.Operator.End()
	s.seen.Close()
}

// newStatusBoard gives the report over chosen pollers. hosted says that functions start their ticks; seen is nil in a
// process that does not tick.
func newStatusBoard(c *console, a *wiring.App, hosted bool, chosen, ticking []*wiring.Poller,
	seen *status.Recorder) *status.Board {
	cfg := status.BoardConfig{
		Version: version, Instance: c.process().Instance(), Store: a.Store, Seen: seen,
		Backfill: func(b *state.Backfill) string { return admin.BackfillOf(b).String() },
	}
	return status.BoardOf(a.Inspect(chosen, hosted), cfg, func(poller string) bool { return ticks(ticking, poller) })
}

// ticks reports whether a poller is one of those that tick in this process by their schedules.
func ticks(ticking []*wiring.Poller, poller string) bool {
	return slices.ContainsFunc(ticking, func(w *wiring.Poller) bool { return w.Config.Name == poller })
}

// hostedPage are the HTTP functions of the status page. The host asks for a function key before the one, and for the
// admin key before the other.
func hostedPage(c *console, side *statusSide, log *slog.Logger) map[string]http.Handler {
	cfg := statuspage.Config{Reader: side.Reader, Operator: side.Operator, Keyless: c.functionApp().Keyless(), Log: log}
	return map[string]http.Handler{
		host.StatusFunction: statuspage.View(cfg),
		host.ActionsFunction: statuspage.Secured(handler.RequireAdmin(statuspage.Actions(cfg,
			statuspage.EasyAuth(c.env(host.EasyAuthSetting))))),
	}
}

// alonePage serves the page, /metrics and /healthz of `rowrelay run`. config has seen to it that a listener beyond
// loopback has a token.
func alonePage(cfg *config.App, side *statusSide, metrics http.Handler, log *slog.Logger) http.Handler {
	token := cfg.Status.Token.Reveal()
	guard := statuspage.NewGuard(token, log)
	mux := http.NewServeMux()
	// Whether the process serves, for probes: it asks no database, whose outage is no reason to restart, and needs no
	// token.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.Handle("GET /metrics", guard.Bearer(metrics))
	mux.Handle("/", statuspage.Standalone(statuspage.Config{Reader: side.Reader, Operator: side.Operator, Token: token,
		Log: log}, guard))
	return mux
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
