package sourcetest

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// write is what an application may do to a table, and what its poller is told then.
type write struct {
	name string
	// engines are those that it is for; "" is all.
	engines string
	// table is the table w, and what belongs to it; the triggers come next, then what is there before, then what is done.
	table, before, does []string
	want                string
}

const plainTable = "CREATE TABLE w (id bigint NOT NULL PRIMARY KEY, v bigint NOT NULL)"

var theWrites = []write{
	{name: "several rows in one statement", table: []string{plainTable},
		does: []string{"INSERT INTO w VALUES (1, 1), (2, 1), (3, 1)", "UPDATE w SET v = v + 1 WHERE id > 1"},
		want: "insert 1=1, insert 2=2, insert 3=2"},
	{name: "keys move into each other", engines: "sqlite mysql", table: []string{plainTable},
		before: []string{"INSERT INTO w VALUES (1, 10), (2, 20), (3, 30)"},
		does:   []string{"UPDATE w SET id = id + 10", "UPDATE w SET id = id - 9"},
		want:   "delete 1, delete 11, delete 12, delete 13, insert 2=10, insert 3=20, insert 4=30"},
	{name: "keys move into each other at once", engines: "postgres",
		table:  []string{"CREATE TABLE w (id bigint PRIMARY KEY DEFERRABLE INITIALLY IMMEDIATE, v bigint NOT NULL)"},
		before: []string{"INSERT INTO w VALUES (1, 10), (2, 20), (3, 30)"},
		does:   []string{"UPDATE w SET id = id + 1"},
		want:   "delete 1, insert 2=10, insert 3=20, insert 4=30"},
	{name: "upsert", engines: "postgres sqlite", table: []string{plainTable},
		before: []string{"INSERT INTO w VALUES (1, 1)"},
		does: []string{"INSERT INTO w VALUES (1, 7), (2, 7) ON CONFLICT (id) DO UPDATE SET v = excluded.v",
			"INSERT INTO w VALUES (1, 9), (3, 9) ON CONFLICT DO NOTHING"},
		want: "update 1=7, insert 2=7, insert 3=9"},
	{name: "merge", engines: "sqlserver", table: []string{plainTable},
		before: []string{"INSERT INTO w VALUES (1, 1), (2, 1)"},
		does: []string{`MERGE INTO w WITH (HOLDLOCK) USING (VALUES (1, 5), (3, 5)) AS s (id, v) ON s.id = w.id
			WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v);`},
		want: "update 1=5, insert 3=5"},
	{name: "upsert", engines: "mysql", table: []string{plainTable}, before: []string{"INSERT INTO w VALUES (1, 1)"},
		does: []string{"INSERT INTO w VALUES (1, 7), (2, 7) ON DUPLICATE KEY UPDATE v = VALUES(v)",
			"INSERT IGNORE INTO w VALUES (1, 9), (3, 9)", "REPLACE INTO w VALUES (2, 8)"},
		want: "update 1=7, insert 3=9, insert 2=8"},
	{name: "conflict clauses", engines: "sqlite", table: []string{plainTable},
		before: []string{"INSERT INTO w VALUES (1, 1), (2, 1)"},
		does: []string{"INSERT OR IGNORE INTO w VALUES (1, 9), (3, 3)", "UPDATE OR IGNORE w SET v = 4 WHERE id = 2",
			"INSERT OR REPLACE INTO w VALUES (1, 5)", "UPDATE OR REPLACE w SET v = 6 WHERE id = 3",
			"UPDATE OR IGNORE w SET v = 7 WHERE id = 2"},
		want: "insert 1=5, insert 3=6, update 2=7"},
	{name: "cascades", engines: "sqlserver", table: []string{"CREATE TABLE p (id bigint PRIMARY KEY)",
		"CREATE TABLE w (id bigint PRIMARY KEY, p bigint REFERENCES p ON DELETE CASCADE, v bigint)"},
		before: []string{"INSERT INTO p VALUES (1), (2)", "INSERT INTO w VALUES (1, 1, 1), (2, 2, 1)"},
		does:   []string{"DELETE FROM p WHERE id = 1"}, want: "delete 1"},
	{name: "cascades", engines: "postgres", table: []string{"CREATE TABLE p (id bigint PRIMARY KEY)",
		"CREATE TABLE w (id bigint PRIMARY KEY, p bigint REFERENCES p ON DELETE CASCADE, v bigint)"},
		before: []string{"INSERT INTO p VALUES (1), (2)", "INSERT INTO w VALUES (1, 1, 1), (2, 2, 1)"},
		does:   []string{"DELETE FROM p WHERE id = 1"}, want: "delete 1"},
	{name: "cascades", engines: "sqlite", table: []string{"CREATE TABLE p (id bigint PRIMARY KEY)",
		"CREATE TABLE w (id bigint NOT NULL PRIMARY KEY, p bigint REFERENCES p ON DELETE CASCADE, v bigint)"},
		before: []string{"INSERT INTO p VALUES (1), (2)", "INSERT INTO w VALUES (1, 1, 1), (2, 2, 1)"},
		does:   []string{"PRAGMA foreign_keys = ON; DELETE FROM p WHERE id = 1"}, want: "delete 1"},
	{name: "truncate", engines: "postgres", table: []string{plainTable},
		before: []string{"INSERT INTO w VALUES (1, 1), (2, 1)"},
		does:   []string{"TRUNCATE w", "INSERT INTO w VALUES (2, 2)"}, want: "delete 1, insert 2=2"},
	{name: "a replica's writes", engines: "postgres", table: []string{plainTable},
		does: []string{"SET session_replication_role = replica; INSERT INTO w VALUES (1, 1); RESET session_replication_role"},
		want: "insert 1=1"},
	{name: "merge", engines: "postgres", table: []string{plainTable},
		before: []string{"INSERT INTO w VALUES (1, 1), (2, 1)"},
		does: []string{`MERGE INTO w USING (VALUES (1, 5), (3, 5)) AS s (id, v) ON s.id = w.id
			WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)`},
		want: "update 1=5, insert 3=5"},
	{name: "partitions", engines: "postgres", table: []string{
		"CREATE TABLE w (id bigint PRIMARY KEY, v bigint) PARTITION BY RANGE (id)",
		"CREATE TABLE w1 PARTITION OF w FOR VALUES FROM (0) TO (100)",
		"CREATE TABLE w2 PARTITION OF w FOR VALUES FROM (100) TO (200)"},
		before: []string{"INSERT INTO w VALUES (1, 1), (101, 1)"},
		does: []string{"INSERT INTO w1 VALUES (2, 2)", "UPDATE w SET v = 3 WHERE id = 101",
			"UPDATE w SET id = 102 WHERE id = 1",
			"CREATE TABLE w3 PARTITION OF w FOR VALUES FROM (200) TO (300)", "INSERT INTO w VALUES (201, 4)"},
		want: "insert 2=2, update 101=3, delete 1, insert 102=1, insert 201=4"},
	{name: "savepoints", engines: "postgres sqlite", table: []string{plainTable},
		does: []string{"BEGIN; INSERT INTO w VALUES (1, 1); SAVEPOINT a; UPDATE w SET v = 2; INSERT INTO w VALUES (2, 2); " +
			"ROLLBACK TO SAVEPOINT a; INSERT INTO w VALUES (3, 3); COMMIT"},
		want: "insert 1=1, insert 3=3"},
	{name: "one row many times in a transaction", engines: "postgres sqlite", table: []string{plainTable},
		does: []string{"BEGIN; INSERT INTO w VALUES (1, 1); UPDATE w SET v = 2; DELETE FROM w; INSERT INTO w VALUES (1, 3); UPDATE w SET v = 4; COMMIT"},
		want: "insert 1=4"},
	{name: "without rowid", engines: "sqlite", table: []string{"CREATE TABLE w (id bigint NOT NULL PRIMARY KEY, v bigint) WITHOUT ROWID"},
		does: []string{"INSERT INTO w VALUES (1, 1)", "UPDATE w SET id = 2"}, want: "delete 1, insert 2=1"},
	{name: "rowids", engines: "sqlite", table: []string{"CREATE TABLE w (id INTEGER PRIMARY KEY, v bigint)"},
		does: []string{"INSERT INTO w (v) VALUES (1), (2)", "DELETE FROM w WHERE id = 2", "INSERT INTO w (v) VALUES (3)"},
		want: "insert 1=1, insert 2=3"},
}

