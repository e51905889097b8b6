package source

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// fetchAll reads a range to its end, each position taken as stored, and returns what a session would deliver, in order.
// The last page says what is held back.
func fetchAll(t *testing.T, src *Cursor, r change.Range, rows int) (all []change.Event, last change.Page) {
	t.Helper()
	for range 1000 {
		page, err := src.Fetch(t.Context(), r, poller.Limit{Rows: rows, Bytes: 8 << 20})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Events...)
		if n := len(page.Events); n > 0 {
			r.After = page.Events[n-1].Position()
		}
		if !page.More {
			return all, page
		}
	}
	t.Fatal("the source does not end")
	return nil, change.Page{}
}

func rowKeys(events []change.Event) string {
	var out string
	for i := range events {
		out += string(events[i].Key)
	}
	return out
}

func idKeys(ids ...int) string {
	var out string
	for _, id := range ids {
		out += fmt.Sprintf(`{"id":%d}`, id)
	}
	return out
}

// settles runs what is the same on every engine: rows of the last hour are held back, by the age of a time and by
// marks.
func settles(t *testing.T, src, serial *Cursor, db *sql.DB, old, young string) {
	t.Helper()
	testenv.Exec(t, db, "INSERT INTO o (id, c) VALUES (1, "+old+")", "INSERT INTO o (id, c) VALUES (2, "+young+")")
	page, err := src.Fetch(t.Context(), change.Range{}, everything)
	if err != nil || rowKeys(page.Events) != idKeys(1) || page.More {
		t.Fatalf("%s %v", rowKeys(page.Events), err)
	}
	above, err := src.Fetch(t.Context(), change.Range{After: page.Events[0].Cursor, Unsafe: true}, everything)
	if err != nil || rowKeys(above.Events) != idKeys(2) {
		t.Errorf("what is held back: %s (%v)", rowKeys(above.Events), err)
	}

	// By marks: nothing has an age yet.
	if got, _ := fetchAll(t, serial, change.Range{}, 10); len(got) != 0 {
		t.Errorf("before any mark is old: %s", rowKeys(got))
	}
	ageMarks(serial)
	testenv.Exec(t, db, "INSERT INTO o (id, c) VALUES (4, "+young+")")
	if got, _ := fetchAll(t, serial, change.Range{}, 1); rowKeys(got) != idKeys(1, 2) {
		t.Errorf("after a window: %s", rowKeys(got))
	}
	// What commits late, below the highest, is there before the mark above it is old.
	testenv.Exec(t, db, "INSERT INTO o (id, c) VALUES (3, "+young+")")
	ageMarks(serial)
	got, _ := fetchAll(t, serial,
		change.Range{After: change.Cursor(`{"kind":"integer+pk","value":2,"tiebreaker":{"id":2}}`)}, 10)
	if rowKeys(got) != idKeys(3, 4) {
		t.Errorf("after another window: %s", rowKeys(got))
	}
}

// TestSettleFew: where few rows are chosen a page of those that have settled goes through a bounded number, and the
// position passes what is left out, but nothing that is held back.
func TestSettleFew(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	cfg := plan.Config{Table: "o", LateCommits: "settle", LateWindow: time.Hour, Cursor: []string{"id"},
		Where: "id IN (5000, 9001, 9100)"}
	src := openSource(t, url, "sqlite", cfg, "CREATE TABLE o (id INTEGER PRIMARY KEY, v text)",
		"WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 9000) INSERT INTO o SELECT n, '' FROM s")
	db := writer(t, "sqlite", strings.TrimPrefix(url, "sqlite:"))
	read := func(at change.Cursor) (events []change.Event, pages int, end change.Cursor) {
		for more := true; more; pages++ {
			p, err := src.Fetch(t.Context(), change.Range{After: at}, everything)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, p.Events...)
			if p.End() != nil {
				at = p.End()
			}
			more = p.More
		}
		return events, pages, at
	}
	if got, _, at := read(nil); len(got) != 0 || at != nil {
		t.Errorf("before any mark is old: %s, at %s", rowKeys(got), at)
	}
	ageMarks(src)
	testenv.Exec(t, db, "INSERT INTO o VALUES (9001, ''), (9050, '')")
	got, pages, at := read(nil)
	if rowKeys(got) != idKeys(5000) || pages < 2 || !strings.Contains(string(at), `"value":9000,`) {
		t.Errorf("after a window: %s in %d pages, at %s", rowKeys(got), pages, at)
	}
	testenv.Exec(t, db, "INSERT INTO o VALUES (9100, '')")
	ageMarks(src)
	if got, _, at = read(at); rowKeys(got) != idKeys(9001) || !strings.Contains(string(at), `"value":9050,`) {
		t.Errorf("after another window: %s, at %s", rowKeys(got), at)
	}
}

// ageMarks makes as if an hour had passed.
func ageMarks(c *Cursor) {
	c.settling.mu.Lock()
	defer c.settling.mu.Unlock()
	for i := range c.settling.marks {
		c.settling.marks[i].at = c.settling.marks[i].at.Add(-time.Hour)
	}
}

