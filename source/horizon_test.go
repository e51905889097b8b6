package source

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// writer opens a pool beside the source.
func writer(t *testing.T, driver, dsn string, ddl ...string) *sql.DB {
	t.Helper()
	db := testenv.Open(t, driver, strings.TrimPrefix(dsn, "sqlite:"))
	testenv.Exec(t, db, ddl...)
	return db
}

func horizonOf(t *testing.T, src *Cursor) change.Horizon {
	t.Helper()
	h, err := src.Horizon(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(h.Now).Abs(); d > time.Hour || h.Now.Location() != time.UTC {
		t.Fatalf("the database's clock is %v, %v away", h.Now, d)
	}
	return h
}

// showsWriter checks that an open transaction of another session is told of, and no longer when it has ended. It is the
// same on every server.
func showsWriter(t *testing.T, src *Cursor, db *sql.DB, insert string, words ...string) {
	t.Helper()
	if h := horizonWith(t, src, false); h.By != "" {
		t.Fatalf("nothing is open: %+v", h)
	}
	before := horizonOf(t, src).Now.Add(-time.Second) // where begin times are whole seconds
	tx, looked := testenv.Begin(t, db, insert), time.Now()
	h := horizonWith(t, src, true)
	before = before.Add(-time.Since(looked)) // the age is read after the clock, and a writer seems older by that
	if !h.Shown || h.Oldest.Before(before) || h.Oldest.After(h.Now) {
		t.Errorf("a writer since %v: %+v", before, h)
	}
	for _, w := range words {
		if !strings.Contains(h.By, w) {
			t.Errorf("%q is not said: %q", w, h.By)
		}
	}
	if strings.Contains(h.By, "INSERT") {
		t.Errorf("the statement is shown: %q", h.By)
	}
	testenv.Commit(t, tx)
	horizonWith(t, src, false)
}

// horizonWith looks until a writer is told of, or none. InnoDB shows transactions as they were when somebody looked
// last, unless that is 100 ms ago.
func horizonWith(t *testing.T, src *Cursor, open bool) change.Horizon {
	t.Helper()
	return horizonUntil(t, src, fmt.Sprintf("an open writer is shown: %v", open), func(h change.Horizon) bool {
		return h.Shown && h.Oldest.IsZero() != open
	})
}

// horizonUntil looks until what is shown is wanted.
func horizonUntil(t *testing.T, src *Cursor, what string, wanted func(change.Horizon) bool) (h change.Horizon) {
	t.Helper()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	programtest.Until(t, what, func() bool {
		<-again.C
		h = horizonOf(t, src)
		return wanted(h)
	})
	return h
}

func TestPostgresHorizon(t *testing.T) {
	t.Parallel()
	admin := testenv.Postgres(t)
	db := writer(t, "pgx", admin+"&application_name=importer",
		"CREATE TABLE o (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())", "INSERT INTO o VALUES (0)")
	src := newSource(t, admin, plan.Config{Table: "o", Cursor: []string{"at"}})
	showsWriter(t, src, db, "INSERT INTO o VALUES (1)", "pid ", "app importer", "user ")

	// Nothing written yet, but now() is already taken: what it writes will be as old as its begin.
	tx := testenv.Begin(t, db)
	var began time.Time
	if err := tx.QueryRowContext(t.Context(), "SELECT now()").Scan(&began); err != nil {
		t.Fatal(err)
	}
	if h := horizonOf(t, src); !h.Oldest.Equal(began) {
		t.Errorf("a transaction that waits since %v: %+v", began, h)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}

	// A session that does not tell of its activity hides when it began.
	silent := writer(t, "pgx", admin+"&options=-c%20track_activities%3Doff")
	tx = testenv.Begin(t, silent, "INSERT INTO o VALUES (7)")
	if h := horizonOf(t, src); h.Shown {
		t.Errorf("a writer with track_activities=off: %+v", h)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := silent.Close(); err != nil {
		t.Fatal(err)
	}
	horizonWith(t, src, false)

	// A role that may see its own sessions only does not know.
	role := "rr_plain_" + strings.ToLower(rand.Text())
	testenv.Exec(t, db, "CREATE ROLE "+role+" LOGIN PASSWORD 'x'", "GRANT SELECT ON o TO "+role)
	t.Cleanup(func() {
		for _, s := range []string{"DROP OWNED BY " + role, "DROP ROLE " + role} {
			if _, err := db.ExecContext(context.WithoutCancel(t.Context()), s); err != nil {
				t.Errorf("drop the role: %v", err)
			}
		}
	})
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal("the URL does not parse")
	}
	u.User = url.UserPassword(role, "x")
	plain := newSource(t, u.String(), plan.Config{Table: "o", Cursor: []string{"at"}})
	testenv.Begin(t, db, "INSERT INTO o VALUES (2)")
	if h := horizonOf(t, plain); h.Shown || !h.Oldest.IsZero() {
		t.Errorf("a plain role: %+v", h)
	}
	testenv.Exec(t, db, "GRANT pg_read_all_stats TO "+role)
	if h := horizonOf(t, plain); !h.Shown || h.Oldest.IsZero() {
		t.Errorf("a role with pg_read_all_stats: %+v", h)
	}
}

// TestPostgresHorizonOfASubscriber: the transactions on the publisher are not shown, and those that are open here hold
// the window all the same.
func TestPostgresHorizonOfASubscriber(t *testing.T) {
	t.Parallel()
	admin := testenv.Postgres(t)
	db := writer(t, "pgx", admin, "CREATE TABLE o (id int, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (id, at)) "+
		"PARTITION BY RANGE (at)", "CREATE TABLE p PARTITION OF o DEFAULT", "ALTER TABLE o RENAME TO whole",
		"ALTER TABLE p RENAME TO o")
	said := func(table string) (change.Horizon, string) {
		src := newSource(t, admin, plan.Config{Table: table, Cursor: []string{"at"}})
		d, err := src.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return horizonOf(t, src), strings.Join(d.Warnings, "; ")
	}
	if h, warnings := said("o"); h.Elsewhere || strings.Contains(warnings, "primary") {
		t.Errorf("before: %+v, %q", h, warnings)
	}
	subscribed(t, db)
	testenv.Begin(t, db, "INSERT INTO o VALUES (1)")
	for _, table := range []string{"o", "whole"} {
		h, warnings := said(table)
		if !h.Elsewhere || h.Oldest.IsZero() || !strings.Contains(warnings, "connect to the primary") {
			t.Errorf("%s: %+v, %q", table, h, warnings)
		}
	}
}

// TestMySQLHorizon and the other tests of the server's list of transactions run by themselves: who reads the list keeps
// it as it is for everybody.
func TestMySQLHorizon(t *testing.T) {
	admin := testenv.MySQL(t)
	db := writer(t, "mysql", testenv.MySQLDSN(t, admin),
		"CREATE TABLE o (id int PRIMARY KEY, at timestamp(6) NOT NULL DEFAULT now(6))", "INSERT INTO o (id) VALUES (0)")
	src := newSource(t, admin, plan.Config{Table: "o", Cursor: []string{"at"}})
	showsWriter(t, src, db, "INSERT INTO o (id) VALUES (1)", "connection ", "user ", "host ")
	// The session goes on in UTC.
	page, err := src.Fetch(t.Context(), change.Range{}, everything)
	if err != nil || len(page.Events) != 2 || time.Since(page.Events[1].Time).Abs() > time.Hour {
		t.Errorf("%d rows, %v", len(page.Events), err)
	}

	// Read-only ones hold nothing back.
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	testenv.ExecOn(t, tx, "SELECT * FROM o")
	writing := testenv.Begin(t, db, "INSERT INTO o (id) VALUES (3)")
	horizonWith(t, src, true)
	if err := writing.Rollback(); err != nil {
		t.Fatal(err)
	}
	horizonWith(t, src, false) // although the reader is open still
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}

	user := "rr_plain_" + strings.ToLower(rand.Text()[:16])
	testenv.Exec(t, db, "CREATE USER "+user+" IDENTIFIED BY 'x'", "GRANT SELECT ON o TO "+user)
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+user); err != nil {
			t.Errorf("drop the user: %v", err)
		}
	})
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal("the URL does not parse")
	}
	u.User = url.UserPassword(user, "x")
	plain := newSource(t, u.String(), plan.Config{Table: "o", Cursor: []string{"at"}})
	testenv.Begin(t, db, "INSERT INTO o (id) VALUES (2)")
	if h := horizonOf(t, plain); h.Shown || !h.Oldest.IsZero() {
		t.Errorf("without PROCESS: %+v", h)
	}
}

