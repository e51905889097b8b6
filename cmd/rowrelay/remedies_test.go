package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// command takes the rowrelay command that a text advises, as an operator would copy it.
func command(t *testing.T, text, begin string) []string {
	t.Helper()
	found := regexp.MustCompile("`rowrelay (" + begin + "[^`]*)`").FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no `rowrelay %s…` in: %s", begin, text)
	}
	return strings.Fields(found[1])
}

// TestParkedEventsAreGone: check says what stops each tick, and what it advises, followed to the letter, cures it.
func TestParkedEventsAreGone(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	s.execute(`INSERT INTO orders VALUES (1, 1, ''), (2, 2, ''), (3, 3, '')`)
	s.receiver(`"id":2`, false)
	s.tick()
	if err := os.RemoveAll(filepath.Join(s.settings["state__path"], "objects")); err != nil {
		t.Fatal(err)
	}
	out, _, err := s.cli("check", "orders")
	if err == nil || !strings.Contains(out, "rejected rows would be forgotten") {
		t.Fatalf("%v: %s", err, out)
	}
	_, _, err = s.cli("state", "show", "orders")
	if err == nil {
		t.Fatal("the parked events were shown")
	}
	s.must(append(command(t, err.Error(), "state reset"), "--yes")...)
	s.must("check", "orders")
	s.receiver("", false)
	s.must("run", "--once")
}

// TestDamagedDocumentOfAnOutput: the tick's log names the document that is damaged, and not any.
func TestDamagedDocumentOfAnOutput(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	s.settings["pollers__orders__outputs__copy__kind"] = "stdout"
	s.execute(`INSERT INTO orders VALUES (1, 1, '')`)
	s.tick()
	if err := os.Truncate(filepath.Join(s.settings["state__path"], "state/shop/orders.copy.json"), 100); err != nil {
		t.Fatal(err)
	}
	_, errs, _ := s.cli("run", "--once")
	s.must(append(command(t, errs, "state reset"), "--yes")...)
	s.must("run", "--once")
}

// TestMovedDocumentIsNotResumed: the state lives in another store. Whoever starts with the old settings is sent there,
// and whoever resumes here is told what that means.
func TestMovedDocumentIsNotResumed(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	s.execute(`INSERT INTO orders VALUES (1, 1, '')`)
	s.tick()
	s.must("state", "move", "--to", "state__kind=file", "--to", "state__path="+filepath.Join(t.TempDir(), "new"), "--yes")
	out, errs, _ := s.cli("run", "--once")
	if !strings.Contains(out+errs, "start this process with the settings of that store") {
		t.Errorf("%s%s", out, errs)
	}
	out, errs, err := s.cli("state", "resume", "orders", "--dry-run")
	if err != nil || !strings.Contains(out+errs, "delivered twice") {
		t.Errorf("%v: %s%s", err, out, errs)
	}
}
