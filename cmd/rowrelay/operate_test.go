package main

import (
	"strings"
	"testing"
)

// twoPollers are those of a shop with two tables; one of them has two outputs.
func twoPollers(t *testing.T) *statusShop {
	t.Helper()
	s := ordersShop(t, stores(t)["file"])
	s.execute(`CREATE TABLE refunds (id INTEGER PRIMARY KEY AUTOINCREMENT)`)
	for name, value := range map[string]string{"source__connection": s.settings["pollers__orders__source__connection"],
		"source__table": "refunds", "source__cursor": "id", "output__kind": "stdout", "outputs__audit__kind": "stdout"} {
		s.settings["pollers__refunds__"+name] = value
	}
	return s
}

// One command stops everything, and one lets it go on: every poller, every output.
func TestPauseAll(t *testing.T) {
	s := twoPollers(t)
	s.execute(`INSERT INTO orders VALUES (1, 1, 'a')`)
	s.execute(`INSERT INTO refunds VALUES (1)`)
	s.tick()
	paused := func() (n int) {
		for _, args := range [][]string{{"orders"}, {"refunds"}, {"refunds", "--output", "audit"}} {
			out, _, err := s.cli(append([]string{"state", "show"}, args...)...)
			if err != nil {
				t.Fatal(err)
			}
			n += strings.Count(out, "\npaused ")
		}
		return n
	}
	if _, _, err := s.cli("state", "pause", "--all"); err == nil || paused() != 0 {
		t.Fatalf("it was not asked for: %v, %d", err, paused())
	}
	if out, _, err := s.cli("state", "pause", "--all", "--dry-run"); err != nil || paused() != 0 ||
		!strings.Contains(out, "refunds.audit.json") {
		t.Fatalf("a dry run: %v, %d\n%s", err, paused(), out)
	}
	s.must("state", "pause", "--all", "--yes")
	if n := paused(); n != 3 {
		t.Fatalf("%d of 3 are paused", n)
	}
	out, _, err := s.cli("state", "pause", "--all", "--yes", "--json")
	if err != nil || strings.Count(out, `"done":false`) != 3 ||
		!strings.Contains(out, `"poller":"refunds","output":"audit"`) {
		t.Errorf("once more: %v\n%s", err, out)
	}
	s.must("state", "resume", "--all", "--yes")
	if n := paused(); n != 0 {
		t.Errorf("%d are still paused", n)
	}
	s.settings["pollers__orders__source__tabel"] = "x"
	if _, _, err := s.cli("state", "pause", "--all", "--yes"); err == nil || !strings.Contains(err.Error(), "1 of 3") ||
		!strings.Contains(err.Error(), "source__tabel") {
		t.Errorf("a poller with a fault: %v", err)
	}
	s.settings["pollers__refunds__source__tabel"] = "x"
	if _, _, err := s.cli("state", "pause", "--all", "--yes"); err == nil || strings.Contains(err.Error(), "others") ||
		!strings.Contains(err.Error(), "it failed for all 3") {
		t.Errorf("each with a fault: %v", err)
	}
	delete(s.settings, "pollers__refunds__source__tabel")
	delete(s.settings, "pollers__orders__source__tabel")
	if n := paused(); n != 2 {
		t.Errorf("%d are paused beside it", n)
	}
	for _, line := range []string{"state pause", "state pause orders --all", "state pause --all --output audit"} {
		if _, _, err := s.cli(strings.Fields(line)...); exitCode(err) != 2 {
			t.Errorf("%s: %v", line, err)
		}
	}
}