// TestMySQLHorizonOfAReplica: a replica that is not read-only, which is the default, shows its own transactions, and
// not those on its primary, by which rows come late.
func TestMySQLHorizonOfAReplica(t *testing.T) {
	t.Parallel()
	server := testenv.OwnMariaDB(t)
	db := writer(t, "mysql", testenv.MySQLDSN(t, server.URL), "CREATE TABLE o (id int PRIMARY KEY, at timestamp(6) NOT NULL)")
	config := plan.Config{Table: "o", Cursor: []string{"at"}}
	src := newSource(t, server.URL, config)
	horizonUntil(t, src, "a server of its own shows its transactions", func(h change.Horizon) bool { return h.Shown })
	testenv.Exec(t, db, "CHANGE MASTER TO master_host = '127.0.0.1', master_port = 1", "START SLAVE")
	h := horizonUntil(t, src, "a replica does not know", func(h change.Horizon) bool { return !h.Shown })
	if !h.Elsewhere || h.Crowded || !h.Oldest.IsZero() {
		t.Errorf("%+v", h)
	}
	d, err := newSource(t, server.URL, config).Describe(t.Context())
	if said := strings.Join(d.Warnings, "; "); err != nil || !strings.Contains(said, "connect to the primary") {
		t.Errorf("%q, %v", said, err)
	}
	tracksPrimary(t, server.URL, db)
	testenv.Exec(t, db, "STOP SLAVE", "RESET SLAVE ALL") // it is promoted
	horizonUntil(t, src, "and then it does", func(h change.Horizon) bool { return h.Shown })
}

