package source

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestGoldenRights pins what a server is asked of the login.
func TestGoldenRights(t *testing.T) {
	pin(t, filepath.Join(enginePostgres, "rights.sql"), postgresRights+"\n")
	pin(t, filepath.Join(engineSQLServer, "rights.sql"), sqlServerRights+"\n")
	pin(t, filepath.Join(engineMySQL, "rights.sql"), mysqlRights+"\n\n"+mysqlRoles+"\n")
	isTSQL(t, sqlServerRights, "SelectStatement")
}

// TestRightsOnPostgres: a reader is told from one who writes, who owns the table, and who rules the cluster.
func TestRightsOnPostgres(t *testing.T) {
	admin := testenv.Postgres(t)
	db, err := sql.Open("pgx", admin)
	if err != nil {
		t.Fatal(err)
	}
	role := "rr_rights_" + strings.ToLower(rand.Text())
	exec := func(s string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE ROLE " + role + " LOGIN PASSWORD 'x'")
	t.Cleanup(func() {
		_, err := db.Exec("DROP OWNED BY " + role)
		_, err2 := db.Exec("DROP ROLE " + role)
		if err := errors.Join(err, err2, db.Close()); err != nil {
			t.Errorf("drop the role: %v", err)
		}
	})
	exec(`CREATE TABLE "My Orders" (id int PRIMARY KEY, v int)`)
	exec(`GRANT SELECT ON "My Orders" TO ` + role)
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal("the URL does not parse")
	}
	u.User = url.UserPassword(role, "x")
	ask := func(text, table string) Rights {
		t.Helper()
		c, err := ParseConnection(text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := AskRights(t.Context(), c, table, 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const table = `public."My Orders"`
	if r := ask(u.String(), table); !r.Told || r.Login != role || len(r.Admin)+len(r.Writes) != 0 || !r.Autovacuum {
		t.Errorf("a reader: %+v", r)
	}
	exec(`GRANT UPDATE (v) ON "My Orders" TO ` + role)
	exec(`ALTER TABLE "My Orders" SET (autovacuum_enabled = false)`)
	if r := ask(u.String(), table); !slices.Equal(r.Writes, []string{"UPDATE"}) || r.Autovacuum || !strings.Contains(r.Vacuums, "autovacuum_enabled=false") {
		t.Errorf("one that may update a column of a table without autovacuum: %+v", r)
	}
	exec(`ALTER TABLE "My Orders" OWNER TO ` + role)
	if r := ask(u.String(), table); !slices.Contains(r.Admin, "the owner of the table") || !slices.Contains(r.Writes, "DELETE") {
		t.Errorf("the owner: %+v", r)
	}
	if r := ask(admin, table); !slices.Contains(r.Admin, "superuser") {
		t.Errorf("the superuser: %+v", r)
	}
	if r := ask(u.String(), "no_such_table"); !r.Told || len(r.Writes) != 0 {
		t.Errorf("no table: %+v", r)
	}
}

// TestRightsOnMySQL: the same for grants on a table, a schema, and everything; and roles are named.
func TestRightsOnMySQL(t *testing.T) {
	admin := testenv.MySQL(t)
	db, err := sql.Open("mysql", testenv.MySQLDSN(t, admin))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal("the URL does not parse")
	}
	schema, user := strings.Trim(u.Path, "/"), "rr_"+strings.ToLower(rand.Text()[:12])
	exec := func(s string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE USER " + user + "@'%' IDENTIFIED BY 'x'")
	t.Cleanup(func() {
		_, err := db.Exec("DROP USER " + user + "@'%'")
		_, err2 := db.Exec("DROP ROLE " + user + "_r")
		if err := errors.Join(err, err2, db.Close()); err != nil {
			t.Errorf("drop the user: %v", err)
		}
	})
	exec("CREATE ROLE " + user + "_r")
	exec("CREATE TABLE orders (id int PRIMARY KEY)")
	exec("GRANT SELECT ON " + schema + ".orders TO " + user + "@'%'")
	ask := func(as *url.Userinfo) Rights {
		t.Helper()
		own := *u
		if as != nil {
			own.User = as
		}
		c, err := ParseConnection(own.String())
		if err != nil {
			t.Fatal(err)
		}
		r, err := AskRights(t.Context(), c, "orders", 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	reader := url.UserPassword(user, "x")
	if r := ask(reader); !r.Told || !strings.HasPrefix(r.Login, user+"@") || len(r.Admin)+len(r.Writes)+len(r.Roles) != 0 {
		t.Errorf("a reader: %+v", r)
	}
	exec("GRANT INSERT ON " + schema + ".orders TO " + user + "@'%'")
	exec("GRANT DELETE ON " + schema + ".* TO " + user + "@'%'")
	exec("GRANT " + user + "_r TO " + user + "@'%'")
	if r := ask(reader); !slices.Contains(r.Writes, "INSERT") || !slices.Contains(r.Writes, "DELETE") || len(r.Admin) != 0 || len(r.Roles) != 1 {
		t.Errorf("one that may insert and delete: %+v", r)
	}
	if r := ask(nil); len(r.Admin) == 0 || !slices.Contains(r.Writes, "UPDATE") {
		t.Errorf("the administrator: %+v", r)
	}
}

// TestRightsOfAFile: SQLite has no logins.
func TestRightsOfAFile(t *testing.T) {
	c, err := ParseConnection("sqlite:absent.db")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := AskRights(t.Context(), c, "orders", time.Second); err != nil || r.Told {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSteps: the resolution of a cursor's times, by engine and type.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		engine, typ string
		kind        kind
		want        time.Duration
	}{
		{engineSQLServer, "datetime", kindDateTime, 3333333},
		{engineSQLServer, "smalldatetime", kindDateTime, time.Minute},
		{engineSQLServer, "datetime2(7)", kindDateTime, 100},
		{engineSQLServer, "datetime2(0)", kindDateTime, time.Second},
		{engineSQLServer, "datetimeoffset(3)", kindOffsetTime, time.Millisecond},
		{engineSQLServer, "date", kindDate, 24 * time.Hour},
		{enginePostgres, "timestamp with time zone", kindInstant, time.Microsecond},
		{enginePostgres, "timestamp(0) without time zone", kindDateTime, time.Second},
		{engineMySQL, "datetime", kindDateTime, time.Second},
		{engineMySQL, "timestamp(6)", kindInstant, time.Microsecond},
		{engineMySQL, "bigint(20)", kindInteger, 0},
		{engineSQLite, "DATETIME", kindDateTime, 0},
	} {
		if got := stepOf(c.engine, &column{typ: c.typ, value: value{kind: c.kind}}); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.engine, c.typ, got, c.want)
		}
	}
}
