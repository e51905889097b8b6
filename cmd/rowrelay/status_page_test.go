package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rowrelay/rowrelay/host"
)

// TestRefusedActionsHaveTheHeaders: the refusal of a request without the admin key is framed and cached no more than
// what it refuses.
func TestRefusedActionsHaveTheHeaders(t *testing.T) {
	c := &console{}
	w := httptest.NewRecorder()
	hostedPage(c, &statusSide{}, slog.New(slog.DiscardHandler))[host.ActionsFunction].ServeHTTP(w,
		httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/status/actions", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("%d", w.Code)
	}
	for _, name := range []string{"Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options",
		"Referrer-Policy", "Cache-Control"} {
		if w.Header().Get(name) == "" {
			t.Errorf("the answer has no %s", name)
		}
	}
}

// TestWithoutKeysTheHostedPageIsForThisMachine: Core Tools says that it is one, and asks nobody for a key.
func TestWithoutKeysTheHostedPageIsForThisMachine(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	for setting, code := range map[string]int{
		"FUNCTIONS_CORETOOLS_ENVIRONMENT=true":    http.StatusForbidden,
		"AZURE_FUNCTIONS_ENVIRONMENT=Development": http.StatusForbidden,
		"AZURE_FUNCTIONS_ENVIRONMENT=Production":  http.StatusOK, "WEBSITE_INSTANCE_ID=7": http.StatusOK,
		"CONTAINER_NAME=7": http.StatusOK,
	} {
		side, _ := s.page()
		pages := hostedPage(&console{environ: []string{setting}}, side, side.Operator.Log)
		w := httptest.NewRecorder()
		pages[host.StatusFunction].ServeHTTP(w,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://evil.example:7071/api/status.json", nil))
		if w.Code != code {
			t.Errorf("%s: %d, want %d", setting, w.Code, code)
		}
	}
}
