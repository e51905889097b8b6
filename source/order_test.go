package source

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestOrderIsNotPromised: where overlap may break the order of an order key that rows share, the start says so.
func TestOrderIsNotPromised(t *testing.T) {
	url := testenv.SQLite(t)
	writer(t, "sqlite", url, "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer INTEGER, at DATETIME)")
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cursor, orderKey, mode string
		want                   bool
	}{
		{"at", "customer", "overlap", true}, {"at", "customer", "auto", true}, {"at", "", "overlap", false},
		{"at", "id", "overlap", false}, {"id", "customer", "exact", false}, {"id", "customer", "none", false},
	} {
		cfg := plan.Config{Poller: "orders", Table: "orders", Cursor: []string{c.cursor}, LateCommits: c.mode}
		if c.orderKey != "" {
			cfg.OrderKey = []string{c.orderKey}
		}
		src, err := New(cfg, conn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = src.Close() })
		d, err := src.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(d.Warnings, "\n"), "source__order_key under"); got != c.want {
			t.Errorf("%+v: warned %v: %q", c, got, d.Warnings)
		}
	}
}
