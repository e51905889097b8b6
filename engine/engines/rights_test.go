package engines

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// postgresLogin is a role without rights, in a database of its own, which the administrator may give some.
type postgresLogin struct {
	t     *testing.T
	admin string
	own   url.URL
	role  string
	db    *sql.DB
}

func newPostgresLogin(t *testing.T) *postgresLogin {
	t.Helper()
	l := &postgresLogin{t: t, admin: testenv.Postgres(t), role: "rr_rights_" + strings.ToLower(rand.Text())}
	l.db = testenv.Open(t, "pgx", l.admin)
	l.newRole(l.role, "LOGIN PASSWORD 'x'")
	u, err := url.Parse(l.admin)
	if err != nil {
		t.Fatal("the URL does not parse")
	}
	u.User = url.UserPassword(l.role, "x")
	l.own = *u
	return l
}

func (l *postgresLogin) exec(s string) {
	l.t.Helper()
	if _, err := l.db.ExecContext(l.t.Context(), s); err != nil {
		l.t.Fatalf("%s: %v", s, err)
	}
}

func (l *postgresLogin) newRole(name, attributes string) {
	l.t.Helper()
	l.exec("CREATE ROLE " + name + " " + attributes)
	l.t.Cleanup(func() {
		_, err := l.db.Exec("REASSIGN OWNED BY " + name + " TO current_user")
		_, err2 := l.db.Exec("DROP OWNED BY " + name)
		_, err3 := l.db.Exec("DROP ROLE " + name)
		if err := errors.Join(err, err2, err3); err != nil {
			l.t.Errorf("drop the role: %v", err)
		}
	})
}

