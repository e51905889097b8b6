package sqlserver

import (
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
)

// sqlServerQuestions are all that a server is asked of the login.
var sqlServerQuestions = []string{
	rightsSQL, rolesSQL, databaseRightsSQL, serverRolesSQL, serverRightsSQL, tableRightsSQL,
}

// sqlServerLogin is what a server says of a login.
type sqlServerLogin struct {
	edition                 int64
	serverRoles, server     []string
	databaseRoles, database []string
	table                   []string
	hidden                  bool // the database is not in sys.databases
}

// everybody is what the server grants to whoever may connect, as the role public has it.
var (
	everybodyOnServer   = []string{"CONNECT SQL", "VIEW ANY DATABASE"}
	everybodyOnDatabase = []string{"CONNECT", "VIEW ANY COLUMN ENCRYPTION KEY DEFINITION",
		"VIEW ANY COLUMN MASTER KEY DEFINITION"}
)

const boxed = int64(3)

func (l *sqlServerLogin) answers() tsqltest.Told {
	names := func(list []string) (rows [][]driver.Value) {
		for _, name := range list {
			rows = append(rows, []driver.Value{name})
		}
		return rows
	}
	a := tsqltest.Told{rightsSQL: nil, rolesSQL: names(l.databaseRoles), databaseRightsSQL: names(l.database),
		tableRightsSQL: names(l.table)}
	if !l.hidden {
		a[rightsSQL] = [][]driver.Value{{"reader", l.edition, true}}
	}
	if l.edition != editionAzureSQL { // which is not to be asked for what it does not have
		a[serverRolesSQL], a[serverRightsSQL] = names(l.serverRoles), names(l.server)
	}
	return a
}

// ask asks of the login's rights on a table, and sees that those on none are the same but for the table's.
func (l *sqlServerLogin) ask(t *testing.T) (engine.Rights, error) {
	t.Helper()
	db := sql.OpenDB(l.answers())
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := Dialect{}.Rights(t.Context(), db, []string{"dbo", "orders"})
	if err != nil {
		return r, err
	}
	without := l.answers()
	delete(without, tableRightsSQL)
	query := sql.OpenDB(without)
	if q, err := (Dialect{}).Rights(t.Context(), query, nil); err != nil || !slices.Equal(q.Admin, r.Admin) ||
		len(q.Writes) > 0 {
		t.Errorf("for a query: %+v, %v", q, err)
	}
	return r, query.Close()
}

