package source

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestReplaced: a table that was dropped, made again and filled past the position holds rows that no fetch shows. It is
// a gap where the engine tells such a table from one that was rebuilt, and a warning where it does not. What rebuilds a
// table is none.
func TestReplaced(t *testing.T) {
	t.Parallel()
	for name, e := range gapEngines(t) {
		if name == "serial" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			solid := name == "postgres"
			open := func() (*sql.DB, *Cursor, change.Cursor, string) {
				e := e
				switch name {
				case "postgres":
					e.url = testenv.Postgres(t)
					e.dsn = e.url
				case "mysql":
					e.url = testenv.MySQL(t)
					e.dsn = testenv.MySQLDSN(t, e.url)
				case "sqlite":
					e.url = testenv.SQLite(t)
					e.dsn = strings.TrimPrefix(e.url, "sqlite:")
				}
				db, src, at := e.table(t)
				return db, src, at, identity(t, src)
			}
			harmless := map[string][]string{
				"postgres": {"VACUUM FULL o", "ALTER TABLE o ADD COLUMN w int", "ALTER TABLE o ALTER v TYPE bigint",
					"CREATE INDEX ON o (v)", "CLUSTER o USING o_pkey", "TRUNCATE o"},
				"mysql":  {}, // every one of them changes CREATE_TIME
				"sqlite": {"VACUUM", "ANALYZE"},
			}[name]
			for _, statement := range harmless {
				db, src, at, was := open()
				testenv.Exec(t, db, statement)
				is := identity(t, src)
				if is == was {
					continue
				}
				if warning, err := src.Replaced(t.Context(), at, was, is); err != nil || warning != "" {
					t.Errorf("%s: %q, %v", statement, warning, err)
				}
			}

			db, src, at, was := open()
			if name == "mysql" { // its times have seconds: this one is long past
				was = "created 2020-01-01 00:00:00"
			}
			testenv.Exec(t, db, "DROP TABLE o", "CREATE TABLE o (id "+e.id+", v int)")
			is := identity(t, src)
			if is == was {
				t.Fatalf("the new table has the old one's identity %q", is)
			}
			// The old one may have had rows after the position, as where it is renamed and made anew each month.
			const rest = "after the position is not delivered"
			if warning, err := src.Replaced(t.Context(), at, was, is); err != nil || !strings.Contains(warning, rest) {
				t.Errorf("an empty table: %q, %v", warning, err)
			}
			for range 60 {
				testenv.Exec(t, db, "INSERT INTO o (v) VALUES (1)")
			}
			warning, err := src.Replaced(t.Context(), at, was, is)
			switch {
			case solid && !errors.Is(err, poller.ErrGap):
				t.Errorf("no gap: %q, %v", warning, err)
			case !solid && (err != nil || !strings.Contains(warning, "--to beginning")):
				t.Errorf("%s, now %s: nothing is said: %q, %v", was, is, warning, err)
			}
			if warning, err := src.Replaced(t.Context(), nil, was, is); err != nil || warning != "" {
				t.Errorf("at the beginning: %q, %v", warning, err)
			}
			testenv.Exec(t, db, "DELETE FROM o WHERE id <= 10")
			if warning, err := src.Replaced(t.Context(), at, was, is); err != nil || !strings.Contains(warning, rest) {
				t.Errorf("every row stands after the position: %q, %v", warning, err)
			}
		})
	}
}

// TestReplacedMeanwhile: the page that shows the first rows of a table says which one they are of, whatever the catalog
// said when the plan was made. So an empty table that was made anew is held against the position before its rows, and
// what was delivered of it is not taken for rows that were never seen.
func TestReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, e := range gapEngines(t) {
		t.Run(name, func(t *testing.T) {
			db, src, at := e.table(t)
			page, err := src.Fetch(t.Context(), change.Range{After: at}, everything)
			if err != nil {
				t.Fatal(err)
			}
			was := page.Table
			for is := was; is == was; is = identity(t, newSource(t, e.url, plan.Config{Table: "o", Cursor: []string{"id"}})) {
				testenv.Exec(t, db, "DROP TABLE o", "CREATE TABLE o (id "+e.id+", v int)") // MySQL's times have seconds
			}
			testenv.Exec(t, db, "INSERT INTO o (id, v) VALUES (11, 1)")
			if page, err = src.Fetch(t.Context(), change.Range{After: at}, everything); err != nil || len(page.Events) != 1 ||
				page.Table == was {
				t.Fatalf("%d rows of the table %q, which was %q: %v", len(page.Events), page.Table, was, err)
			}
			if warning, err := src.Replaced(t.Context(), at, was, page.Table); err != nil ||
				strings.Contains(warning, "never seen") {
				t.Errorf("%q, %v", warning, err)
			}
			next, err := src.Fetch(t.Context(), change.Range{After: page.Events[0].Cursor}, everything)
			if err != nil || next.Table != page.Table {
				t.Errorf("an idle page is of %q, the one before of %q: %v", next.Table, page.Table, err)
			}
		})
	}
}

