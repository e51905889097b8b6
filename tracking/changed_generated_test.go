package tracking_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/tracking"
)

// TestChangedGenerated: a column that the database computes changes with those that it is computed from.
func TestChangedGenerated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ engine, kind string }{
		{"postgres", "STORED"}, {"mysql", "STORED"}, {"mysql", "VIRTUAL"}, {"sqlite", "VIRTUAL"},
	} {
		t.Run(c.engine+", "+c.kind, func(t *testing.T) {
			r := newRig(t, c.engine, "ALTER TABLE orders ADD COLUMN twice bigint GENERATED ALWAYS AS (v * 2) "+c.kind)
			r.reinstall(tracking.Writes{Changed: []string{"twice"}})
			r.exec("INSERT INTO orders (id, v) VALUES (1, 1)")
			src := r.openChanged("twice")
			at, _, err := src.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.exec("UPDATE orders SET v = 2")
			if _, events, err := r.read(src, at); err != nil || toldOf(events) != "update 1" {
				t.Errorf("told %q, %v", toldOf(events), err)
			}
		})
	}
}

// TestUnwatchedColumn: where what tracks the table does not see such a column change, it is refused: no update would be
// told. SQL Server lists no computed column as changed, and triggers of PostgreSQL 18 have no value of a virtual one.
func TestUnwatchedColumn(t *testing.T) {
	t.Parallel()
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "computed from") {
			t.Error(err)
		}
	}
	twice := tracking.Writes{Changed: []string{"twice"}}
	_, err := tracking.Of(sqlserver.Dialect{}, &engine.Table{Name: "orders", From: "orders", PrimaryKey: []string{"id"},
		Columns: []engine.Column{{Name: "id"}, {Name: "Twice", Computed: true, Unwatched: true}}}, "", "orders", twice)
	refused(err)

	r := newRig(t, "postgres")
	var version int
	if err := r.db.QueryRow("SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if version >= 180_000 {
		r.exec("ALTER TABLE orders ADD COLUMN twice bigint GENERATED ALWAYS AS (v * 2) VIRTUAL")
		_, err := tracking.Install(t.Context(), r.conn, "orders", "", "orders", twice)
		refused(err)
		_, err = r.openChanged("twice").Describe(t.Context())
		refused(err)
	}
}
