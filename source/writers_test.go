package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// keysOf are the keys of events, in order.
func keysOf(events []change.Event) string {
	var keys []string
	for i := range events {
		keys = append(keys, strings.Trim(string(events[i].Key), `{}"id:`))
	}
	return strings.Join(keys, " ")
}

// TestOwnPostgres holds the tests that need a server where nobody else writes: one server, a database for each.
func TestOwnPostgres(t *testing.T) {
	t.Parallel()
	server := testenv.OwnPostgres(t)
	for i, test := range []struct {
		name string
		run  func(t *testing.T, address string)
	}{
		{"writers", postgresWriters}, {"silent", postgresWritersSilent}, {"rights", postgresIdentityRights},
		{"standby", func(t *testing.T, address string) {
			testenv.Exec(t, testenv.Open(t, "pgx", address), "CREATE TABLE o (id bigint PRIMARY KEY)",
				"INSERT INTO o VALUES (1)")
			ofStandby(t, strings.Replace(address, server.Address(), server.Standby().Address(), 1))
		}},
		{"durable", postgresWritersAreDurable}, // the last: it changes the server
	} {
		t.Run(test.name, func(t *testing.T) {
			testenv.Exec(t, testenv.Open(t, "pgx", server.URL), fmt.Sprint("CREATE DATABASE own", i))
			test.run(t, strings.Replace(server.URL, "/postgres?", fmt.Sprintf("/own%d?", i), 1))
		})
	}
}