// TestRightsOnSQLServer: what becomes of the server's answers.
func TestRightsOnSQLServer(t *testing.T) {
	azure := func(l sqlServerLogin) sqlServerLogin {
		l.edition = editionAzureSQL
		return l
	}
	with := func(list []string, more ...string) []string { return append(slices.Clone(list), more...) }
	all := []string{"ALTER", "CONNECT", "CONTROL", "DELETE", "INSERT", "SELECT", "SHUTDOWN", "UPDATE"}
	for name, c := range map[string]struct {
		is     sqlServerLogin
		admin  []string
		writes []string
		fails  string
	}{
		"a reader on Azure":    {is: azure(sqlServerLogin{})},
		"a reader":             {is: sqlServerLogin{table: []string{"REFERENCES", "SELECT"}}},
		"one of db_datareader": {is: sqlServerLogin{database: with(everybodyOnDatabase, "SELECT")}},
		"one without a login":  {is: sqlServerLogin{server: []string{}}},
		"a column": {is: azure(sqlServerLogin{table: []string{"SELECT", "UPDATE"}}),
			writes: []string{"UPDATE"}},
		"the table's owner": {is: azure(sqlServerLogin{table: []string{"ALTER", "CONTROL", "DELETE", "SELECT"}}),
			writes: []string{"ALTER", "CONTROL", "DELETE"}},
		"one that may take it": {is: azure(sqlServerLogin{table: []string{"SELECT", "TAKE OWNERSHIP"}}),
			writes: []string{"TAKE OWNERSHIP"}},
		"db_owner": {is: azure(sqlServerLogin{databaseRoles: []string{"db_owner"}, database: all}),
			admin: []string{"db_owner"}},
		"db_securityadmin": {is: azure(sqlServerLogin{databaseRoles: []string{"db_securityadmin"},
			database: with(everybodyOnDatabase,
				"ALTER ANY ROLE")}), admin: []string{"db_securityadmin", "ALTER ANY ROLE on the database"}},
		"a fixed role alone": {is: azure(sqlServerLogin{databaseRoles: []string{"db_ddladmin"}}),
			admin: []string{"db_ddladmin"}},
		"CONTROL": {is: azure(sqlServerLogin{database: all}), admin: []string{"CONTROL on the database"}},
		"ALTER ANY ROLE": {is: azure(sqlServerLogin{database: with(everybodyOnDatabase, "ALTER ANY ROLE")}),
			admin: []string{"ALTER ANY ROLE on the database"}},
		"ALTER ANY USER": {is: azure(sqlServerLogin{database: with(everybodyOnDatabase, "ALTER ANY USER")}),
			admin: []string{"ALTER ANY USER on the database"}},
		"one of db_datawriter": {is: azure(sqlServerLogin{database: with(everybodyOnDatabase, "INSERT")}),
			admin: []string{"INSERT on the database"}},
		"sysadmin": {is: sqlServerLogin{serverRoles: []string{"sysadmin"},
			server: with(all, "CONTROL SERVER")}, admin: []string{"sysadmin"}},
		"securityadmin": {is: sqlServerLogin{serverRoles: []string{"securityadmin"},
			server: with(everybodyOnServer, "ALTER ANY LOGIN")}, admin: []string{"securityadmin",
			"ALTER ANY LOGIN on the server"}},
		"CONTROL SERVER": {is: sqlServerLogin{server: with(all, "CONTROL SERVER")},
			admin: []string{"CONTROL SERVER"}},
		"ALTER ANY LOGIN": {is: sqlServerLogin{server: with(everybodyOnServer, "ALTER ANY LOGIN")},
			admin: []string{"ALTER ANY LOGIN on the server"}},
		"dbcreator": {is: sqlServerLogin{serverRoles: []string{"dbcreator"},
			server: with(everybodyOnServer, "CREATE ANY DATABASE")}, admin: []string{"dbcreator",
			"CREATE ANY DATABASE on the server"}},
		"serveradmin": {is: sqlServerLogin{serverRoles: []string{"serveradmin"},
			server: with(everybodyOnServer, "ALTER SETTINGS", "SHUTDOWN")}, admin: []string{"serveradmin",
			"ALTER SETTINGS on the server", "SHUTDOWN on the server"}},
		"a role of one's own": {is: sqlServerLogin{server: with(everybodyOnServer, "SHUTDOWN")},
			admin: []string{"SHUTDOWN on the server"}},
		"IMPERSONATE ANY LOGIN": {is: sqlServerLogin{server: with(everybodyOnServer, "IMPERSONATE ANY LOGIN")},
			admin: []string{"IMPERSONATE ANY LOGIN on the server"}},
		"one that is yet to be": {is: sqlServerLogin{server: with(everybodyOnServer, "RULE THE SERVER")},
			admin: []string{"RULE THE SERVER on the server"}},
		"hashes of passwords": {is: sqlServerLogin{server: with(everybodyOnServer,
			"VIEW ANY CRYPTOGRAPHICALLY SECURED DEFINITION")},
			admin: []string{"VIEW ANY CRYPTOGRAPHICALLY SECURED DEFINITION on the server"}},
		"a table that is not":  {is: azure(sqlServerLogin{table: []string{}}), fails: "no permission on [dbo].[orders]"},
		"a database not shown": {is: sqlServerLogin{hidden: true}, fails: "sys.databases does not show"},
		"a database that is mute": {is: azure(sqlServerLogin{database: []string{}}),
			fails: "what the login may do with the database"},
	} {
		l := c.is
		if l.edition == 0 {
			l.edition = boxed
		}
		// What is not said is as a login has it that may read the table.
		for _, d := range []struct {
			to *[]string
			is []string
		}{{&l.server, everybodyOnServer}, {&l.database, everybodyOnDatabase}, {&l.table, []string{"SELECT"}}} {
			if *d.to == nil {
				*d.to = d.is
			}
		}
		r, err := l.ask(t)
		if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", name, err, c.fails)
		}
		if err == nil && (!slices.Equal(r.Admin, c.admin) || !slices.Equal(r.Writes, c.writes) || r.Login != "reader" ||
			!r.RowVersions) {
			t.Errorf("%s: %+v, want %q and %q", name, r, c.admin, c.writes)
		}
	}
}

