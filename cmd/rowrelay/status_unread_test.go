package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/status"
)

// TestTheCommandFailsWhereItCannotSay: no number of dead letters is no zero, and no success.
func TestTheCommandFailsWhereItCannotSay(t *testing.T) {
	s := ordersShop(t, map[string]string{"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state")})
	s.execute(`INSERT INTO orders VALUES (1, 1, '')`)
	s.tick()
	s.want("before", status.Healthy)
	note := filepath.Join(s.settings["state__path"], "status", "shop", "orders.json")
	testfile.Write(t, note, "damaged")
	out, _, err := s.cli("status")
	if shown := new(exitError); !errors.As(err, &shown) || !strings.Contains(out, "UNKNOWN  orders") ||
		!strings.Contains(out, "note of its last tick") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestResetForgetsTheNote: it is of the position of before; dry runs forget nothing.
func TestResetForgetsTheNote(t *testing.T) {
	s := ordersShop(t, map[string]string{"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state")})
	s.execute(`INSERT INTO orders VALUES (1, 1, '')`)
	s.tick()
	s.execute(`INSERT INTO orders VALUES (2, 2, '')`)
	s.receiver("", true)
	s.tick()
	s.want("failing", status.Failing)
	s.must("state", "reset", "orders", "--to", "beginning", "--dry-run")
	s.want("after a dry run", status.Failing)
	s.must("state", "reset", "orders", "--to", "beginning", "--yes")
	if o := s.want("after a reset", status.Unknown); o.LastError != nil || o.NotedAt != nil {
		t.Errorf("%+v", o)
	}
	s.must("state", "reset", "orders", "--to", "latest", "--yes") // where there is no note
	s.tick()
	s.tick()
}

// TestRowsThatGoAwayAreNotLeftToDo: a tick ends at its last batch with a row left, which is deleted. The idle ticks
// after it say so once.
func TestRowsThatGoAwayAreNotLeftToDo(t *testing.T) {
	s := ordersShop(t, map[string]string{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "pollers__orders__batch_size": "2",
		"pollers__orders__max_batches": "1",
	})
	s.execute(`INSERT INTO orders VALUES (1, 1, ''), (2, 2, ''), (3, 3, '')`)
	s.tick()
	note := func() string {
		t.Helper()
		data := testfile.Read(t, filepath.Join(s.settings["state__path"], "status", "shop", "orders.json"))
		return string(data)
	}
	if text := note(); !strings.Contains(text, `"more":true`) {
		t.Fatalf("nothing is left: %s", text)
	}
	s.execute(`DELETE FROM orders WHERE id = 3`)
	s.tick()
	if text := note(); strings.Contains(text, `"more":true`) {
		t.Errorf("a tick has found nothing: %s", text)
	}
	if o := s.want("idle", status.Healthy); o.NotedAt == nil {
		t.Errorf("%+v", o)
	}
}

// TestALostDocument: the note beside it tells that there was one. So nothing is well, and nothing is new.
func TestALostDocument(t *testing.T) {
	s := ordersShop(t, map[string]string{"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state")})
	s.execute(`INSERT INTO orders VALUES (1, 1, '')`)
	s.tick()
	document := filepath.Join(s.settings["state__path"], "state", "shop", "orders.json")
	if err := os.Remove(document); err != nil {
		t.Fatal(err)
	}
	if o := s.want("without its document", status.Failing); !strings.Contains(o.Says, "state document is gone") ||
		!strings.HasSuffix(o.Runbook(), "#the-state-document-is-gone") {
		t.Error(o.Says, o.Runbook())
	}
	for _, args := range [][]string{{"status"}, {"check"}, {"check", "--production"}} {
		out, _, err := s.cli(args...)
		if shown := new(exitError); !errors.As(err, &shown) || !strings.Contains(out, "state document is gone") {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
	s.tick() // it begins anew
	s.want("with a new document", status.Healthy)
	if out, _, err := s.cli("check"); err != nil {
		t.Error(err, out)
	}
}
