package source

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestAPlanLasts: as long as nobody alters a table, its pages say that it is the one of the plan. Otherwise each of
// them would be read twice, and the catalog between.
func TestAPlanLasts(t *testing.T) {
	t.Parallel()
	maria, postgres, sqlite := testenv.MySQL(t), testenv.Postgres(t), testenv.SQLite(t)
	for name, e := range map[string]struct{ url, driver, dsn string }{
		"mysql": {maria, "mysql", testenv.MySQLDSN(t, maria)}, "postgres": {postgres, "pgx", postgres},
		"sqlite": {sqlite, "sqlite", strings.TrimPrefix(sqlite, "sqlite:")},
	} {
		for table, cfg := range map[string]plan.Config{
			"plain":   {Cursor: []string{"id"}},
			"exact":   {Cursor: []string{"x"}},
			"tracked": {Tracked: true},
			"whole":   {Tracked: true, Start: "snapshot"},
			"parts":   {Cursor: []string{"id"}},
		} {
			ddl := "CREATE TABLE " + table + " (id int NOT NULL PRIMARY KEY, v int)"
			switch {
			case name != "postgres" && (table == "exact" || table == "parts"):
				continue
			case table == "exact":
				ddl = "CREATE TABLE exact (id int PRIMARY KEY, x xid8 NOT NULL DEFAULT pg_current_xact_id())"
			case table == "parts":
				ddl = "CREATE TABLE parts (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)"
			}
			t.Run(name+" "+table, func(t *testing.T) {
				db := testenv.Open(t, e.driver, e.dsn)
				testenv.Exec(t, db, ddl)
				if table == "parts" {
					testenv.Exec(t, db, "CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9)")
				}
				cfg.Poller, cfg.Table = table, table
				if cfg.Tracked {
					install(t, e.url, db, table)
				}
				testenv.Exec(t, db, "INSERT INTO "+table+" (id) VALUES (1)")
				src := newSource(t, e.url, cfg)
				var first *plan.Plan
				rows := 0
				for range 3 {
					page, err := src.Fetch(t.Context(), change.Range{}, everything)
					if err != nil {
						t.Fatal(err)
					}
					rows += len(page.Events)
					src.mu.Lock()
					if first == nil {
						first = src.plan
					}
					if src.plan != first {
						t.Errorf("a page of %q is not of %q", page.Table, first.Table.Identity)
					}
					src.planned = time.Now().Add(-time.Minute)
					src.mu.Unlock()
				}
				if rows == 0 {
					t.Error("no page had a row")
				}
			})
		}
	}
}

// TestAlteredTwice: the statements of a migration follow each other. The second came when the plan was made anew after
// the first, held up the page until the table was another again, and failed the tick as a fault of the settings.
func TestAlteredTwice(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	db := testenv.Open(t, "sqlite", strings.TrimPrefix(url, "sqlite:"))
	testenv.Exec(t, db, "CREATE TABLE o (id INTEGER PRIMARY KEY, v int)")
	src := newSource(t, url, plan.Config{Table: "o", Cursor: []string{"id"}})
	migration := []string{"ALTER TABLE o RENAME v TO w", "ALTER TABLE o RENAME w TO x"}
	err := src.byPlan(t.Context(), func(p *plan.Plan) error {
		if len(migration) > 0 {
			testenv.Exec(t, db, migration[0])
			migration = migration[1:]
		}
		return db.QueryRowContext(t.Context(), "SELECT "+p.Table.Columns[1].Name+" FROM o").Err()
	})
	if err != nil {
		t.Error(err)
	}
}
