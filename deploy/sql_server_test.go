package deploy_test

import (
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestGrantsSufficeOnSQLServer runs the program as a user that has nothing but the grants of sql/, on a real server.
func TestGrantsSufficeOnSQLServer(t *testing.T) {
	admin := testenv.SQLServer(t)
	db, err := sql.Open("sqlserver", admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the database is dropped after it
	login, password := "rr_"+strings.ToLower(rand.Text()[:12]), "Aa1-"+rand.Text()
	execute(t, db, "CREATE LOGIN "+login+" WITH PASSWORD = '"+password+"'")
	t.Cleanup(func() { dropLogin(t, login) })
	execute(t, db, "CREATE USER "+login+" FOR LOGIN "+login)
	execute(t, db, "CREATE TABLE dbo.orders (id int IDENTITY NOT NULL PRIMARY KEY, note nvarchar(40) NOT NULL, row_version rowversion NOT NULL, INDEX by_version (row_version, id))")
	execute(t, db, "INSERT INTO dbo.orders (note) VALUES (N'one'), (N'two')")

	a := newApplication(t)
	receiver := newReceiver(t)
	limited, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	limited.User = url.UserPassword(login, password)
	a.set("orders", "source__table", "dbo.orders", "source__cursor", "row_version", "output__kind", "http", "output__url",
		receiver.URL+"/ok")
	a.set("events", "source__mode", "outbox", "source__table", "dbo.outbox", "output__kind", "http", "output__url",
		receiver.URL+"/ok")

	// What makes tables is run by somebody who may, and the app does not need it.
	a.settings["DB_orders"], a.settings["DB_events"] = admin, admin
	a.command(t, "outbox", "init", "events", "--apply")
	execute(t, db, "INSERT INTO dbo.outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES (N'Order', N'42', N'OrderPlaced', N'{}', N'key-1')")
	a.settings["DB_orders"], a.settings["DB_events"] = limited.String(), limited.String()
	script(t, db, "sql/grant-cursor.sql", login, "orders")
	script(t, db, "sql/grant-outbox.sql", login, "outbox")

	a.command(t, "run", "orders", "events", "--once")
	var published int
	if err := db.QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM dbo.outbox WHERE state = 'PUBLISHED'").Scan(&published); err != nil || published != 1 {
		t.Errorf("%d events were published, %v", published, err)
	}
	as, err := sql.Open("sqlserver", limited.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = as.Close() }()
	for _, forbidden := range []string{
		"INSERT INTO dbo.orders (note) VALUES (N'x')", "UPDATE dbo.orders SET note = N'x'", "DELETE FROM dbo.orders",
		"UPDATE dbo.outbox SET payload = N'x'", "CREATE TABLE dbo.mine (id int)",
	} {
		if _, err := as.ExecContext(t.Context(), forbidden); err == nil {
			t.Errorf("the app may %s", forbidden)
		}
	}
}

// script runs a script of sql/ as sqlcmd would.
func script(t *testing.T, db *sql.DB, path, login, table string) {
	t.Helper()
	text := testfile.Read(t, path)
	execute(t, db, strings.NewReplacer("$(identity)", login, "$(schema)", "dbo", "$(table)", table, "$(claims)",
		"rowrelay_claims").Replace(string(text)))
}

// dropLogin is for the server, where the test's database is dropped by then or not.
func dropLogin(t *testing.T, login string) {
	db, err := sql.Open("sqlserver", os.Getenv("ROWRELAY_TEST_SQLSERVER"))
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec("DROP LOGIN " + login); err != nil {
		t.Log(err) // a connection of it is closing: the server is one for tests
	}
}
