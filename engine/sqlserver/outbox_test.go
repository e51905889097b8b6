package sqlserver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/sqlc-dev/teesql/parser"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/statement/statementtest"
	"github.com/rowrelay/rowrelay/internal/golden"
)

// options is a SQL Server that answers the question for its database's options.
type options struct {
	statementtest.Recording
	rows  [][]sqldriver.Value
	err   error
	lists bool // OPENJSON is there
}

func (o *options) Connect(context.Context) (sqldriver.Conn, error) { return o, nil }

func (o *options) QueryContext(_ context.Context, text string, _ []sqldriver.NamedValue) (sqldriver.Rows, error) {
	if text == listsSQL {
		if o.lists {
			return &statementtest.Answers{Rows: [][]sqldriver.Value{{int64(0)}}}, nil
		}
		return nil, mssql.Error{Number: 208, Message: "Invalid object name 'OPENJSON'."}
	}
	if text != optionsSQL {
		return nil, errors.New("not to be asked: " + text)
	}
	return &statementtest.Answers{Rows: o.rows}, o.err
}

// TestVersioned: only a database that says that it reads row versions is not refused.
func TestVersioned(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		rows  [][]sqldriver.Value
		err   error
		lists bool
		is    error
		says  string
	}{
		"on":       {rows: [][]sqldriver.Value{{true, int64(130)}}},
		"no level": {rows: [][]sqldriver.Value{{true, nil}}},
		"old level": {rows: [][]sqldriver.Value{{true, int64(120)}}, is: change.ErrConfig,
			says: "SET COMPATIBILITY_LEVEL = 130"},
		"old level that knows lists": {rows: [][]sqldriver.Value{{true, int64(120)}}, lists: true},
		"off": {rows: [][]sqldriver.Value{{false, int64(160)}}, is: change.ErrConfig,
			says: "run ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON"},
		"not told":  {rows: [][]sqldriver.Value{{nil, nil}}, is: change.ErrConfig, says: "does not say"},
		"not shown": {is: change.ErrConfig, says: "does not say"},
		"broken":    {err: broken, is: broken, says: "read the database's options"},
	} {
		db := sql.OpenDB(&options{rows: c.rows, err: c.err, lists: c.lists})
		err := Ready(t.Context(), db)
		if !errors.Is(err, c.is) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGoldenVersioned: DB_ID() need not be the number that sys.databases has, on Azure SQL Database.
func TestGoldenVersioned(t *testing.T) {
	if _, err := parser.Parse(t.Context(), strings.NewReader(optionsSQL)); err != nil {
		t.Errorf("not T-SQL: %v", err)
	}
	if _, err := parser.Parse(t.Context(), strings.NewReader(listsSQL)); err != nil {
		t.Errorf("not T-SQL: %v", err)
	}
	golden.Pin(t, "options.sql", optionsSQL+"\n"+listsSQL+"\n")
}
