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

// TestRowSecurityComesOn: a policy that is made while changes are read hides rows from the login. A row that is hidden
// looks like one that is gone: it was told as deleted until the catalog was read again, which took up to five minutes.
func TestRowSecurityComesOn(t *testing.T) {
	t.Parallel()
	server := testenv.OwnPostgres(t)
	db := testenv.Open(t, "pgx", server.URL)
	testenv.Exec(t, db, "CREATE TABLE o (id int PRIMARY KEY, v int)", "CREATE ROLE reader LOGIN")
	install(t, server.URL, db, "o")
	testenv.Exec(t, db, "GRANT SELECT ON o, rowrelay_changes_o, rowrelay_changes_o_state TO reader",
		"INSERT INTO o VALUES (1, 1)")
	reader := strings.Replace(server.URL, "://rowrelay@", "://reader@", 1)
	src := newSource(t, reader, plan.Config{Poller: "o", Table: "o", Tracked: true})
	first, err := src.Fetch(t.Context(), change.Range{}, everything)
	if err != nil || len(first.Events) != 1 {
		t.Fatal(first, err)
	}
	testenv.Exec(t, db, "ALTER TABLE o ENABLE ROW LEVEL SECURITY", "CREATE POLICY few ON o USING (id > 1)",
		"UPDATE o SET v = 2")
	page, err := src.Fetch(t.Context(), change.Range{After: first.To}, everything)
	if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "ALTER ROLE … BYPASSRLS") {
		t.Errorf("a row that is hidden: %v, %v", page.Events, err)
	}
	testenv.Exec(t, db, "ALTER ROLE reader BYPASSRLS")
	page, err = src.Fetch(t.Context(), change.Range{After: first.To}, everything)
	if err != nil || len(page.Events) != 1 || page.Events[0].Op != change.Update {
		t.Errorf("it came into sight: %v, %v", page.Events, err)
	}
}

// TestTrackedOnAStandby: a standby cannot tell which transactions are open, and change tracking finds changes by them
// alone. It was read there as if versions were times: no gap could be seen, and the log said every second that the
// columns' types had changed.
func TestTrackedOnAStandby(t *testing.T) {
	t.Parallel()
	primary := testenv.OwnPostgres(t)
	db := testenv.Open(t, "pgx", primary.URL)
	testenv.Exec(t, db, "CREATE TABLE o (id int PRIMARY KEY)")
	install(t, primary.URL, db, "o")
	testenv.Exec(t, db, "INSERT INTO o VALUES (1)")
	src := newSource(t, primary.Standby().URL, plan.Config{Poller: "o", Table: "o", Tracked: true})
	page, err := src.Fetch(t.Context(), change.Range{}, everything)
	if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "connect to the primary") {
		t.Error(page, err)
	}
}

// TestTriggerFallsWithTheTable: another table takes the name of one whose xid8 a trigger sets. The next page makes a
// plan of it, so that the log says that updates are not seen any more.
func TestTriggerFallsWithTheTable(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db, "CREATE TABLE o (id int PRIMARY KEY, x xid8 NOT NULL DEFAULT pg_current_xact_id())",
		`CREATE FUNCTION o_x() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.x := pg_current_xact_id(); RETURN NEW; END $$`,
		"CREATE TRIGGER o_x BEFORE INSERT OR UPDATE ON o FOR EACH ROW EXECUTE FUNCTION o_x()")
	src := newSource(t, url, plan.Config{Table: "o", Cursor: []string{"x"}})
	page, err := src.Fetch(t.Context(), change.Range{}, everything)
	if err != nil {
		t.Fatal(err)
	}
	unset := func() bool {
		t.Helper()
		d, err := src.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(strings.Join(d.Warnings, ";"), "updates are not seen")
	}
	if unset() {
		t.Fatal("the trigger is not seen")
	}
	testenv.Exec(t, db, "CREATE TABLE n (LIKE o INCLUDING ALL)", "INSERT INTO n SELECT * FROM o", "DROP TABLE o",
		"ALTER TABLE n RENAME TO o")
	src.mu.Lock()
	src.planned = time.Now().Add(-time.Minute)
	src.mu.Unlock()
	if _, err := src.Fetch(t.Context(), change.Range{After: page.To}, everything); err != nil || !unset() {
		t.Errorf("the plan is still that of the table before: %v", err)
	}
}