func (l *postgresLogin) ask(text, table string) engine.Rights {
	l.t.Helper()
	c, err := Parse(text)
	if err != nil {
		l.t.Fatal(err)
	}
	r, err := engine.AskRights(l.t.Context(), c, table, 30*time.Second)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// TestRightsOnPostgres: a reader is told from one who writes, who owns the table, and who rules the cluster.
func TestRightsOnPostgres(t *testing.T) {
	t.Parallel()
	l := newPostgresLogin(t)
	l.exec(`CREATE TABLE "My Orders" (id int PRIMARY KEY, v int)`)
	l.exec(`GRANT SELECT ON "My Orders" TO ` + l.role)
	own := l.own.String()
	const table = `public."My Orders"`
	if r := l.ask(own, table); !r.Told || r.Login != l.role || len(r.Admin)+len(r.Writes) != 0 || !r.Autovacuum {
		t.Errorf("a reader: %+v", r)
	}
	l.exec(`GRANT pg_read_all_stats, pg_read_all_data, pg_monitor TO ` + l.role)
	if r := l.ask(own, table); len(r.Admin)+len(r.Writes) != 0 {
		t.Errorf("a reader that sees open transactions: %+v", r)
	}
	l.exec("ALTER ROLE " + l.role + " SET synchronous_commit = local")
	if r := l.ask(own, table); r.Commits != "local" {
		t.Errorf("synchronous_commit of the session is %q", r.Commits)
	}
	l.exec(`GRANT UPDATE (v) ON "My Orders" TO ` + l.role)
	if r := l.ask(own, table); !slices.Equal(r.Writes, []string{"UPDATE"}) {
		t.Errorf("one that may update a column: %+v", r)
	}
	l.exec(`ALTER TABLE "My Orders" OWNER TO ` + l.role)
	if r := l.ask(own, table); !slices.Contains(r.Admin, "the owner of the table") ||
		!slices.Contains(r.Writes, "DELETE") {
		t.Errorf("the owner: %+v", r)
	}
	if r := l.ask(l.admin, table); !slices.Contains(r.Admin, "superuser") ||
		strings.Contains(strings.Join(r.Admin, " "), "member") {
		t.Errorf("the superuser: %+v", r)
	}
	if r := l.ask(own, "no_such_table"); !r.Told || len(r.Writes) != 0 {
		t.Errorf("no table: %+v", r)
	}
}

// TestRightsOnPostgresByRole: what a login may do after a SET ROLE, or through a predefined role, it may do.
func TestRightsOnPostgresByRole(t *testing.T) {
	t.Parallel()
	l := newPostgresLogin(t)
	group, other := l.role+"_group", l.role+"_other"
	l.newRole(group, "")
	l.newRole(other, "")
	l.exec("ALTER ROLE " + l.role + " NOINHERIT")
	l.exec("GRANT " + other + " TO " + l.role)
	l.exec("GRANT " + group + " TO " + other) // a member of a member
	l.exec("CREATE SCHEMA rr_own")
	l.exec("CREATE TABLE rr_own.orders (id int PRIMARY KEY, v int)")
	l.exec("GRANT USAGE ON SCHEMA rr_own TO PUBLIC")
	var database, user string
	if err := l.db.QueryRowContext(t.Context(),
		"SELECT quote_ident(current_database()), quote_ident(current_user)").Scan(&database, &user); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		give, take string // with group for the role that is given them
		admin      string // a part of it
		writes     []string
	}{
		{"SELECT 1", "SELECT 1", "", nil},
		{"ALTER ROLE group SUPERUSER", "ALTER ROLE group NOSUPERUSER", "a member of group",
			[]string{"INSERT", "UPDATE", "DELETE", "TRUNCATE"}},
		{"ALTER ROLE group CREATEROLE", "ALTER ROLE group NOCREATEROLE", "a member of group", nil},
		{"ALTER ROLE group CREATEDB", "ALTER ROLE group NOCREATEDB", "a member of group", nil},
		{"ALTER ROLE group REPLICATION", "ALTER ROLE group NOREPLICATION", "a member of group", nil},
		{"ALTER ROLE group BYPASSRLS", "ALTER ROLE group NOBYPASSRLS", "a member of group", nil},
		{"ALTER ROLE login REPLICATION", "ALTER ROLE login NOREPLICATION", "REPLICATION", nil},
		{"ALTER ROLE login BYPASSRLS", "ALTER ROLE login NOBYPASSRLS", "BYPASSRLS", nil},
		{"ALTER ROLE login CREATEROLE", "ALTER ROLE login NOCREATEROLE", "CREATEROLE", nil},
		{"GRANT pg_execute_server_program TO group", "REVOKE pg_execute_server_program FROM group",
			"a member of pg_execute_server_program", nil},
		{"GRANT pg_write_server_files TO group", "REVOKE pg_write_server_files FROM group",
			"a member of pg_write_server_files", nil},
		{"GRANT pg_read_server_files TO group", "REVOKE pg_read_server_files FROM group", "a member of pg_read_server_files",
			nil},
		{"GRANT pg_signal_backend TO group", "REVOKE pg_signal_backend FROM group", "a member of pg_signal_backend", nil},
		{"GRANT pg_write_all_data TO group", "REVOKE pg_write_all_data FROM group", "a member of pg_write_all_data",
			[]string{"INSERT", "UPDATE", "DELETE"}},
		{"GRANT UPDATE (v) ON rr_own.orders TO group", "REVOKE UPDATE (v) ON rr_own.orders FROM group", "",
			[]string{"UPDATE"}},
		{"GRANT TRUNCATE ON rr_own.orders TO PUBLIC", "REVOKE TRUNCATE ON rr_own.orders FROM PUBLIC", "",
			[]string{"TRUNCATE"}},
		{"ALTER TABLE rr_own.orders OWNER TO group", "ALTER TABLE rr_own.orders OWNER TO user", "the owner of the table",
			[]string{"INSERT", "UPDATE", "DELETE", "TRUNCATE"}},
		{"ALTER SCHEMA rr_own OWNER TO group", "ALTER SCHEMA rr_own OWNER TO user", "the owner of the table's schema", nil},
		{"ALTER DATABASE database OWNER TO group", "ALTER DATABASE database OWNER TO user", "the owner of the database", nil},
	} {
		names := strings.NewReplacer(" group", " "+group, " login", " "+l.role, " user", " "+user, " database", " "+database)
		l.exec(names.Replace(c.give))
		r := l.ask(l.own.String(), "rr_own.orders")
		// What is given in other databases too goes at once.
		l.exec(names.Replace(c.take))
		want := c.admin
		if want == "a member of group" {
			want = "a member of " + group
		}
		has := slices.Contains(r.Admin, want) || want == "CREATEROLE" && slices.Contains(r.Admin, "CREATEDB or CREATEROLE")
		if want == "" && len(r.Admin) > 0 || want != "" && (!has || len(r.Admin) > 1) || !slices.Equal(r.Writes, c.writes) {
			t.Errorf("%s: %q may %q, want %q and %q", c.give, r.Admin, r.Writes, want, c.writes)
		}
	}
}

// TestRightsAutovacuum: PostgreSQL keeps what a table says of autovacuum as it was written.
func TestRightsAutovacuum(t *testing.T) {
	t.Parallel()
	l := newPostgresLogin(t)
	l.exec("CREATE TABLE orders (id int PRIMARY KEY)")
	for text, want := range map[string]bool{
		"true": true, "TRUE": true, "t": true, "yes": true, "y": true, "on": true, "1": true,
		"false": false, "False": false, "f": false, "fal": false, "no": false, "n": false, "off": false, "of": false,
		"0": false,
	} {
		l.exec("ALTER TABLE orders SET (autovacuum_enabled = '" + text + "', autovacuum_vacuum_scale_factor = '2e-2')")
		r := l.ask(l.own.String(), "orders")
		if factor, ok := r.VacuumNumber("scale_factor"); r.Autovacuum != want || !ok || factor != 0.02 {
			t.Errorf("autovacuum_enabled = %s: %v, a factor of %g; %s", text, r.Autovacuum, factor, r.Vacuums)
		}
	}
	l.exec("ALTER TABLE orders RESET (autovacuum_enabled, autovacuum_vacuum_scale_factor)")
	r := l.ask(l.own.String(), "orders")
	if _, ok := r.VacuumNumber("scale_factor"); !r.Autovacuum || ok {
		t.Errorf("a table that sets nothing: %+v", r)
	}
}

