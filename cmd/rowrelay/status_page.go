package main

import (
	"io"
	"log/slog"
	"net/http"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/statuspage"
)

// hostedPage are the HTTP functions of the status page. The host asks for a function key before the one, and for the admin key
// before the other.
func hostedPage(c *console, side *statusSide, log *slog.Logger) map[string]http.Handler {
	cfg := statuspage.Config{Reader: side.Reader, Operator: side.Operator, Keyless: c.functionApp().Keyless(), Log: log}
	return map[string]http.Handler{
		host.StatusFunction:  statuspage.View(cfg),
		host.ActionsFunction: statuspage.Secured(handler.RequireAdmin(statuspage.Actions(cfg, statuspage.EasyAuth(c.env(host.EasyAuthSetting))))),
	}
}

// alonePage serves the page, /metrics and /healthz of `rowrelay run`. config has seen to it that a listener beyond loopback has a token.
func alonePage(cfg *config.App, side *statusSide, metrics http.Handler, log *slog.Logger) http.Handler {
	token := cfg.Status.Token.Reveal()
	guard := statuspage.NewGuard(token, log)
	mux := http.NewServeMux()
	// Whether the process serves, for probes: it asks no database, whose outage is no reason to restart, and needs no token.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.Handle("GET /metrics", guard.Bearer(metrics))
	mux.Handle("/", statuspage.Standalone(statuspage.Config{Reader: side.Reader, Operator: side.Operator, Token: token, Log: log}, guard))
	return mux
}
