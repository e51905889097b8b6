package docs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFirstHour runs the commands of its page.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	const away = "http://127.0.0.1:8080"
	to := newReceiver(t)
	var script string
	for _, b := range fencedBlocks(t, "first-hour.md") {
		script += "mark 1\n" + b.text
	}
	if strings.Count(script, away) != 1 {
		t.Fatalf("the page names %s elsewhere", away)
	}
	kept := t.TempDir()
	script += "cp orders.schema.json orders.asyncapi.json " + kept + "\n"
	printed := shell(t, strings.ReplaceAll(script, away, to.URL))[1]
	for _, want := range []string{`updated_at: has a word in its name that begins with "updat"`,
		"index      orders_updated",
		"1 of 1 poller ok", "took test-", `"rowrelaybatch":"batch_`} {
		if !strings.Contains(printed, want) {
			t.Errorf("%s was not printed:\n%s", want, printed)
		}
	}
	if got := to.events(); got != 1 {
		t.Errorf("%d events arrived", got)
	}
	for _, name := range []string{"orders.schema.json", "orders.asyncapi.json"} {
		if text, err := os.ReadFile(filepath.Join(kept, name)); err != nil || !json.Valid(text) {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}
