package source

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestOrderIsNotPromised: where overlap may break the order of an order key that rows share, auto refuses, and the
// start says so of overlap that somebody chose.
func TestOrderIsNotPromised(t *testing.T) {
	url := testenv.SQLite(t)
	writer(t, "sqlite", url, "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer INTEGER, at DATETIME)")
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cursor, orderKey, mode string
		warns, refused         bool
	}{
		{"at", "customer", "overlap", true, false}, {"at", "customer", "auto", false, true},
		{"at", "", "overlap", false, false}, {"at", "", "auto", false, false}, {"at", "id", "auto", false, false},
		{"at", "id", "overlap", false, false}, {"id", "customer", "exact", false, false},
		{"id", "customer", "auto", false, false}, {"id", "customer", "none", false, false},
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
		if errors.Is(d.Refused, poller.ErrConfig) != c.refused || d.Refused != nil &&
			!strings.Contains(d.Refused.Error(), "or set source__late_commits=overlap") {
			t.Errorf("%+v: refused: %v", c, d.Refused)
		}
		if got := strings.Contains(strings.Join(d.Warnings, "\n"), "source__order_key under"); got != c.warns {
			t.Errorf("%+v: warned %v: %q", c, got, d.Warnings)
		}
	}
}
