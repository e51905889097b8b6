package e2e

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// futureCase is a table whose cursor is a time, with the values of now and of a year from now, or of much later.
type futureCase struct {
	engine   string
	open     func(t *testing.T) (*sql.DB, string)
	ddl      string
	now      string
	nextYear string
}

func futureCases() []futureCase {
	return []futureCase{
		{"postgres", openPostgres, `CREATE TABLE future (id int PRIMARY KEY, at timestamptz NOT NULL)`, "clock_timestamp()",
			"now() + interval '1 year'"},
		{"postgres far", openPostgres, `CREATE TABLE future (id int PRIMARY KEY, at timestamptz NOT NULL)`, "clock_timestamp()",
			"'20226-11-28'"},
		{"mariadb", openMySQL, `CREATE TABLE future (id int PRIMARY KEY, at datetime(6) NOT NULL)`, "UTC_TIMESTAMP(6)",
			"UTC_TIMESTAMP(6) + INTERVAL 1 YEAR"},
		{"sqlite", openSQLite, `CREATE TABLE future (id INTEGER PRIMARY KEY, at DATETIME NOT NULL)`,
			"strftime('%Y-%m-%d %H:%M:%f', 'now')", "strftime('%Y-%m-%d %H:%M:%f', 'now', '+1 year')"},
		{"sqlite julian", openSQLite, `CREATE TABLE future (id INTEGER PRIMARY KEY, at DATETIME NOT NULL)`,
			"julianday('now')", "julianday('now', '+1 year')"},
		{"sqlserver", openSQLServer, `CREATE TABLE future (id int PRIMARY KEY, at datetime2 NOT NULL)`, "SYSUTCDATETIME()",
			"DATEADD(year, 1, SYSUTCDATETIME())"},
	}
}

// TestFutureRow: a row that is dated a year ahead hides none of those that are written after it, and is delivered once,
// or held, as source__future_rows says; also where it is there before source__start=latest.
func TestFutureRow(t *testing.T) {
	t.Parallel()
	for _, c := range futureCases() {
		for _, says := range [][2]string{{"overlap", "deliver"}, {"overlap", "hold"}, {"none", "deliver"}} {
			if form := c.engine == "postgres far" || c.engine == "sqlite julian"; says[0]+says[1] != "overlapdeliver" && form ||
				says[1] == "hold" && c.engine == "mariadb" {
				continue // the rules are late's, and no engine's; which of an engine's times are ahead is shown by one of them
			}
			t.Run(c.engine+" "+says[0]+" "+says[1], func(t *testing.T) {
				t.Parallel()
				c.run(t, says[0], says[1])
			})
		}
	}
}

func (c *futureCase) run(t *testing.T, mode, rule string) {
	db, url := c.open(t)
	execute(t, db, c.ddl)
	rows := 0
	write := func(value string) string {
		rows++
		execute(t, db, fmt.Sprintf("INSERT INTO future (id, at) VALUES (%d, %s)", rows, value))
		return fmt.Sprint(rows)
	}
	to := newSink(t)
	s := settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "future",
		"status__listen": "127.0.0.1:0",
		"FUTURE_DB":      url, "pollers__future__source__connection": "FUTURE_DB", "pollers__future__source__table": "future",
		"pollers__future__source__cursor": "at", "pollers__future__source__late_commits": mode,
		"pollers__future__source__future_rows": rule,
		"pollers__future__output__kind":        "http", "pollers__future__output__url": to.URL,
		"pollers__future__poll_interval": "20ms", "pollers__future__schedule": "* * * * * *",
	}
	if mode == "overlap" {
		s["pollers__future__source__late_window"] = "1s"
	}
	arrives := func(id string) {
		t.Helper()
		until(t, "row "+id, func() bool { return to.column("id")[id] > 0 })
	}
	relay := startRun(t, t.TempDir(), s)
	arrives(write(c.now))
	future := write(c.nextYear)
	if rule == "deliver" {
		arrives(future)
	}
	for began := time.Now(); time.Since(began) < 2500*time.Millisecond; { // the window passes some times over the row
		arrives(write(c.now))
	}
	if code := relay.Interrupt(); code != 0 {
		t.Errorf("rowrelay run ended with code %d:\n%s", code, relay.Log())
	}
	relay = startRun(t, t.TempDir(), s)
	arrives(write(c.now))
	arrives(write(c.now))
	if _, repeated := to.count(); repeated > 0 || to.column("id")[future] > 0 != (rule == "deliver") {
		t.Errorf("%d events came twice; the future row came %d times\n%s", repeated, to.column("id")[future], relay.Log())
	}
	relay.Interrupt()

	s["state__app_name"], s["pollers__future__source__start"] = "latest", "latest"
	known := rows
	to = newSink(t)
	s["pollers__future__output__url"] = to.URL
	relay = startRun(t, t.TempDir(), s)
	until(t, "the document", func() bool {
		found, err := filepath.Glob(filepath.Join(s["state__path"], "state", "latest", "future.json"))
		return err == nil && len(found) == 1
	})
	arrives(write(c.now))
	arrives(write(c.now))
	for id := range known {
		if id := fmt.Sprint(id + 1); id != future && to.column("id")[id] > 0 {
			t.Errorf("row %s was delivered, although it was there at source__start=latest", id)
		}
	}
	relay.Interrupt()
}

// TestStartLatestBesideAnOpenTransaction: what a transaction commits that was open when the poller began, below the row
// that it began behind, is delivered, and what was there is not.
func TestStartLatestBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) (*sql.DB, string){"postgres": openPostgres, "mariadb": openMySQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, url := open(t)
			execute(t, db, "CREATE TABLE started (id int PRIMARY KEY)")
			execute(t, db, "INSERT INTO started (id) VALUES (1), (2)")
			tx := testenv.Begin(t, db, "INSERT INTO started (id) VALUES (3)")
			execute(t, db, "INSERT INTO started (id) VALUES (4)")
			to := newSink(t)
			s := settings{
				"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "started",
				"status__listen": "127.0.0.1:0",
				"STARTED_DB":     url, "pollers__started__source__connection": "STARTED_DB",
				"pollers__started__source__table":  "started",
				"pollers__started__source__cursor": "id", "pollers__started__source__start": "latest",
				"pollers__started__output__kind": "http", "pollers__started__output__url": to.URL,
			}
			dir := t.TempDir()
			once := func() {
				t.Helper()
				if stdout, stderr, err := command(t, dir, s, "run", "--once"); err != nil {
					t.Fatalf("%v\n%s%s", err, stdout, stderr)
				}
			}
			once()
			if n, _ := to.count(); n > 0 {
				t.Errorf("%d events of rows that were there", n)
			}
			testenv.Commit(t, tx)
			execute(t, db, "INSERT INTO started (id) VALUES (5)")
			until(t, "the late row and the new one", func() bool {
				once()
				return to.column("id")["3"] > 0 && to.column("id")["5"] > 0
			})
			once()
			if n, repeated := to.count(); n != 2 || repeated > 0 {
				t.Errorf("%d events, of which %d came twice: %v", n, repeated, to.column("id"))
			}
		})
	}
}