// TestEveryQuestionToSQLServerIsNeeded: a server that does not answer one of them is not taken for one that says no.
func TestEveryQuestionToSQLServerIsNeeded(t *testing.T) {
	reader := sqlServerLogin{edition: boxed, server: everybodyOnServer, database: everybodyOnDatabase,
		table: []string{"SELECT"}}
	for _, question := range sqlServerQuestions {
		a := reader.answers()
		delete(a, question)
		db := sql.OpenDB(a)
		if r, err := (Dialect{}).Rights(t.Context(), db, []string{"dbo", "orders"}); err == nil ||
			!strings.Contains(err.Error(), "not to be asked") {
			t.Errorf("without an answer to %s: %+v, %v", question, r, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

var grant = regexp.MustCompile(`(?m)^GRANT ([A-Z ,]+?)( ON OBJECT::\S+( \([a-z_, ]+\))?)? TO `)

// TestGrantsOfDeployMakeNoAdministrator: a login that has each right of deploy/sql, and no other but what everybody
// has, is none.
func TestGrantsOfDeployMakeNoAdministrator(t *testing.T) {
	paths, err := filepath.Glob("../../deploy/sql/grant-*.sql")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%q, %v", paths, err)
	}
	for _, path := range paths {
		text := testfile.Read(t, path)
		l := sqlServerLogin{edition: boxed, server: everybodyOnServer, database: everybodyOnDatabase,
			table: []string{"SELECT"}}
		grants := grant.FindAllStringSubmatch(string(text), -1)
		if len(grants) != strings.Count("\n"+string(text), "\nGRANT ") || len(grants) == 0 {
			t.Errorf("%s: %d grants were understood", path, len(grants))
		}
		for _, m := range grants {
			rights := strings.Split(m[1], ", ")
			switch {
			case m[2] != "":
				l.table = append(slices.Clone(l.table), rights...)
			case strings.Contains(m[1], "SERVER"): // which reaches into each database
				l.server = append(slices.Clone(l.server),
					append(rights, "VIEW SERVER PERFORMANCE STATE", "VIEW SERVER SECURITY STATE")...)
				l.database = append(slices.Clone(l.database), "VIEW DATABASE STATE", "VIEW DATABASE PERFORMANCE STATE",
					"VIEW DATABASE SECURITY STATE")
			default:
				l.database = append(slices.Clone(l.database),
					append(rights, "VIEW DATABASE PERFORMANCE STATE", "VIEW DATABASE SECURITY STATE")...)
			}
		}
		r, err := l.ask(t)
		if err != nil || len(r.Admin) > 0 {
			t.Errorf("%s: %q, %v", path, r.Admin, err)
		}
		if outbox := strings.Contains(path, "outbox"); (len(r.Writes) > 0) != outbox {
			t.Errorf("%s: may %q", path, r.Writes)
		}
	}
}

// TestGoldenRights pins what a server is asked of the login.
func TestGoldenRights(t *testing.T) {
	golden.Pin(t, "rights.sql", strings.Join(sqlServerQuestions, "\n\n")+"\n")
	for _, text := range sqlServerQuestions {
		tsqltest.Is(t, text, "SelectStatement")
	}
}

// TestGoldenDatabaseByName: DB_ID() need not be the number that sys.databases has, on Azure SQL Database.
func TestGoldenDatabaseByName(t *testing.T) {
	for _, text := range []string{rightsSQL, createdSQL, groupSQL, brokerSQL} {
		if !strings.Contains(text, "FROM sys.databases AS d") || !strings.HasSuffix(text, "WHERE d.name = DB_NAME()") ||
			strings.Contains(text, "DB_ID") {
			t.Errorf("the database is not named:\n%s", text)
		}
	}
}

// TestPeriod: the times of a temporal table's period are set by every update, whatever they are called; of columns that
// are computed change tracking lists no change.
func TestPeriod(t *testing.T) {
	row := func(name string, generated, computed bool) []driver.Value {
		return []driver.Value{name, "datetime2", int64(8), int64(27), int64(7), "", false, false, false, false, generated,
			generated || computed, computed}
	}
	db := sql.OpenDB(tsqltest.Told{"columns": {row("valid_from", true, false), row("placed", false, true)}})
	defer db.Close() //nolint:errcheck // a fake
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // a fake
	of := engine.Table{Name: "o", PrimaryKey: []string{"placed"}}
	if err := (Dialect{}).columns(t.Context(), conn, "columns", "o", &of); err != nil {
		t.Fatal(err)
	}
	if !of.Columns[0].Moving || of.Columns[1].Moving || of.Columns[0].Unwatched || !of.Columns[1].Unwatched {
		t.Errorf("%+v", of.Columns)
	}
}
