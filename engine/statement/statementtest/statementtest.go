// Package statementtest is for tests of statements: a database that writes down what it is sent, and checks of SQL
// Server's language, for which no server runs here.
package statementtest

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/sqlc-dev/teesql/parser"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
)

// exact is the collation of SQL Server's statements, which the parser does not know everywhere.
const exact = " COLLATE Latin1_General_100_BIN2"

// Recorder is a driver that writes down what it is sent, and Answers every question with a row that fits.
type Recorder struct {
	mu    sync.Mutex
	Text  strings.Builder
	asked int      // for the claims
	Plain []string // but for SET LOCAL, which has no plan
	Args  [][]any  // of Plain
}

func (r *Recorder) note(text string) { r.Text.WriteString(text + "\n") }

func (r *Recorder) sent(text string, args []sqldriver.NamedValue) {
	args = slices.DeleteFunc(slices.Clone(args), isOut) // it is an answer
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(text + parameters(args))
	if strings.HasPrefix(text, "SET LOCAL ") {
		return
	}
	r.Plain = append(r.Plain, text)
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	r.Args = append(r.Args, values)
}

// Connect returns a connection that writes down what it is sent. All connections of a Recorder share its text.
func (r *Recorder) Connect(context.Context) (sqldriver.Conn, error) { return &Recording{r}, nil }

// Driver returns nil: only sql.DB's Driver would ask for it.
func (r *Recorder) Driver() sqldriver.Driver { return nil }

// Recording is a connection of a Recorder, and its transaction.
type Recording struct{ *Recorder }

// Prepare panics: statements are sent with their arguments.
func (r *Recording) Prepare(string) (sqldriver.Stmt, error) { panic("not used") }

// Close does nothing.
func (r *Recording) Close() error { return nil }

// Begin panics: database/sql calls BeginTx.
func (r *Recording) Begin() (sqldriver.Tx, error) { panic("not used") }

// BeginTx writes BEGIN down; the connection is its own transaction.
func (r *Recording) BeginTx(context.Context, sqldriver.TxOptions) (sqldriver.Tx, error) {
	r.note("BEGIN")
	return r, nil
}

// Commit writes COMMIT down.
func (r *Recording) Commit() error { r.note("COMMIT"); return nil }

// Rollback writes ROLLBACK down.
func (r *Recording) Rollback() error { r.note("ROLLBACK"); return nil }

// CheckNamedValue lets every argument through as it is, so that the test sees what an engine binds.
func (r *Recording) CheckNamedValue(v *sqldriver.NamedValue) error { return nil }

// ExecContext writes the statement down and says that it changed one row.
func (r *Recording) ExecContext(_ context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	r.sent(text, args)
	for _, a := range args {
		if isOut(a) {
			*a.Value.(sql.Out).Dest.(*int64) = 1 //nolint:forcetypeassert // the count of rows is the only one
		}
	}
	return sqldriver.RowsAffected(1), nil
}

// isOut reports whether an argument is where the server's answer goes.
func isOut(a sqldriver.NamedValue) bool {
	_, is := a.Value.(sql.Out)
	return is
}

// QueryContext writes the statement down and returns a row that fits it, or none.
func (r *Recording) QueryContext(_ context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	r.sent(text, args)
	return &Answers{Rows: r.answer(text)}, nil
}

// parameters are written as far as people need them to tell which is which.
func parameters(args []sqldriver.NamedValue) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString("\n--   " + plaintext.Start(fmt.Sprint(a.Value), 100))
	}
	return b.String()
}