// TestReplacedWhileRowsAreLeftOut: a page that moves the position by rows that source__where leaves out says which
// table they are of, as one with events does.
func TestReplacedWhileRowsAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, e := range gapEngines(t) {
		t.Run(name, func(t *testing.T) {
			db, _, at := e.table(t)
			src := newSource(t, e.url, plan.Config{Table: "o", Cursor: []string{"id"}, Where: "v = 2"})
			page, err := src.Fetch(t.Context(), change.Range{After: at}, everything)
			if err != nil {
				t.Fatal(err)
			}
			was := page.Table
			for is := was; is == was; is = identity(t, newSource(t, e.url, plan.Config{Table: "o", Cursor: []string{"id"}})) {
				testenv.Exec(t, db, "DROP TABLE o", "CREATE TABLE o (id "+e.id+", v int)") // MySQL's times have seconds
			}
			testenv.Exec(t, db, "INSERT INTO o (id, v) VALUES (11, 1)")
			page, err = src.Fetch(t.Context(), change.Range{After: at}, everything)
			if err != nil || len(page.Events) > 0 || page.To == nil || page.Table == was {
				t.Fatalf("%d rows of the table %q, which was %q, to %s: %v", len(page.Events), page.Table, was, page.To, err)
			}
		})
	}
}

// identity is the table's as a page shows it to a process that has just started.
func identity(t *testing.T, src *Cursor) string {
	t.Helper()
	src.mu.Lock()
	src.plan = nil
	src.mu.Unlock()
	page, err := src.Fetch(t.Context(), change.Range{}, poller.Limit{Rows: 1, Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if page.Table == "" {
		t.Fatal("the page does not say which table it is of")
	}
	return page.Table
}

// TestReplacedTransactions: rows that are written to a new table have transactions that the position does not count.
// A dump that is restored brings old ones, before the trigger that would set them: its rows were never seen.
func TestReplacedTransactions(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	src := snapshotSource(t, url, nil)
	testenv.Exec(t, db, "CREATE TABLE dump AS SELECT * FROM o")
	at, err := src.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	was := identity(t, src)
	testenv.Exec(t, db, "DROP TABLE o", "CREATE TABLE o (LIKE dump)", "ALTER TABLE o ADD PRIMARY KEY (id)",
		"INSERT INTO o SELECT id, tenant, v, pg_current_xact_id() FROM dump")
	is := identity(t, src)
	if warning, err := src.Replaced(t.Context(), at, was, is); err != nil || strings.Contains(warning, "never seen") ||
		is == was {
		t.Errorf("rows that are still to come, of the table %s, which was %s: %q, %v", is, was, warning, err)
	}
	testenv.Exec(t, db, "INSERT INTO o SELECT 100 + id, tenant, v, xid FROM dump")
	if warning, err := src.Replaced(t.Context(), at, was, is); !errors.Is(err, poller.ErrGap) {
		t.Errorf("rows of a dump: %q, %v", warning, err)
	}
}

// TestViewsAreNotReplaced: a view that is made anew shows the same rows.
func TestViewsAreNotReplaced(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db, "CREATE TABLE o (id bigint PRIMARY KEY)", "CREATE VIEW w AS SELECT id FROM o",
		"INSERT INTO o VALUES (1)")
	for _, cfg := range []plan.Config{{Table: "w"}, {Query: "SELECT id FROM o"}} {
		cfg.Cursor, cfg.Key = []string{"id"}, []string{"id"}
		page, err := newSource(t, url, cfg).Fetch(t.Context(), change.Range{}, everything)
		if err != nil || page.Table != "" {
			t.Errorf("%q, %v", page.Table, err)
		}
	}
}

// TestColumnKinds: a wider column is the same kind, a zoned one is not.
func TestColumnKinds(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db, "CREATE TABLE o (id int PRIMARY KEY, at timestamp(3) NOT NULL)")
	kinds := func() string {
		t.Helper()
		d, err := newSource(t, url, plan.Config{Table: "o", Cursor: []string{"at"}}).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d.Columns
	}
	before := kinds()
	testenv.Exec(t, db, "ALTER TABLE o ALTER at TYPE timestamp(6), ALTER id TYPE bigint")
	if wider := kinds(); wider != before || before != `"at" datetime, "id" integer` {
		t.Errorf("%s, then %s", before, wider)
	}
	testenv.Exec(t, db, "ALTER TABLE o ALTER at TYPE timestamptz")
	if zoned := kinds(); zoned != `"at" instant, "id" integer` {
		t.Errorf("%s", zoned)
	}
}

