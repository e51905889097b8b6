package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestRefusedActionsHaveTheHeaders: the refusal of a request without the admin key is framed and cached no more than what it refuses.
func TestRefusedActionsHaveTheHeaders(t *testing.T) {
	c := &console{}
	w := httptest.NewRecorder()
	hostedPage(c, &statusSide{})[actionsFunction].ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/status/actions", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("%d", w.Code)
	}
	for _, name := range []string{"Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options", "Referrer-Policy", "Cache-Control"} {
		if w.Header().Get(name) == "" {
			t.Errorf("the answer has no %s", name)
		}
	}
}
