package docs_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestHTTP runs the commands of its page against a REST API and its authorization server.
func TestHTTP(t *testing.T) {
	t.Parallel()
	const away = "http://127.0.0.1:8080"
	var mu sync.Mutex
	var seen []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/token" {
			if id, secret, _ := q.BasicAuth(); id != "shop-relay" || secret != "s3cret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"t-1","token_type":"bearer","expires_in":3600}`)
			return
		}
		body, _ := io.ReadAll(q.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprint(q.Method, " ", q.URL.Path, " ", string(body), " ", q.Header.Get("Authorization")))
	}))
	t.Cleanup(api.Close)
	var script string
	for _, b := range fencedBlocks(t, "http.md") {
		script += "mark 1\n" + b.text
	}
	if strings.Count(script, away) != 2 {
		t.Fatalf("the page names %s elsewhere", away)
	}
	printed := shell(t, strings.ReplaceAll(script, away, api.URL))[1]
	slices.Sort(seen)
	if want := []string{"DELETE /shops/berlin/orders/2  Bearer t-1",
		`PUT /shops/berlin/orders/1 {"id":1,"item":"rice"} Bearer t-1`}; !slices.Equal(seen, want) {
		t.Errorf("%q\n%s", seen, printed)
	}
	if strings.Contains(printed, "s3cret") {
		t.Error("the secret was printed")
	}
}