// postgresWriters: rows tell who wrote them, and a page which transactions had ended. Rows of those are left out of
// a page that need not show them; the position still moves past them. A savepoint's row counts as later than its
// transaction.
func postgresWriters(t *testing.T, address string) {
	db := testenv.Open(t, "pgx", address)
	testenv.Exec(t, db, "CREATE TABLE o (id bigint PRIMARY KEY, n int NOT NULL)",
		"INSERT INTO o SELECT g, 0 FROM generate_series(1, 3000) g WHERE g % 100 <> 0")
	src := newSource(t, address, plan.Config{Table: "o", Cursor: []string{"id"}})
	fetch := func(r change.Range, rows int) change.Page {
		t.Helper()
		r.Late = true
		page, err := src.Fetch(t.Context(), r, poller.Limit{Rows: rows, Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	first := fetch(change.Range{}, 5)
	for range 50 { // until the log of what was written last is on disk, and a snapshot since then
		if first.Ended > first.Events[0].Writer {
			break
		}
		testenv.Exec(t, db, "INSERT INTO o VALUES (-1, 0)", "DELETE FROM o WHERE id < 0")
		first = fetch(change.Range{}, 5)
	}
	if first.Numbers == "" || first.Ended <= first.Events[0].Writer {
		t.Fatalf("the page says %q, ended %d, its row %d", first.Numbers, first.Ended, first.Events[0].Writer)
	}

	tx := testenv.Begin(t, db)
	write := func(text string) { t.Helper(); testenv.ExecOn(t, tx, text) }
	write("INSERT INTO o VALUES (200, 1)")
	testenv.Exec(t, db, "INSERT INTO o VALUES (400, 1)") // later than the transaction, sooner than its savepoint
	write("SAVEPOINT a")
	write("INSERT INTO o VALUES (300, 1)")
	write("SAVEPOINT b")
	write("INSERT INTO o VALUES (500, 1)")
	write("ROLLBACK TO b")
	for range 3 {
		open := fetch(change.Range{}, 5)
		var xid uint64
		if err := tx.QueryRowContext(t.Context(), "SELECT pg_current_xact_id()::text::bigint").Scan(&xid); err != nil {
			t.Fatal(err)
		}
		if open.Ended > xid || open.Numbers != first.Numbers {
			t.Fatalf("%d is open, and the page says that those below %d have ended (%q)", xid, open.Ended, open.Numbers)
		}
	}
	testenv.Commit(t, tx)
	testenv.Exec(t, db, "UPDATE o SET n = 2 WHERE id = 2999")

	at, found, pages := change.Cursor(nil), []change.Event(nil), 0
	all := fetch(change.Range{}, 5000)
	upTo := all.Events[len(all.Events)-1].Position()
	for more := true; more; pages++ {
		page := fetch(change.Range{After: at, UpTo: upTo, Since: first.Ended}, 10)
		if page.Numbers != first.Numbers {
			t.Fatalf("the numbers of a page with rows left out are %q, not %q", page.Numbers, first.Numbers)
		}
		found = append(found, page.Events...)
		if more = page.More; page.To != nil {
			at = page.To
		} else if n := len(page.Events); n > 0 {
			at = page.Events[n-1].Position()
		}
	}
	if got := keysOf(found); got != "200 300 400 2999" {
		t.Errorf("found %s", got)
	}
	if !at.Equal(upTo) || pages > 6 {
		t.Errorf("read up to %s in %d pages, not to %s", at, pages, upTo)
	}
	for _, e := range all.Events {
		key := " " + keysOf([]change.Event{e}) + " "
		if recent := e.Writer >= first.Ended; recent != strings.Contains(" 200 300 400 2999 ", key) {
			t.Errorf("the row %s was written by %d", e.Key, e.Writer)
		}
	}
}

// postgresWritersAreDurable: a transaction that a crash of the server may still take back has not ended for good:
// another one would be given its number.
func postgresWritersAreDurable(t *testing.T, address string) {
	db := testenv.Open(t, "pgx", address)
	testenv.Exec(t, db, "ALTER SYSTEM SET wal_writer_delay = '10s'", "ALTER SYSTEM SET wal_writer_flush_after = '1GB'",
		"SELECT pg_reload_conf()", "CREATE TABLE o (id bigint PRIMARY KEY)")
	src := newSource(t, address, plan.Config{Table: "o", Cursor: []string{"id"}})
	fetch := func() change.Page {
		t.Helper()
		page, err := src.Fetch(t.Context(), change.Range{Late: true}, everything)
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	fetch()
	durable := 0
	for i := range 20 {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		testenv.ExecOn(t, conn, "SET synchronous_commit = off")
		if _, err := conn.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO o VALUES (%d)", i)); err != nil {
			t.Fatal(err)
		}
		page := fetch()
		var safe bool
		if err := conn.QueryRowContext(t.Context(),
			"SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()").Scan(&safe); err != nil {
			t.Fatal(err)
		}
		if last := page.Events[len(page.Events)-1].Writer; page.Ended > last && !safe {
			t.Errorf("%d has not reached the disk, and those below %d have ended", last, page.Ended)
		}
		testenv.ExecOn(t, conn, "SET synchronous_commit = on")
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		testenv.Exec(t, db, "CREATE TABLE IF NOT EXISTS flush (n int)", "INSERT INTO flush VALUES (1)")
		if page = fetch(); page.Ended > page.Events[len(page.Events)-1].Writer {
			durable++
		}
	}
	if durable == 0 {
		t.Error("nothing was ever seen to reach the disk")
	}
}

// postgresWritersSilent: no numbers where a row can come into sight without being written, or may bear another
// server's number.
func postgresWritersSilent(t *testing.T, address string) {
	db := testenv.Open(t, "pgx", address)
	testenv.Exec(t, db, "CREATE TABLE o (id bigint PRIMARY KEY)", "INSERT INTO o VALUES (1), (2)",
		"CREATE VIEW v AS SELECT * FROM o",
		"CREATE TABLE p (id bigint PRIMARY KEY) PARTITION BY RANGE (id)",
		"CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)", "INSERT INTO p SELECT * FROM o",
		"CREATE TABLE i (id bigint PRIMARY KEY)", "INSERT INTO i VALUES (1)",
		"CREATE SCHEMA _timescaledb_internal", "CREATE TABLE _timescaledb_internal.i1 () INHERITS (i)",
		"CREATE ROLE reader LOGIN PASSWORD 'reader'", "CREATE TABLE s (id bigint PRIMARY KEY)", "INSERT INTO s VALUES (1)",
		"ALTER TABLE s ENABLE ROW LEVEL SECURITY", "CREATE POLICY all_rows ON s USING (true)", "GRANT SELECT ON s TO reader",
		"CREATE TABLE c (id bigint PRIMARY KEY)", "INSERT INTO c VALUES (1)", "GRANT SELECT (id) ON c TO reader")
	reader := strings.Replace(address, "://"+strings.SplitN(strings.SplitN(address, "://", 2)[1], "@", 2)[0],
		"://reader:reader", 1)
	for _, c := range []struct {
		name, url string
		cfg       plan.Config
		told      bool
	}{
		{"table", address, plan.Config{Table: "o"}, true},
		{"partition", address, plan.Config{Table: "p1"}, true},
		{"where", address, plan.Config{Table: "o", Where: "id < 10"}, false},
		{"view", address, plan.Config{Table: "v", Key: []string{"id"}}, false},
		{"query", address, plan.Config{Query: "SELECT * FROM o", Key: []string{"id"}}, false},
		{"partitioned", address, plan.Config{Table: "p"}, false},
		{"hypertable", address, plan.Config{Table: "i"}, false},
		{"row security", reader, plan.Config{Table: "s"}, false},
		{"columns' rights", reader, plan.Config{Table: "c"}, false},
		{"settle", address, plan.Config{Table: "o", LateCommits: "settle"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Cursor = []string{"id"}
			src := newSource(t, c.url, c.cfg)
			page, err := src.Fetch(t.Context(), change.Range{Late: true}, everything)
			if err != nil {
				t.Fatal(err)
			}
			d, err := src.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			hides := strings.Contains(strings.Join(d.Warnings, ";"), "row security may hide rows")
			if hides != (c.name == "row security") {
				t.Errorf("warnings: %q", d.Warnings)
			}
			if told := page.Numbers != ""; told != c.told {
				t.Errorf("numbers are %q, ended %d", page.Numbers, page.Ended)
			}
			for _, e := range page.Events {
				if (e.Writer > 0) != c.told {
					t.Errorf("row %s was written by %d", e.Key, e.Writer)
				}
			}
		})
	}
}

// ofStandby: a standby tells no numbers.
func ofStandby(t *testing.T, address string) {
	page, err := newSource(t, address, plan.Config{Table: "o", Cursor: []string{"id"}}).Fetch(t.Context(),
		change.Range{Late: true}, everything)
	if err != nil || len(page.Events) != 1 || page.Numbers != "" || page.Ended != 0 {
		t.Errorf("%d events, numbers are %q, ended %d: %v", len(page.Events), page.Numbers, page.Ended, err)
	}
}