// TestMySQLHorizonAskedOften: the server's list of transactions stays as it is while it is read more often than ten
// times a second. One that begins meanwhile is shown all the same.
func TestMySQLHorizonAskedOften(t *testing.T) {
	admin := testenv.MySQL(t)
	db := writer(t, "mysql", testenv.MySQLDSN(t, admin), "CREATE TABLE o (id int PRIMARY KEY, at timestamp(6) NOT NULL DEFAULT now(6))")
	src := newSource(t, admin, plan.Config{Table: "o", Cursor: []string{"at"}})
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	look := func() change.Horizon {
		<-again.C
		return horizonOf(t, src)
	}
	for range 20 {
		look()
	}
	before := look().Now
	testenv.Begin(t, db, "INSERT INTO o (id) VALUES (1)")
	if h := look(); h.Oldest.IsZero() || h.Oldest.After(h.Now) {
		t.Errorf("what began since the last answer counts as open: %+v", h)
	}
	programtest.Until(t, "the writer to be named", func() bool {
		h := look()
		return strings.HasPrefix(h.By, "connection ") && !h.Oldest.Before(before.Add(-2*time.Second))
	})
}

// TestMySQLHorizonBesideOthers: the list stays as it is while others read it often. One that began meanwhile counts as
// open; and who has no list of his own yet is shown none.
func TestMySQLHorizonBesideOthers(t *testing.T) {
	admin := testenv.MySQL(t)
	db := writer(t, "mysql", testenv.MySQLDSN(t, admin), "CREATE TABLE o (id int PRIMARY KEY, at timestamp(6) NOT NULL DEFAULT now(6))")
	src := newSource(t, admin, plan.Config{Table: "o", Cursor: []string{"at"}})
	later := newSource(t, admin+"?timeout=9s", plan.Config{Table: "o", Cursor: []string{"at"}}) // has a pool of its own
	horizonWith(t, src, false)
	stop, done := make(chan struct{}), make(chan error, 1)
	reads := make(chan struct{})
	go func() {
		for again := time.NewTicker(5 * time.Millisecond); ; {
			var n int
			row := db.QueryRowContext(t.Context(), "SELECT count(*) FROM information_schema.innodb_trx")
			if err := row.Scan(&n); err != nil {
				done <- err
				return
			}
			select {
			case reads <- struct{}{}:
			case <-stop:
				done <- nil
				return
			case <-again.C:
			}
		}
	}()
	<-reads
	testenv.Begin(t, db, "INSERT INTO o (id) VALUES (1)")
	for range 200 { // over more than one pause
		<-reads
		if h := horizonOf(t, src); !h.Shown || h.Oldest.IsZero() || h.Oldest.After(h.Now) {
			t.Errorf("what began since the last list counts as open: %+v", h)
		}
	}
	if h := horizonOf(t, later); h.Shown && h.Oldest.IsZero() {
		t.Errorf("a list of any age is taken for one of now: %+v", h)
	}
	d, err := later.Describe(t.Context())
	if said := strings.Join(d.Warnings, "; "); err != nil || strings.Contains(said, "GRANT") {
		t.Errorf("the right is there, and advised: %s, %v", said, err)
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	programtest.Until(t, "the writer to be named", func() bool {
		return strings.HasPrefix(horizonOf(t, later).By, "connection ")
	})
}

// TestMySQLPreparedTransaction: one that XA PREPARE has left without a session holds the edge, although it seems to
// have begun when the server was restarted. It holds that of every database of the server: not beside other tests.
func TestMySQLPreparedTransaction(t *testing.T) {
	admin := testenv.MySQL(t)
	db := writer(t, "mysql", testenv.MySQLDSN(t, admin),
		"CREATE TABLE o (id int PRIMARY KEY, at timestamp(6) NOT NULL DEFAULT now(6))", "INSERT INTO o (id) VALUES (0)")
	src := newSource(t, admin, plan.Config{Table: "o", Cursor: []string{"at"}})
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	xid := "'rr_" + strings.ToLower(rand.Text()) + "'"
	testenv.ExecOn(t, conn, "XA START "+xid, "INSERT INTO o (id) VALUES (1)", "XA END "+xid, "XA PREPARE "+xid)
	// where the test has not ended it
	t.Cleanup(func() { _, _ = db.ExecContext(context.WithoutCancel(t.Context()), "XA ROLLBACK "+xid) })
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
	h := horizonUntil(t, src, "the session ends", func(h change.Horizon) bool {
		return strings.Contains(h.By, "XA RECOVER")
	})
	if !h.Shown || h.Oldest.IsZero() || h.Oldest.After(h.Now.Add(-24*time.Hour)) {
		t.Errorf("a prepared transaction: %+v", h)
	}
	testenv.Exec(t, db, "XA COMMIT "+xid)
	horizonWith(t, src, false)
}

func TestSQLiteHorizon(t *testing.T) {
	t.Parallel()
	src := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Table: "o", Cursor: []string{"v"}},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v int NOT NULL)")
	if h := horizonOf(t, src); h.Shown || !h.Oldest.IsZero() {
		t.Errorf("%+v", h)
	}
}

func TestSQLServerHorizon(t *testing.T) {
	t.Parallel()
	admin := testenv.SQLServer(t)
	db := writer(t, "sqlserver", admin,
		"CREATE TABLE o (id int NOT NULL PRIMARY KEY, at datetime2 NOT NULL DEFAULT SYSUTCDATETIME())",
		"INSERT INTO o (id) VALUES (0)")
	src := newSource(t, admin, plan.Config{Table: "o", Cursor: []string{"at"}})
	if !horizonOf(t, src).Shown {
		t.Skip("this server does not show transactions (Babelfish has no sys.dm_tran_active_transactions)")
	}
	showsWriter(t, src, db, "INSERT INTO o (id) VALUES (1)", "session ", "user ")
}

// TestSessionOf: parts that are not known are left out.
func TestSessionOf(t *testing.T) {
	t.Parallel()
	for want, parts := range map[string][][2]string{
		"pid 1": {{"app", ""}}, "pid 1 (user b)": {{"app", ""}, {"user", "b"}},
		"pid 1 (app a, user b)": {{"app", "a"}, {"user", "b"}},
	} {
		if got := engine.SessionOf("pid 1", parts...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
