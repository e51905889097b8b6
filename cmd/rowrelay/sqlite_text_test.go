package main

import (
	"strings"
	"testing"
)

// Times that SQLite keeps as text are no cursor, and what check says to do about it works.
func TestTextTimesOfSQLite(t *testing.T) {
	s := ordersShop(t, stores(t)["file"])
	s.execute(`CREATE TABLE parcels (id INTEGER PRIMARY KEY, updated_at TEXT NOT NULL)`)
	s.execute(`INSERT INTO parcels VALUES (1, '2026-04-07 01:23:45'), (2, '2026-04-07 01:23:46')`)
	s.settings["pollers__orders__source__table"] = "parcels"
	s.settings["pollers__orders__source__cursor"] = "updated_at"
	out, _, err := s.cli("check")
	if err == nil || !strings.Contains(out, "ADD COLUMN changed_at DATETIME AS (this column)") {
		t.Fatalf("%v\n%s", err, out)
	}
	s.execute(`ALTER TABLE parcels ADD COLUMN changed_at DATETIME AS (updated_at)`)
	s.execute(`CREATE INDEX parcels_changed_at ON parcels (changed_at, id)`)
	s.settings["pollers__orders__source__cursor"] = "changed_at"
	if out, errs, err := s.cli("check"); err != nil || !strings.Contains(out, "parcels_changed_at serves the order") {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	s.must("run", "--once")
	s.execute(`UPDATE parcels SET updated_at = '2026-04-07 01:23:47' WHERE id = 1`)
	out, errs, err := s.cli("run", "--once")
	if err != nil || !strings.Contains(out, `"rows":1,`) || !strings.Contains(out, `2026-04-07 01:23:47`) {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
}
