package main

import (
	"io"
	"log/slog"
	"net/http"
	"slices"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
	"github.com/rowrelay/rowrelay/statuspage"
)

// statusSide is the side of a process that people look at: what its ticks have told, the report over all outputs, and
// what the page's buttons do.
type statusSide struct {
	// Reader gives the report; Operator carries out what the page asks for.
	Reader   status.Reader
	Operator status.Operator

	seen    *status.Recorder // nil in a command that does not tick
	actions *statusOperator
}

// newStatusSide makes it of a wired app. hosted says that functions start its ticks; else the pollers of ticking
// tick in this process by their schedules. Close it when no tick runs any more.
func newStatusSide(c *console, a *app, hosted bool, ticking []*wired, log *slog.Logger) *statusSide {
	seen := status.NewRecorder(status.RecorderConfig{App: a.cfg.State.AppName, Instance: instance(c), Store: a.store,
		Log: log})
	board := newStatusBoard(c, a, hosted, a.pollers, ticking, seen)
	actions := &statusOperator{console: c, app: a, board: board, log: log}
	return &statusSide{Reader: board, Operator: actions, seen: seen, actions: actions}
}

// observe is handler.Config's Observe.
func (s *statusSide) observe(r *poller.Report, next string) { s.seen.Observe(r, next) }

// close waits for actions under way, and writes what is left to note.
func (s *statusSide) close() {
	s.actions.end()
	s.seen.Close()
}

// newStatusBoard gives the report over chosen pollers. hosted says that functions start their ticks; seen is nil in a
// process that does not tick.
func newStatusBoard(c *console, a *app, hosted bool, chosen, ticking []*wired, seen *status.Recorder) *status.Board {
	cfg := status.BoardConfig{
		Version: version, Instance: instance(c), Store: a.store, Seen: seen,
		Backfill: func(b *state.Backfill) string { return admin.BackfillOf(b).String() },
	}
	return status.BoardOf(a.inspect(c, chosen, hosted), cfg, func(poller string) bool {
		return slices.ContainsFunc(ticking, func(w *wired) bool { return w.cfg.Name == poller })
	})
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
