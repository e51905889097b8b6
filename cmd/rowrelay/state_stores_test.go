package main

import (
	"crypto/rand"
	"maps"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// events are what one tick prints.
func (s *statusShop) events() string {
	s.t.Helper()
	return s.shown("run", "--once")
}

// TestStateStores: a poller moves from files to a table, in its own database, in another, and in a storage account. The
// old settings deliver nothing any more, the new ones what came since.
func TestStateStores(t *testing.T) {
	for name, store := range map[string]func(t *testing.T) map[string]string{
		"the source's database": func(*testing.T) map[string]string {
			return map[string]string{"state__kind": "sql", "state__connection": "SHOP_DB"}
		},
		"postgres": func(t *testing.T) map[string]string {
			return map[string]string{"state__kind": "sql", "state__connection": "STATE_DB", "STATE_DB": testenv.Postgres(t)}
		},
		"mysql": func(t *testing.T) map[string]string {
			return map[string]string{"state__kind": "sql", "state__connection": "STATE_DB", "STATE_DB": testenv.MySQL(t),
				"state__table": "relay state"}
		},
		"a storage table": func(t *testing.T) map[string]string {
			return map[string]string{"state__kind": "table", "state__connection": "ACCOUNT",
				"ACCOUNT": testenv.Azurite(t), "state__table": "moved" + strings.ToLower(rand.Text())}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := shopOnFiles(t)
			s.settings["pollers__orders__output__kind"] = "stdout"
			s.execute(`INSERT INTO orders VALUES (1, 1, 'one'), (2, 2, 'two')`)
			if out := s.events(); strings.Count(out, `"note":`) != 2 {
				t.Fatalf("at first: %s", out)
			}
			old, move := s.settings, []string{"state", "move", "--yes"}
			s.settings = maps.Clone(old)
			for name, value := range store(t) {
				s.settings[name] = value
				if strings.HasPrefix(name, "state__") {
					move = append(move, "--to", name+"="+value)
				} else {
					old[name] = value
				}
			}
			if s.settings["state__kind"] == "sql" {
				if out, _, err := s.cli("run", "--once"); err == nil {
					t.Errorf("it runs without its table: %s", out)
				}
				if out := s.shown("state", "init"); !strings.Contains(out, "CREATE TABLE") {
					t.Errorf("init: %s", out)
				}
				s.shown("state", "init", "--apply")
			}
			moved := s.settings
			s.settings = old
			s.shown(move...)
			s.execute(`INSERT INTO orders VALUES (3, 3, 'three')`)
			if out := s.events(); strings.Contains(out, "three") {
				t.Errorf("the old settings deliver: %s", out)
			}
			s.settings = moved
			s.shown("check", "orders")
			if out := s.events(); strings.Count(out, `"note":`) != 1 || !strings.Contains(out, "three") {
				t.Errorf("the new settings: %s", out)
			}
			out, _, _ := s.cli("check", "--production") // other items stand open
			if want := "table " + moved["state__table"]; !strings.Contains(out, want) {
				t.Errorf("it does not name the %s: %s", want, out)
			}
			if out := s.shown("state", "show", "orders"); !strings.Contains(out, "state/shop/orders.json") {
				t.Errorf("show: %s", out)
			}
		})
	}
}

// TestStateMoveAsks refuses what names no other store that lasts.
func TestStateMoveAsks(t *testing.T) {
	s := shopOnFiles(t)
	for _, to := range [][]string{nil, {"--to", "state__kind=memory"}, {"--to", "pollers__orders__batch_size=1"},
		{"--to", "state__kind=sql"}, {"--to", "state__kind=file", "--to", "state__path=" + s.settings["state__path"]}} {
		if out, _, err := s.cli(append([]string{"state", "move", "--yes"}, to...)...); err == nil {
			t.Errorf("%q: %s", to, out)
		}
	}
	if _, _, err := s.cli("state", "init"); err == nil || !strings.Contains(err.Error(), "only sql") {
		t.Errorf("init for files: %v", err)
	}
}