// TestRightsOfAFile: SQLite has no logins.
func TestRightsOfAFile(t *testing.T) {
	t.Parallel()
	c, err := Parse("sqlite:absent.db")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := engine.AskRights(t.Context(), c, "orders", time.Second); err != nil || r.Told {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRightsOnMySQL: the same for grants on a table, a schema, and everything; and roles are named.
func TestRightsOnMySQL(t *testing.T) {
	t.Parallel()
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
		testenv.ExecOn(t, db, s)
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
	exec("CREATE TABLE orders (id int PRIMARY KEY, v int)")
	exec("GRANT SELECT ON " + schema + ".orders TO " + user + "@'%'")
	ask := func(as *url.Userinfo) engine.Rights {
		t.Helper()
		own := *u
		if as != nil {
			own.User = as
		}
		c, err := Parse(own.String())
		if err != nil {
			t.Fatal(err)
		}
		r, err := engine.AskRights(t.Context(), c, "orders", 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	reader := url.UserPassword(user, "x")
	if r := ask(reader); !r.Told || !strings.HasPrefix(r.Login, user+"@") || len(r.Admin)+len(r.Writes)+len(r.Roles) != 0 {
		t.Errorf("a reader: %+v", r)
	}
	for _, c := range []struct {
		right, on     string
		admin, writes []string
	}{
		{"UPDATE (v)", schema + ".orders", nil, []string{"UPDATE"}},
		{"SELECT (id)", schema + ".orders", nil, nil},
		{"PROCESS", "*.*", nil, nil},
		{"SHUTDOWN", "*.*", []string{"SHUTDOWN on *.*"}, nil},
		{"RELOAD", "*.*", []string{"RELOAD on *.*"}, nil},
		{"SUPER", "*.*", []string{"SUPER on *.*"}, nil},
		{"FILE", "*.*", []string{"FILE on *.*"}, nil},
		{"CREATE USER", "*.*", []string{"CREATE USER on *.*"}, nil},
		{"UPDATE", "*.*", []string{"UPDATE on *.*"}, []string{"UPDATE"}},
		{"INSERT", "mysql.*", []string{"INSERT on mysql"}, nil},
		{"DROP", schema + ".orders", []string{"DROP on " + schema}, []string{"DROP"}},
	} {
		exec("GRANT " + c.right + " ON " + c.on + " TO " + user + "@'%'")
		if r := ask(reader); !slices.Equal(r.Admin, c.admin) || !slices.Equal(r.Writes, c.writes) {
			t.Errorf("%s on %s: %q may %q", c.right, c.on, r.Admin, r.Writes)
		}
		exec("REVOKE " + c.right + " ON " + c.on + " FROM " + user + "@'%'")
	}
	exec("GRANT SELECT ON " + schema + ".orders TO " + user + "@'%' WITH GRANT OPTION")
	if r := ask(reader); !slices.Equal(r.Admin, []string{"GRANT OPTION on " + schema}) || len(r.Writes) != 0 {
		t.Errorf("one that may grant: %+v", r)
	}
	exec("REVOKE GRANT OPTION ON " + schema + ".orders FROM " + user + "@'%'")
	if testenv.IsMariaDB(t, db) { // MySQL grants nothing to everybody
		exec("GRANT INSERT ON " + schema + ".orders TO PUBLIC")
		public := ask(reader)
		exec("REVOKE INSERT ON " + schema + ".orders FROM PUBLIC")
		if !slices.Equal(public.Roles, []string{"PUBLIC"}) {
			t.Errorf("one to whom everybody's rights count: %+v", public)
		}
	}
	exec("GRANT INSERT ON " + schema + ".orders TO " + user + "@'%'")
	exec("GRANT DELETE ON " + schema + ".* TO " + user + "@'%'")
	exec("GRANT " + user + "_r TO " + user + "@'%'")
	if r := ask(reader); !slices.Contains(r.Writes, "INSERT") || !slices.Contains(r.Writes, "DELETE") ||
		len(r.Admin) != 0 || len(r.Roles) != 1 {
		t.Errorf("one that may insert and delete: %+v", r)
	}
	if r := ask(nil); len(r.Admin) == 0 || !slices.Contains(r.Writes, "UPDATE") {
		t.Errorf("the administrator: %+v", r)
	}
}
