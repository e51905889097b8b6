package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBudgetBeyondFunctionTimeoutIsRefused: the host would kill the worker, and all its other functions, in the middle.
func TestBudgetBeyondFunctionTimeoutIsRefused(t *testing.T) {
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 2)
	root := functionApp(t, s)
	path := filepath.Join(root, "host.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"00:05:00"`, `"00:01:30"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	line := mustFail(t, startHost(t, root, s), "orders") // 50 s and 30 s and 10 s
	for _, want := range []string{"tick_budget", "functionTimeout"} {
		if !strings.Contains(line, want) {
			t.Errorf("the line lacks %s: %s", want, line)
		}
	}
	must(t, startHost(t, root, s.with(settings{"pollers__orders__tick_budget": "40s"})), "orders")
	if n, _ := to.count(); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}
