package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// shopOnFiles is a shop whose state lies in files.
func shopOnFiles(t *testing.T) *statusShop {
	t.Helper()
	return ordersShop(t, map[string]string{"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state")})
}

// shown is what a command prints, which succeeds.
func (s *statusShop) shown(args ...string) string {
	s.t.Helper()
	out, errs, err := s.cli(args...)
	if err != nil {
		s.t.Errorf("%q: %v\n%s%s", args, err, out, errs)
	}
	return out
}

// TestNegativeAgesAreRefused: --since and --until with a sign would restrict nothing, and purge would delete all there
// is.
func TestNegativeAgesAreRefused(t *testing.T) {
	s := shopOnFiles(t)
	s.settings["pollers__orders__max_attempts"] = "1"
	s.receiver(`"id":2`, false)
	s.execute(`INSERT INTO orders VALUES (1, 1, ''), (2, 2, ''), (3, 3, '')`)
	s.tick()
	for _, flags := range [][]string{{"--since", "-1h"}, {"--until", "-1h"}, {"--since", "1h", "--until", "2h"}} {
		_, _, err := s.cli(append([]string{"deadletter", "purge", "orders", "--yes"}, flags...)...)
		if err == nil || !strings.Contains(err.Error(), "--since") {
			t.Errorf("%q: %v", flags, err)
		}
	}
	if out := s.shown("deadletter", "list", "orders"); !strings.Contains(out, "1 dead letter(s)") {
		t.Errorf("it was deleted: %s", out)
	}
}

// TestAPollerThatIsNamedTwice is one poller: two tickers of one poller would stand in each other's way.
func TestAPollerThatIsNamedTwice(t *testing.T) {
	s := shopOnFiles(t)
	for _, command := range []string{"check", "status"} {
		out := s.shown(command, "orders", "Orders", "--json")
		if n := strings.Count(out, `"poller": "orders"`); n != 1 {
			t.Errorf("%s shows it %d times: %s", command, n, out)
		}
	}
}

// TestUnreadableDocumentNamesItsPoller: what to do can be copied from the error.
func TestUnreadableDocumentNamesItsPoller(t *testing.T) {
	s := shopOnFiles(t)
	s.execute(`INSERT INTO orders VALUES (1, 1, '')`)
	s.tick()
	path := filepath.Join(s.settings["state__path"], "state", "shop", "orders.json")
	testfile.Write(t, path, `{"hello":1}`)
	for _, line := range []string{
		"state show orders", "state show orders --json", "state pause orders --yes", "state resume orders --yes",
		"state export orders", "state reset orders --to latest --yes", "state accept-gap orders --yes",
		"backfill orders --status", "deadletter purge orders --yes", "status", "status --json", "check",
	} {
		out, errs, err := s.cli(strings.Fields(line)...)
		if err == nil {
			t.Errorf("%s succeeds", line)
			continue
		}
		text := strings.Join(strings.Fields(out+errs+err.Error()), " ")
		if strings.Contains(text, "<poller>") || !strings.Contains(text, `rowrelay state reset orders --to beginning`) {
			t.Errorf("%s: %s", line, text)
		}
	}
	out := s.shown("state", "reset", "orders", "--to", "beginning", "--dry-run")
	if strings.Contains(out, "<poller>") {
		t.Errorf("the plan of a reset: %s", out)
	}
}

// TestFiguresThatWereNotRead are not shown as zeros.
func TestFiguresThatWereNotRead(t *testing.T) {
	s := shopOnFiles(t)
	s.execute(`INSERT INTO orders VALUES (1, 1, '')`)
	s.tick()
	if out := s.shown("status"); !strings.Contains(out, "0 parked") {
		t.Fatalf("%s", out)
	}
	path := filepath.Join(s.settings["state__path"], "state", "shop", "orders.json")
	testfile.Write(t, path, `{}`)
	out, _, _ := s.cli("status")
	if strings.Contains(out, "0 parked") || !strings.Contains(out, "FAILING") {
		t.Errorf("%s", out)
	}
	if n := strings.Count(out, "is not a state document"); n != 1 {
		t.Errorf("it says %d times why: %s", n, out)
	}
	s.settings["state__path"] = filepath.Join(path, "below-a-file")
	if out, _, err := s.cli("status"); err == nil || strings.Contains(out, "0 parked") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestRowsToShow of check are no negative number.
func TestRowsToShow(t *testing.T) {
	s := shopOnFiles(t)
	if _, _, err := s.cli("check", "--rows", "-1"); err == nil || !strings.Contains(err.Error(), "--rows") {
		t.Errorf("%v", err)
	}
}
