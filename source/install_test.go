package source

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// install puts triggers on a table; with changed, those that tell of updates of these columns.
func install(t *testing.T, url string, db *sql.DB, table string, changed ...string) engine.Connection {
	t.Helper()
	return record(t, url, db, table, tracking.Writes{Changed: changed})
}

// record is install for some writes.
func record(t *testing.T, url string, db *sql.DB, table string, writes tracking.Writes) engine.Connection {
	t.Helper()
	conn, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	w, err := tracking.Install(t.Context(), conn, table, "", table, writes)
	if err == nil {
		err = w.Apply(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// tracksPrimary: triggers that were installed on a replica see nothing of what comes by replication, and nothing else
// would tell.
func tracksPrimary(t *testing.T, url string, db *sql.DB) {
	t.Helper()
	conn := install(t, url, db, "o")
	d, err := newSource(t, url, plan.Config{Poller: "o", Table: "o", Tracked: true}).Describe(t.Context())
	if err != nil || !slices.Contains(d.Warnings, engine.TrackPrimary) {
		t.Errorf("the poller says %q, %v", d.Warnings, err)
	}
	s, err := tracking.Look(t.Context(), conn, "o", "", "o", tracking.Writes{})
	if err != nil || !slices.Contains(s.Unseen, engine.TrackPrimary) {
		t.Errorf("track status says %q, %v", s.Unseen, err)
	}
}