// writes does to a table what applications do.
func writes(f fixture) {
	for _, w := range theWrites {
		if w.engines != "" && !strings.Contains(w.engines, f.e.Name) {
			continue
		}
		f.Run(w.name, func(t *testing.T) {
			f := fixture{t, f.e}
			f.exec(w.table...)
			f.Cleanup(func() {
				for _, name := range []string{"w", "p"} {
					_, _ = f.e.DB.Exec("DROP TABLE IF EXISTS " + name)
				}
			})
			f.track("w")
			defer f.untrack("w")
			f.exec(w.before...)
			r := f.reader(plan.Config{Table: "w", Start: "latest"})
			f.exec(w.does...)
			f.same("told", sorted(told(r.read(2))), sorted(w.want))
		})
	}
}

// untrack removes the triggers and everything that came with them.
func (f fixture) untrack(table string) {
	f.Helper()
	conn, err := engines.Parse(f.e.URL)
	if err != nil {
		f.Fatal(err)
	}
	w, err := tracking.Uninstall(f.ctx(), conn, table, "", "orders", tracking.Writes{})
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Apply(f.ctx(), f.e.DB); err != nil {
		f.Fatal(err)
	}
	var left int
	err = f.e.DB.QueryRowContext(f.ctx(), map[string]string{
		"postgres": "SELECT (SELECT count(*) FROM pg_class WHERE relname LIKE 'rowrelay%w%') + (SELECT count(*) FROM pg_proc WHERE proname LIKE 'rowrelay%') + (SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'rowrelay%')",
		"sqlite":   "SELECT count(*) FROM sqlite_master WHERE name LIKE 'rowrelay_changes_w%'",
		"mysql": "SELECT (SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'rowrelay_changes_w%') + " +
			"(SELECT count(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() AND TRIGGER_NAME LIKE 'rowrelay_changes_w%')",
		"sqlserver": "SELECT COUNT(*) FROM sys.change_tracking_tables",
	}[f.e.Name]).Scan(&left)
	if err != nil || table == "w" && left != 0 && f.e.Name != "postgres" {
		f.Errorf("%d things are left (%v)", left, err)
	}
}

