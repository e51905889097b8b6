package source

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// told is a SQL Server that gives a prepared answer to each question: no server runs here.
type told map[string][][]driver.Value

func (a told) Connect(context.Context) (driver.Conn, error) { return a, nil }
func (a told) Driver() driver.Driver                        { return nil }
func (a told) Prepare(string) (driver.Stmt, error)          { panic("not used") }
func (a told) Begin() (driver.Tx, error)                    { panic("not used") }
func (a told) Close() error                                 { return nil }

func (a told) QueryContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Rows, error) {
	rows, known := a[text]
	if !known {
		return nil, errors.New("not to be asked: " + text)
	}
	return &toldRows{rows}, nil
}

type toldRows struct{ rows [][]driver.Value }

func (r *toldRows) Columns() []string {
	if len(r.rows) == 0 {
		return []string{"none"}
	}
	return make([]string, len(r.rows[0]))
}
func (r *toldRows) Close() error { return nil }
func (r *toldRows) Next(into []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(into, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}

// TestRightsOnSQLServer: what becomes of the server's answers.
func TestRightsOnSQLServer(t *testing.T) {
	const azure, boxed = int64(editionAzureSQL), int64(3)
	// flags: db_owner, db_securityadmin, db_ddladmin, db_accessadmin, CONTROL, ALTER ANY ROLE, ALTER ANY USER, row versions
	about := func(edition int64, flags ...bool) []driver.Value {
		row := []driver.Value{"reader", edition}
		for i := range 8 {
			row = append(row, i < len(flags) && flags[i])
		}
		return row
	}
	is := func(n int) []bool { return append(make([]bool, n), true) }
	for name, c := range map[string]struct {
		about  []driver.Value
		server []driver.Value // sysadmin, securityadmin, CONTROL SERVER, ALTER ANY LOGIN
		table  []string
		admin  []string
		writes []string
		fails  string
	}{
		"a reader on Azure":     {about: about(azure), table: []string{"SELECT"}},
		"a reader":              {about: about(boxed), server: []driver.Value{false, false, false, false}, table: []string{"REFERENCES", "SELECT"}},
		"a column":              {about: about(azure), table: []string{"SELECT", "UPDATE"}, writes: []string{"UPDATE"}},
		"the table's owner":     {about: about(azure), table: []string{"ALTER", "CONTROL", "DELETE", "SELECT"}, writes: []string{"ALTER", "CONTROL", "DELETE"}},
		"one that may take it":  {about: about(azure), table: []string{"SELECT", "TAKE OWNERSHIP"}, writes: []string{"TAKE OWNERSHIP"}},
		"db_owner":              {about: about(azure, true, false, false, false, true, true, true), table: []string{"SELECT"}, admin: []string{"db_owner"}},
		"db_securityadmin":      {about: about(azure, is(1)...), table: []string{"SELECT"}, admin: []string{"db_securityadmin"}},
		"db_ddladmin":           {about: about(azure, is(2)...), table: []string{"SELECT"}, admin: []string{"db_ddladmin"}},
		"db_accessadmin":        {about: about(azure, is(3)...), table: []string{"SELECT"}, admin: []string{"db_accessadmin"}},
		"CONTROL":               {about: about(azure, false, false, false, false, true, true, true), table: []string{"SELECT"}, admin: []string{"CONTROL on the database"}},
		"ALTER ANY ROLE":        {about: about(azure, is(5)...), table: []string{"SELECT"}, admin: []string{"ALTER ANY ROLE"}},
		"ALTER ANY USER":        {about: about(azure, is(6)...), table: []string{"SELECT"}, admin: []string{"ALTER ANY USER"}},
		"sysadmin":              {about: about(boxed), server: []driver.Value{true, false, true, true}, table: []string{"SELECT"}, admin: []string{"sysadmin"}},
		"securityadmin":         {about: about(boxed), server: []driver.Value{false, true, false, true}, table: []string{"SELECT"}, admin: []string{"securityadmin"}},
		"CONTROL SERVER":        {about: about(boxed), server: []driver.Value{false, false, true, true}, table: []string{"SELECT"}, admin: []string{"CONTROL SERVER"}},
		"ALTER ANY LOGIN":       {about: about(boxed), server: []driver.Value{false, false, false, true}, table: []string{"SELECT"}, admin: []string{"ALTER ANY LOGIN"}},
		"a table that is not":   {about: about(azure), fails: "no permission on [dbo].[orders]"},
		"a database not shown":  {fails: "sys.databases does not show"},
		"CONTROL is not told":   {about: slices.Replace(about(azure), 6, 7, driver.Value(nil)), table: []string{"SELECT"}, fails: "CONTROL"},
		"a server that is mute": {about: about(boxed), table: []string{"SELECT"}, fails: "not to be asked"},
	} {
		answers := told{sqlServerRights: nil, sqlServerTableRights: nil}
		if c.about != nil {
			answers[sqlServerRights] = [][]driver.Value{c.about}
		}
		if c.server != nil {
			answers[sqlServerServerRights] = [][]driver.Value{c.server}
		}
		for _, permission := range c.table {
			answers[sqlServerTableRights] = append(answers[sqlServerTableRights], []driver.Value{permission})
		}
		db := sql.OpenDB(answers)
		r, err := sqlServerRightsOf(t.Context(), db, "[dbo].[orders]")
		if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", name, err, c.fails)
		}
		if err == nil && (!slices.Equal(r.Admin, c.admin) || !slices.Equal(r.Writes, c.writes)) {
			t.Errorf("%s: %q may %q, want %q and %q", name, r.Admin, r.Writes, c.admin, c.writes)
		}
		delete(answers, sqlServerTableRights)
		if _, err := sqlServerRightsOf(t.Context(), db, ""); c.fails == "" && err != nil {
			t.Errorf("%s, for a query: %v", name, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
