package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// TestTriggersFallWithTheTable: a migration copies a table, drops it, and gives the copy its name, as SQLite advises
// for most ALTERs. Nothing is recorded any more: the next page says so, though it has no rows. It
// took up to five minutes.
func TestTriggersFallWithTheTable(t *testing.T) {
	t.Parallel()
	postgres, sqlite := testenv.Postgres(t), testenv.SQLite(t)
	for driver, url := range map[string]string{"pgx": postgres, "sqlite": sqlite} {
		t.Run(driver, func(t *testing.T) {
			db := testenv.Open(t, driver, strings.TrimPrefix(url, "sqlite:"))
			testenv.Exec(t, db, "CREATE TABLE o (id int NOT NULL PRIMARY KEY, v int)")
			install(t, url, db, "o")
			testenv.Exec(t, db, "INSERT INTO o (id) VALUES (1)")
			src := newSource(t, url, plan.Config{Poller: "o", Table: "o", Tracked: true})
			page, err := src.Fetch(t.Context(), change.Range{}, everything)
			if err != nil || len(page.Events) != 1 {
				t.Fatal(page, err)
			}
			testenv.Exec(t, db, "CREATE TABLE n (id int NOT NULL PRIMARY KEY, v int, w int)",
				"INSERT INTO n SELECT id, v, 0 FROM o", "DROP TABLE o", "ALTER TABLE n RENAME TO o")
			src.mu.Lock()
			src.planned = time.Now().Add(-time.Minute)
			src.mu.Unlock()
			_, err = src.Fetch(t.Context(), change.Range{After: page.Events[0].Position()}, everything)
			if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "misses changes") {
				t.Error(err)
			}
		})
	}
}

// TestRestoredBesideItsChanges: a dump of the table is restored over it, by pg_restore --clean or mysqldump. Its
// triggers come back after its rows, so that nothing records what became of these. PostgreSQL tells such a table from
// one that was rebuilt: it is a gap. Elsewhere a warning says what to do. A history is the same.
func TestRestoredBesideItsChanges(t *testing.T) {
	t.Parallel()
	restoredBesideItsChanges(t, false)
	restoredBesideItsChanges(t, true)
}

func restoredBesideItsChanges(t *testing.T, every bool) {
	t.Helper()
	for engine, url := range map[string]string{"postgres": testenv.Postgres(t), "mysql": testenv.MySQL(t),
		"sqlite": testenv.SQLite(t)} {
		t.Run(fmt.Sprint(engine, every), func(t *testing.T) {
			driver, dsn := "pgx", url
			switch engine {
			case "mysql":
				driver, dsn = "mysql", testenv.MySQLDSN(t, url)
			case "sqlite":
				driver, dsn = "sqlite", strings.TrimPrefix(url, "sqlite:")
			}
			db := testenv.Open(t, driver, dsn)
			const table = "CREATE TABLE o (id int NOT NULL PRIMARY KEY, v int)"
			testenv.Exec(t, db, table)
			record(t, url, db, "o", tracking.Writes{Every: every})
			testenv.Exec(t, db, "INSERT INTO o (id) VALUES (1)")
			src := newSource(t, url, plan.Config{Poller: "o", Table: "o", Tracked: true, EveryChange: every})
			page, err := src.Fetch(t.Context(), change.Range{}, everything)
			if err != nil || len(page.Events) != 1 {
				t.Fatal(page, err)
			}
			was := page.Table
			if engine == "mysql" { // its times have seconds: this one is long past
				was = "created 2020-01-01 00:00:00"
			}
			testenv.Exec(t, db, "DROP TABLE o", table, "INSERT INTO o VALUES (1, 2)")
			record(t, url, db, "o", tracking.Writes{Every: every})
			is := identity(t, src)
			if is == was {
				t.Errorf("it is %s, and was", is)
			}
			warning, err := src.Replaced(t.Context(), page.Events[0].Position(), was, is)
			told := warning
			if err != nil {
				told = err.Error()
			}
			remedy := "--to snapshot"
			if every && engine == "sqlite" { // where rowrelay track install is a change of the schema, too
				remedy = ""
			}
			if errors.Is(err, poller.ErrGap) != (engine == "postgres") || !strings.Contains(told, remedy) {
				t.Errorf("%q, %v", warning, err)
			}
		})
	}
}

// TestChangesAheadOfTheServer: after a failover to a standby that lacked the newest transactions, the position is ahead
// of the server. What of the changes is retained there would not bring back rows of before the triggers that the lost
// transactions had changed: the table has to be read whole.
func TestChangesAheadOfTheServer(t *testing.T) {
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db, "CREATE TABLE o (id int NOT NULL PRIMARY KEY, v int)")
	install(t, url, db, "o")
	src := newSource(t, url, plan.Config{Poller: "o", Table: "o", Tracked: true})
	at := change.Cursor(`{"kind":"snapshot+pk","s1":"99999999:99999999:"}`)
	_, err := src.Fetch(t.Context(), change.Range{After: at}, everything)
	if gap := src.Gap(t.Context(), at); !errors.Is(err, poller.ErrAhead) || !errors.Is(gap, poller.ErrAhead) ||
		!strings.Contains(err.Error(), "--to snapshot") || strings.Contains(err.Error(), "--to beginning") {
		t.Errorf("a page says %v, and the position %v", err, gap)
	}
}
