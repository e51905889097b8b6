package sqlserver

import (
	"context"
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

// setting is told of its session's settings.
type setting struct {
	tsqltest.Told
	set *[]string
}

// TestSQLServerIsolation: a session reads row versions wherever the database keeps them, and says so where it does not.
func TestSQLServerIsolation(t *testing.T) {
	for name, c := range map[string]struct {
		committed, snapshots any
		unknown              bool
		withLocks, readOnly  bool
		versions, locking    bool
		says                 string
	}{
		"READ_COMMITTED_SNAPSHOT":  {committed: true, snapshots: false},
		"both":                     {committed: true, snapshots: true},
		"ALLOW_SNAPSHOT_ISOLATION": {committed: false, snapshots: true, versions: true},
		"neither": {committed: false, snapshots: false, locking: true,
			says: "ALLOW_SNAPSHOT_ISOLATION are OFF"},
		"refused": {committed: false, snapshots: true, withLocks: true, locking: true,
			says: "does not reach everything"},
		"neither, and nobody writes":    {committed: false, snapshots: false, readOnly: true},
		"a server that says nothing":    {committed: nil, snapshots: nil},
		"a server that hides databases": {unknown: true},
	} {
		rows := [][]driver.Value{{c.committed, c.snapshots}}
		if c.unknown {
			rows = nil
		}
		var set []string
		db := sql.OpenDB(setting{tsqltest.Told{versionsSQL: rows}, &set})
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l := engine.Server{ReadOnly: c.readOnly}
		if err := (Dialect{}).isolate(t.Context(), conn, engine.Settings{WithLocks: c.withLocks}, &l); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if l.Locking != c.locking || slices.Contains(set, snapshotSQL) != c.versions {
			t.Errorf("%s: %+v, set %v", name, l, set)
		}
		warned := strings.Join(l.Warnings, "|")
		if !strings.Contains(warned, c.says) || c.says == "" && warned != "" ||
			c.says != "" && !strings.Contains(warned, "SET READ_COMMITTED_SNAPSHOT ON") {
			t.Errorf("%s: warned %q", name, warned)
		}
		if err := errors.Join(conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

func (s setting) Connect(context.Context) (driver.Conn, error) { return s, nil }

func (s setting) ExecContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Result, error) {
	*s.set = append(*s.set, text)
	return driver.RowsAffected(0), nil
}

// TestIsolationStatements pins what a session is asked and told.
func TestIsolationStatements(t *testing.T) {
	golden.Pin(t, "versions.sql", versionsSQL+"\n")
	tsqltest.Is(t, versionsSQL, "SelectStatement")
	tsqltest.Is(t, snapshotSQL, "SetTransactionIsolationLevelStatement")
}