// refusedTables are those that changes cannot be told of.
func refusedTables(f fixture) {
	cfg := func(table string) plan.Config { return plan.Config{Table: table, Tracked: true} }
	f.exec("CREATE TABLE nokey (a "+f.e.BigInt+")", "CREATE TABLE plain (id "+f.e.BigInt+" NOT NULL PRIMARY KEY, "+
		"tenant "+f.e.BigInt+")",
		"CREATE VIEW seen AS SELECT id FROM plain",
		"CREATE TABLE reserved (id "+f.e.BigInt+" NOT NULL PRIMARY KEY, rowrelay_version "+f.e.BigInt+", "+
			"rowrelay_present "+f.e.BigInt+", rowrelay_head "+f.e.BigInt+")")
	f.refused(cfg("nowhere"), "nowhere", "no such table")
	f.refused(cfg("nokey"), "could not find primary key", "nokey")
	f.refused(cfg("seen"), "is a view")
	f.refused(cfg("reserved"), "reserved column", "rowrelay_version, rowrelay_present, rowrelay_head")
	float := map[string]string{"mysql": "double", "sqlite": "real"}[f.e.Name]
	if float == "" {
		float = "double precision"
	}
	f.exec("CREATE TABLE floats (k " + float + " NOT NULL PRIMARY KEY)")
	conn, err := engines.Parse(f.e.URL)
	if err != nil {
		f.Fatal(err)
	}
	_, err = tracking.Install(f.ctx(), conn, "floats", "", "orders", tracking.Writes{})
	f.isFault(err, poller.ErrConfig, `the key's column "k"`, "no exact equality")
	f.refused(cfg("floats"), err.Error())
	f.untrack("floats") // what an older version installed can be removed
	f.refused(cfg("plain"), "could not find change tracking enabled", "rowrelay track install")
	f.track("plain")
	tenants := cfg("plain")
	tenants.OrderKey = []string{"tenant"}
	f.refused(tenants, "source__order_key", "tenant", "deleted")
	if f.e.Name == "sqlite" {
		f.exec("DROP TRIGGER rowrelay_changes_plain_update")
		f.refused(cfg("plain"), "no trigger", "rowrelay_changes_plain_update", "rowrelay track install")
	}
	if f.e.Name == "mysql" {
		for _, event := range []string{"insert", "update", "delete"} {
			f.exec("DROP TRIGGER rowrelay_changes_plain_" + event)
		}
		f.refused(cfg("plain"), "no trigger", "rowrelay_changes_plain_insert", "rowrelay track install")
	}
	if f.e.Name == "sqlserver" {
		f.exec("ALTER TABLE plain DISABLE CHANGE_TRACKING")
		f.refused(cfg("plain"), "ALTER TABLE [dbo].[plain] ENABLE CHANGE_TRACKING")
	}
	if f.e.Name == "postgres" {
		f.exec("DROP VIEW seen", "ALTER TABLE plain ALTER COLUMN id TYPE integer")
		f.refused(cfg("plain"), "does not fit", "rowrelay track uninstall orders")
		f.exec("ALTER TABLE plain ALTER COLUMN id TYPE bigint", "ALTER TABLE plain DISABLE TRIGGER USER")
		f.refused(cfg("plain"), "is disabled", "rowrelay track install")
		f.exec("ALTER TABLE plain ENABLE TRIGGER USER")
		f.refused(cfg("plain"), "was disabled and enabled again", "rowrelay track install")
		f.exec("CREATE TABLE parent (id bigint PRIMARY KEY) PARTITION BY RANGE (id)",
			"CREATE TABLE part PARTITION OF parent FOR VALUES FROM (0) TO (100)")
		f.track("parent")
		f.exec("ALTER TABLE part DISABLE TRIGGER ALL")
		f.refused(cfg("parent"), "on part is disabled", "rowrelay track install")
		f.exec("CREATE EXTENSION IF NOT EXISTS ltree", "CREATE TABLE tree (id ltree PRIMARY KEY)")
		f.refused(cfg("tree"), `key's column "id"`, "ltree", "no change can be told by it")
	}
}
