package sqlserver

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
)

// TestTrackingFaults: whatever is missing is told, all of it at once, each with what to run.
func TestTrackingFaults(t *testing.T) {
	const (
		database  = "SET CHANGE_TRACKING = ON (CHANGE_RETENTION = 7 DAYS"
		table     = "ALTER TABLE [dbo].[orders] ENABLE CHANGE_TRACKING"
		right     = "GRANT VIEW CHANGE TRACKING ON [dbo].[orders] TO [reader]"
		snapshots = "SET ALLOW_SNAPSHOT_ISOLATION ON"
	)
	for name, c := range map[string]struct {
		database, table, right, snapshots bool
		want                              []string
	}{
		"all is well":  {true, true, true, true, nil},
		"new":          {false, false, true, false, []string{database, table, snapshots}},
		"table":        {true, false, true, true, []string{table}},
		"right":        {true, true, false, true, []string{right}},
		"no snapshots": {true, true, true, false, []string{snapshots}},
	} {
		db := sql.OpenDB(tsqltest.Told{trackedSQL: {{c.database, c.table, c.right, c.snapshots, "reader"}}})
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		changes := &engine.ChangeTable{Of: "[dbo].[orders]"}
		got, err := trackingFaults(t.Context(), conn, changes)
		if err != nil || !slices.EqualFunc(got, c.want, strings.Contains) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		changes.ReadCommitted = true
		needed := slices.DeleteFunc(c.want, func(s string) bool { return s == snapshots })
		got, err = trackingFaults(t.Context(), conn, changes)
		if err != nil || !slices.EqualFunc(got, needed, strings.Contains) {
			t.Errorf("%s, without a snapshot: %q, %v", name, got, err)
		}
		if made := strings.Join(installTracking(changes, nil), "\n"); strings.Contains(made, snapshots) {
			t.Errorf("installed without a snapshot: %s", made)
		}
		if err := errors.Join(conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestRetained: what the database says, and nothing where the login may not see it.
func TestRetained(t *testing.T) {
	for want, rows := range map[string][][]driver.Value{"2 days": {{"2 days"}}, "": nil} {
		db := sql.OpenDB(tsqltest.Told{retainedSQL: rows})
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := retained(t.Context(), conn); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
		if err := errors.Join(conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestTrackingStatements pins what the catalog is asked.
func TestTrackingStatements(t *testing.T) {
	golden.Pin(t, "tracking.sql", trackedSQL+"\n\n"+retainedSQL+"\n")
	tsqltest.Is(t, trackedSQL, "SelectStatement")
	tsqltest.Is(t, retainedSQL, "SelectStatement")
}
