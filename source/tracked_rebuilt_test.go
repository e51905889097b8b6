package source

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestTriggersFallWithTheTable: a migration copies a table, drops it, and gives the copy its name, as SQLite advises
// for most ALTERs. Nothing is recorded any more: the next page says so, though it has no rows. It
// took up to five minutes.
func TestTriggersFallWithTheTable(t *testing.T) {
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
