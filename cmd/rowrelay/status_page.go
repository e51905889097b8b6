package main

import (
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/statuspage"
)

// Functions of the status page under the Functions host.
const (
	statusFunction  = "status"
	actionsFunction = "statusactions"
)

// easyAuthSetting is set by App Service where its authentication is on; the host asks the same
// (azure-functions-host, EnvironmentExtensions.IsEasyAuthEnabled).
const easyAuthSetting = "WEBSITE_AUTH_ENABLED"

// hostedPage are the HTTP functions of the status page. The host asks for a function key before the one, and for the admin key
// before the other.
func hostedPage(c *console, side *statusSide, log *slog.Logger) map[string]http.Handler {
	cfg := statuspage.Config{Reader: side.Reader, Operator: side.Operator, Keyless: keyless(c), Log: log}
	return map[string]http.Handler{
		statusFunction:  statuspage.View(cfg),
		actionsFunction: statuspage.Secured(handler.RequireAdmin(statuspage.Actions(cfg, statuspage.EasyAuth(c.env(easyAuthSetting))))),
	}
}

// keyless reports whether the host is that of func start, which asks nobody for a key and takes everybody for an admin
// (azure-functions-core-tools, CliAuthenticationHandler; Program and StartHostAction set these variables).
func keyless(c *console) bool {
	return c.env("FUNCTIONS_CORETOOLS_ENVIRONMENT") != "" || strings.EqualFold(c.env("AZURE_FUNCTIONS_ENVIRONMENT"), "Development")
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