func (r *Recorder) answer(text string) [][]sqldriver.Value {
	has := func(parts ...string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
	}
	row := func(values ...sqldriver.Value) [][]sqldriver.Value { return [][]sqldriver.Value{values} }
	switch {
	case has(" AND o.state IN ('PENDING', 'FAILED')"):
		return nil // every row took its mark
	case has("o.next_attempt_at, o.last_error"):
		return row("1", "O", "1", "Happened", "k", "PENDING", int64(0), time.Unix(0, 0), nil, nil, "1")
	case has("AS one"):
		return row(int64(1), int64(1), int64(1), int64(1), int64(1), time.Unix(0, 0), time.Unix(1, 0))
	case has("o.event_type", "IS NOT NULL THEN"):
		return row(int64(1), int64(5), "O", "1", "Happened", "k", time.Unix(0, 0), int64(0), nil, nil, int64(2),
			[]byte("{}"), nil, time.Unix(2, 0), time.Unix(1, 0), int64(0))
	case has("o.event_type"):
		return row(int64(1), int64(5), "O", "1", "Happened", "k", time.Unix(0, 0), int64(0), nil, nil, int64(2),
			[]byte("{}"), int64(0))
	case has("SELECT COALESCE((SELECT 1"):
		return row(int64(1), int64(0), nil, `{"partitions":64}`)
	case has("SELECT bucket FROM (SELECT o.bucket FROM"):
		return row(int64(600))
	case has("SELECT o.event, o.attempts FROM"):
		return row("7", int64(2))
	case has("SELECT o.event FROM"):
		return row("7")
	case has("SELECT DISTINCT"):
		return row("O", "1")
	case has("SELECT a.typ, a.id"):
		return row("O", "1", int64(9), nil)
	case has("SELECT unit, owner"): // of another number, and a member that is dead
		r.asked++
		counter := row("*", "", `{"partitions":16}`, int64(0))
		if r.asked == 1 {
			return append(counter, row("i:old", "old", nil, int64(0))...)
		}
		return counter
	case has("SELECT unit FROM"), has("SELECT c.unit FROM"), has("RETURNING unit"), has("OUTPUT inserted.unit"):
		return row("p0")
	case has("SELECT token"), has("RETURNING token"), has("OUTPUT inserted.token"), has("-MAX("),
		has("SELECT COUNT(*)"), has("SELECT o.seq FROM"),
		has("SELECT o.id FROM"):
		return row(int64(1))
	default:
		return nil
	}
}

// Answers are the rows of a result, the next one first.
type Answers struct{ Rows [][]sqldriver.Value }

// Columns returns as many empty names as the next row has values; one name where there is no row.
func (a *Answers) Columns() []string {
	if len(a.Rows) == 0 {
		return []string{"none"}
	}
	return make([]string, len(a.Rows[0]))
}

// Close does nothing.
func (a *Answers) Close() error { return nil }

// Next takes the first row away; io.EOF when there is none.
func (a *Answers) Next(into []sqldriver.Value) error {
	if len(a.Rows) == 0 {
		return io.EOF
	}
	copy(into, a.Rows[0])
	a.Rows = a.Rows[1:]
	return nil
}

// DeclaresOneLength checks that SQL Server's texts are not declared by their own length: the driver would do so for a
// string, and every other declaration is another plan on the server.
func DeclaresOneLength(t *testing.T, text string, args []any) {
	t.Helper()
	for i, arg := range args {
		switch arg.(type) {
		case string:
			t.Errorf("@p%d is declared by its length:\n%s", i+1, text)
		case mssql.NVarCharMax:
			// nvarchar(max) is no match for an index: only lists go as they are.
			if p := fmt.Sprintf("@p%d", i+1); strings.Contains(text, p+" ") || strings.Contains(text, p+",") {
				if !strings.Contains(text, "CAST("+p+" AS nvarchar(4000))") {
					t.Errorf("%s is compared as nvarchar(max):\n%s", p, text)
				}
			}
		}
	}
}

// Script collects named statements, and parses those of SQL Server.
type Script struct {
	T      *testing.T
	Engine string
	strings.Builder
}

// Add appends a statement under a name, with its arguments, and checks it if the engine is SQL Server.
func (g *Script) Add(name string, s *statement.Statement) {
	g.T.Helper()
	g.WriteString("-- " + name + "\n" + s.String() + "\n")
	for _, a := range s.Args() {
		_, _ = fmt.Fprintf(g, "--   %v\n", a)
	}
	g.Parse(s.String())
	if g.Engine == "sqlserver" {
		DeclaresOneLength(g.T, s.String(), s.Args())
	}
}

// Parse fails the test if the engine is SQL Server and text is not T-SQL.
func (g *Script) Parse(text string) {
	g.T.Helper()
	if g.Engine != "sqlserver" {
		return
	}
	// The parser does not know COLLATE everywhere where Microsoft's grammar has it.
	if _, err := parser.Parse(g.T.Context(), strings.NewReader(strings.ReplaceAll(text, exact, ""))); err != nil {
		g.T.Errorf("not T-SQL: %v\n%s", err, text)
	}
}
