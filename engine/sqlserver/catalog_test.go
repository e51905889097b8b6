package sqlserver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement/statementtest"
)

// secured is a SQL Server that answers the question for security policies.
type secured struct {
	statementtest.Recording
	policies [][]sqldriver.Value
	err      error
}

func (s *secured) Connect(context.Context) (sqldriver.Conn, error) { return s, nil }

func (s *secured) QueryContext(context.Context, string, []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return &statementtest.Answers{Rows: s.policies}, s.err
}

// TestSecurityPolicies: that rows may be hidden is a warning, and a server that has no policies is no fault.
func TestSecurityPolicies(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		server secured
		says   string
		is     error
	}{
		"none":          {},
		"one":           {server: secured{policies: [][]sqldriver.Value{{"tenants"}}}, says: `policies ["tenants"] may hide rows of dbo.o`},
		"earlier":       {server: secured{err: mssql.Error{Number: 208, Message: "Invalid object name"}}},
		"out of memory": {server: secured{err: broken}, is: broken},
	} {
		t.Run(name, func(t *testing.T) {
			db := sql.OpenDB(&c.server)
			defer db.Close() //nolint:errcheck // a fake
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			table := engine.Table{Name: "dbo.o"}
			if err := policies(t.Context(), conn, policiesSQL, "[dbo].[o]", &table); !errors.Is(err, c.is) {
				t.Errorf("%v, want %v", err, c.is)
			}
			if got := strings.Join(table.Warnings, "\n"); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("warned %q, want %q", got, c.says)
			}
		})
	}
}