func settleSources(t *testing.T, url string) (byTime, byMarks *Cursor) {
	t.Helper()
	cfg := plan.Config{Table: "o", LateCommits: "settle", LateWindow: time.Hour}
	cfg.Cursor = []string{"c"}
	byTime = newSource(t, url, cfg)
	cfg.Cursor = []string{"id"}
	return byTime, newSource(t, url, cfg)
}

// settlesByType runs settles for types of the cursor: each with an instant of 61 minutes ago, and with now.
func settlesByType(t *testing.T, url, driver, dsn string, types map[string][3]string) {
	t.Helper()
	for name, typ := range types {
		t.Run(name, func(t *testing.T) {
			db := writer(t, driver, dsn, "DROP TABLE IF EXISTS o",
				"CREATE TABLE o (id int NOT NULL PRIMARY KEY, c "+typ[0]+" NOT NULL)")
			byTime, byMarks := settleSources(t, url)
			settles(t, byTime, byMarks, db, typ[1], typ[2])
		})
	}
}

func TestPostgresSettle(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	settlesByType(t, url, "pgx", url, map[string][3]string{
		"timestamptz": {"timestamptz", "now() - interval '61 minutes'", "now()"},
		"timestamp":   {"timestamp", "now() at time zone 'UTC' - interval '61 minutes'", "now() at time zone 'UTC'"},
		"date":        {"date", "(now() at time zone 'UTC')::date - 2", "(now() at time zone 'UTC')::date"},
	})
}

func TestMySQLSettle(t *testing.T) {
	t.Parallel()
	url := testenv.MySQL(t)
	settlesByType(t, url, "mysql", testenv.MySQLDSN(t, url), map[string][3]string{
		"timestamp": {"timestamp(6)", "now(6) - interval 61 minute", "now(6)"},
		"datetime":  {"datetime(6)", "utc_timestamp(6) - interval 61 minute", "utc_timestamp(6)"},
		"seconds":   {"datetime", "utc_timestamp() - interval 61 minute", "utc_timestamp()"},
	})
}

// TestSettleInAnotherZone: rows that are held back for hours, because nobody has said what zone they are written in,
// are told; those of another day, dated ahead on purpose, are not.
func TestSettleInAnotherZone(t *testing.T) {
	t.Parallel()
	pg, my := testenv.Postgres(t), testenv.MySQL(t)
	for name, c := range map[string]struct{ driver, url, dsn, hours, days string }{
		"postgres": {"pgx", pg, pg, "now() at time zone 'UTC' + interval '301 minutes'", "now() + interval '5 days'"},
		"mysql": {"mysql", my, testenv.MySQLDSN(t, my), "utc_timestamp() + interval 301 minute",
			"now() + interval 5 day"},
	} {
		t.Run(name, func(t *testing.T) {
			typ := map[string]string{"postgres": "timestamp", "mysql": "datetime"}[name]
			db := writer(t, c.driver, c.dsn, "CREATE TABLE o (id int NOT NULL PRIMARY KEY, c "+typ+" NOT NULL)",
				"INSERT INTO o VALUES (1, "+c.hours+")")
			said := func() string {
				byTime, _ := settleSources(t, c.url)
				page, err := byTime.Fetch(t.Context(), change.Range{}, everything)
				if err != nil || len(page.Events) > 0 {
					t.Fatalf("%s %v", rowKeys(page.Events), err)
				}
				return strings.Join(page.Warnings, "\n")
			}
			if text := said(); !strings.Contains(text, "is dated 5h") {
				t.Errorf("rows of another zone: %q", text)
			}
			testenv.Exec(t, db, "INSERT INTO o VALUES (2, "+c.days+")")
			if text := said(); strings.Contains(text, "source__time_zone") {
				t.Errorf("a row of another day: %q", text)
			}
		})
	}
}

func TestSQLServerSettle(t *testing.T) {
	t.Parallel()
	url := testenv.SQLServer(t)
	settlesByType(t, url, "sqlserver", url, map[string][3]string{
		"datetime2":      {"datetime2", "DATEADD(minute, -61, SYSUTCDATETIME())", "SYSUTCDATETIME()"},
		"datetimeoffset": {"datetimeoffset", "DATEADD(minute, -61, SYSUTCDATETIME())", "SYSUTCDATETIME()"},
	})
}

// TestSQLiteExact: ids and commits are of one order, so that nothing is held back and nothing remembered.
func TestSQLiteExact(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	src := openSource(t, url, "sqlite", plan.Config{Table: "o", Cursor: []string{"id"}},
		"CREATE TABLE o (id INTEGER PRIMARY KEY AUTOINCREMENT, v text)", "INSERT INTO o (v) VALUES ('a'), ('b')")
	d, err := src.Describe(t.Context())
	if err != nil || d.Late != late.Exact || d.Coarse {
		t.Fatalf("%+v %v", d, err)
	}
	if got, last := fetchAll(t, src, change.Range{}, 1); rowKeys(got) != idKeys(1, 2) || last.Safe != nil {
		t.Errorf("%s, safe %s", rowKeys(got), last.Safe)
	}
	plain := openSource(t, url, "sqlite", plan.Config{Table: "p", Cursor: []string{"id"}},
		"CREATE TABLE p (id INTEGER PRIMARY KEY, v text)")
	if d, err := plain.Describe(t.Context()); err != nil || d.Late != late.Overlap {
		t.Errorf("%+v %v", d, err)
	}
}
