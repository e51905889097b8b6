package docs_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestShaping runs the commands of its page, whose receiver gets what the page says.
func TestShaping(t *testing.T) {
	t.Parallel()
	const away = "http://127.0.0.1:8080"
	var seen []string
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		seen = append(seen, string(body))
	}))
	t.Cleanup(to.Close)
	var script, want string
	for _, b := range fencedBlocks(t, "shaping.md") {
		if b.lang == "json" {
			want = "[" + strings.TrimSpace(b.text) + "]"
			continue
		}
		script += "mark 1\n" + b.text
	}
	if strings.Count(script, away) != 1 {
		t.Fatalf("the page names %s elsewhere", away)
	}
	printed := shell(t, strings.ReplaceAll(script, away, to.URL))[1]
	if len(seen) != 1 || seen[0] != want {
		t.Errorf("%q, and the page says %s\n%s", seen, want, printed)
	}
	for _, line := range []string{`"email":"ada@example.com"`, `sent as    {"amount":19.90`, "not sent   filtered"} {
		if !strings.Contains(squeeze(printed), squeeze(line)) {
			t.Errorf("%s was not printed:\n%s", line, printed)
		}
	}
}