// TestCompareLives: what differs between two incarnations is a restore, a failover, or nothing at all.
func TestCompareLives(t *testing.T) {
	t.Parallel()
	const same, failover, another = checkpointed.SameDatabase, checkpointed.FailedOver, checkpointed.AnotherDatabase
	for _, c := range []struct {
		was, is string
		want    checkpointed.Relation
		record  string
	}{
		{"postgres/71/1/5/shop", "postgres/71/1/5/shop", same, "postgres/71/1/5/shop"},
		{"postgres/71/1/5/shop", "postgres/71/2/5/shop", failover, "postgres/71/2/5/shop"},
		{"postgres/71/1/5/shop", "postgres/72/2/5/shop", another, "postgres/72/2/5/shop"},
		{"postgres/71/1/5/shop", "postgres/71/1/6/shop", another, "postgres/71/1/6/shop"},
		{"postgres/71/1/5/a/b", "postgres/71/1/5/a/c", another, "postgres/71/1/5/a/c"},
		{"postgres/71/1/5/shop", "postgres//1/5/shop", same, "postgres/71/1/5/shop"},
		{"postgres//1/5/shop", "postgres/71/2/5/shop", failover, "postgres/71/2/5/shop"},
		{"postgres/71/1/5/shop", "", same, "postgres/71/1/5/shop"},
		{"mysql/aaa", "mysql/bbb", failover, "mysql/bbb"},
		{"mysql/aaa", "mariadb/0/2", another, "mariadb/0/2"},
		{"mariadb/0/1", "mariadb/0/2", failover, "mariadb/0/2"},
		{"mariadb/0/1", "mariadb/1/1", another, "mariadb/1/1"},
		{"galera/aaa", "galera/bbb", another, "galera/bbb"},
		{"galera/aaa", "galera/", same, "galera/aaa"},
		{"galera/", "galera/bbb", same, "galera/bbb"},
		// What older versions wrote, and then with more or fewer rights.
		{"sqlserver/c1", "sqlserver/c1/f1/g1//", same, "sqlserver/c1/f1/g1//"},
		{"sqlserver/c1/f1", "sqlserver/c1////", same, "sqlserver/c1/f1///"},
		{"sqlserver/c1/f1/g1//", "sqlserver/c1//g1//", same, "sqlserver/c1/f1/g1//"},
		{"sqlserver/c1//g1//", "sqlserver/c1/f1/g1//", same, "sqlserver/c1/f1/g1//"},
		{"sqlserver/c1///b1/l1", "sqlserver/c1///b1/", same, "sqlserver/c1///b1/l1"},
		// An availability group: planned, forced, and after an upgrade from a version that knew the fork only.
		{"sqlserver/c1/f1/g1//", "sqlserver/c2/f1/g1//", failover, "sqlserver/c2/f1/g1//"},
		{"sqlserver/c1/f1/g1//", "sqlserver/c2/f2/g1//", failover, "sqlserver/c2/f2/g1//"},
		{"sqlserver/c1/f1/g1//", "sqlserver/c1/f2/g1//", failover, "sqlserver/c1/f2/g1//"},
		{"sqlserver/c1/f1", "sqlserver/c2/f1/g1//", failover, "sqlserver/c2/f1/g1//"},
		{"sqlserver/c1//g1//", "sqlserver/c2//g1//", failover, "sqlserver/c2//g1//"},
		// Restores: over the database, beside it, into a group again, of a database in no group without the right to
		// see forks.
		{"sqlserver/c1/f1///", "sqlserver/c1/f2///", another, "sqlserver/c1/f2///"},
		{"sqlserver/c1/f1///", "sqlserver/c2/f2///", another, "sqlserver/c2/f2///"},
		{"sqlserver/c1/f1/g1//", "sqlserver/c1/f2/g2//", another, "sqlserver/c1/f2/g2//"},
		{"sqlserver/c1", "sqlserver/c2", another, "sqlserver/c2"},
		{"sqlserver/c1/f1", "sqlserver/c2/f2", another, "sqlserver/c2/f2"},
		// Azure SQL Database: a failover group, where the link is seen and where it is not; a restored copy; another
		// database.
		{"sqlserver/c1///b1/l1", "sqlserver/c2///b1/l1", failover, "sqlserver/c2///b1/l1"},
		{"sqlserver/c1///b1/l1+l2", "sqlserver/c2///b1/l2", failover, "sqlserver/c2///b1/l2"},
		{"sqlserver/c1", "sqlserver/c1///b1/l1", same, "sqlserver/c1///b1/l1"},
		{"sqlserver/c1///b1/", "sqlserver/c2///b1/", failover, "sqlserver/c2///b1/"},
		{"sqlserver/c1///b1/l1", "sqlserver/c2///b1/l2", another, "sqlserver/c2///b1/l2"},
		{"sqlserver/c1///b1/l1", "sqlserver/c2///b2/", another, "sqlserver/c2///b2/"},
	} {
		if relation, record := compareAs(c.was, c.is); relation != c.want || record != c.record {
			t.Errorf("%s, then %s: %d, recorded as %s", c.was, c.is, relation, record)
		}
	}
}

// compareAs compares two incarnations as the first one's engine does.
func compareAs(was, is string) (checkpointed.Relation, string) {
	engine, _, _ := strings.Cut(was, "/")
	if engine == "mariadb" || engine == "galera" {
		engine = dsn.MySQL
	}
	d, err := engines.Find(engine)
	if err != nil {
		panic(err)
	}
	return (&Cursor{dialect: d}).Compare(was, is)
}
