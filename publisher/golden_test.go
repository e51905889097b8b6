package publisher

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/sqlc-dev/teesql/parser"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// recorder is a driver that writes down what it is sent, and answers every question with a row that fits.
type recorder struct {
	mu    sync.Mutex
	text  strings.Builder
	unit  string
	plain []string
	args  [][]any // of plain
}

func (r *recorder) note(text string) { r.text.WriteString(text + "\n") }

func (r *recorder) sent(text string, args []sqldriver.NamedValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(text + parameters(args))
	r.plain = append(r.plain, text)
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	r.args = append(r.args, values)
}

func (r *recorder) Connect(context.Context) (sqldriver.Conn, error) { return &recording{r}, nil }
func (r *recorder) Driver() sqldriver.Driver                        { return nil }

type recording struct{ *recorder }

func (r *recording) Prepare(string) (sqldriver.Stmt, error) { panic("not used") }
func (r *recording) Close() error                           { return nil }
func (r *recording) Begin() (sqldriver.Tx, error)           { panic("not used") }
func (r *recording) BeginTx(context.Context, sqldriver.TxOptions) (sqldriver.Tx, error) {
	r.note("BEGIN")
	return r, nil
}
func (r *recording) Commit() error                                 { r.note("COMMIT"); return nil }
func (r *recording) Rollback() error                               { r.note("ROLLBACK"); return nil }
func (r *recording) CheckNamedValue(v *sqldriver.NamedValue) error { return nil }

func (r *recording) ExecContext(_ context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	r.sent(text, args)
	return sqldriver.RowsAffected(1), nil
}

func (r *recording) QueryContext(_ context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	r.sent(text, args)
	return &answers{rows: r.answer(text, args)}, nil
}

// parameters are written as far as people need them to tell which is which.
func parameters(args []sqldriver.NamedValue) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString("\n--   " + plaintext.Start(fmt.Sprint(a.Value), 100))
	}
	return b.String()
}

func (r *recorder) answer(text string, args []sqldriver.NamedValue) [][]sqldriver.Value {
	has := func(parts ...string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
	}
	row := func(values ...sqldriver.Value) [][]sqldriver.Value { return [][]sqldriver.Value{values} }
	ofMember := slices.ContainsFunc(args, func(a sqldriver.NamedValue) bool { return strings.Contains(fmt.Sprint(a.Value), "i:me") })
	switch {
	case has("SELECT unit FROM taken"), has("(c.token = "):
		return append(row(r.unit), row("i:me")...)
	case has("SELECT c.unit FROM") && ofMember:
		return row("i:me")
	case has("AS one"):
		return row(int64(1), int64(1), int64(1), int64(1), int64(1000))
	case has("o.event_type"):
		return row(int64(1), int64(5), "O", "1", "Happened", "k", time.Unix(0, 0), int64(0), nil, nil, int64(2), []byte("{}"), int64(0))
	case has("SELECT COALESCE((SELECT 1"):
		return row(int64(1), int64(0), nil, `{"strategy":"skip_locked","partitions":64}`)
	case has("o.bucket, o.aggregate_type"):
		return row(int64(1), int64(5), "O", "1")
	case has("SELECT DISTINCT"):
		return row("O", "1")
	case has("SELECT a.typ, a.id"):
		return row("O", "1", int64(9), nil)
	case has("SELECT info FROM"):
		return row(`{"strategy":"skip_locked","partitions":64}`)
	case has("unit NOT IN ('*', 'pause')"):
		return row(int64(0))
	case has("SELECT unit, owner"):
		return row("i:me", "me")
	case has("AND token = "):
		return row(r.unit)
	case has("SELECT unit FROM"), has("SELECT c.unit FROM"):
		return row("p0")
	case has("RETURNING unit"), has("OUTPUT inserted.unit"):
		return row(r.unit)
	case has("SELECT token"), has("RETURNING token"), has("OUTPUT inserted.token"), has("-MAX("), has("SELECT r.part"), has("SELECT COUNT(*)"), has("SELECT o.seq FROM"),
		has("SELECT o.id FROM"):
		return row(int64(1))
	default:
		return nil
	}
}

type answers struct{ rows [][]sqldriver.Value }

func (a *answers) Columns() []string {
	if len(a.rows) == 0 {
		return []string{"none"}
	}
	return make([]string, len(a.rows[0]))
}
func (a *answers) Close() error { return nil }
func (a *answers) Next(into []sqldriver.Value) error {
	if len(a.rows) == 0 {
		return io.EOF
	}
	copy(into, a.rows[0])
	a.rows = a.rows[1:]
	return nil
}

// recorded is a table that sends its statements to a recorder.
func recorded(t *testing.T, engine string, change ...func(*Config)) (*instance, *recorder) {
	t.Helper()
	e := textsOf[engine]
	return recordedAs(t, engine, statement.NewName(e.syntax, "shop", "outbox"), statement.NewName(e.syntax, "shop", "rowrelay_claims"), "shop.outbox", change...)
}

// recordedAs is recorded for tables of other names.
func recordedAs(t *testing.T, engine string, outbox, beside statement.Name, qualified string, change ...func(*Config)) (*instance, *recorder) {
	t.Helper()
	e := textsOf[engine]
	cfg := Config{Policy: poller.Policy{Block: true}, Ordering: poller.OrderKey, MaxRowBytes: 1 << 20, Strategy: claims.SkipLocked}
	for _, c := range change {
		c(&cfg)
	}
	r := &recorder{unit: e.rows.ShardOf("O", "1")}
	c := &catalog{cfg: cfg, texts: e, outbox: outbox, claims: beside}
	c.db = statement.NewDB(e.syntax, e.low, sql.OpenDB(r), 0, func(error) bool { return false }, c.explain)
	rows := c.rows(qualified)
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return &instance{c, rows.Claims, rows}, r
}

// TestGolden pins every statement that is sent, by engine, and has SQL Server's parsed: no server runs here.
func TestGolden(t *testing.T) {
	for _, engine := range []string{"postgres", "mysql", "sqlite", "sqlserver"} {
		t.Run(engine, func(t *testing.T) {
			var all strings.Builder
			for _, c := range goldenCases {
				table, r := recorded(t, engine, c.change...)
				if err := c.do(t.Context(), table); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				all.WriteString("-- " + c.name + "\n" + r.text.String() + "\n")
				if engine == "sqlserver" {
					for i, text := range r.plain {
						isTSQL(t, text)
						declaresOneLength(t, text, r.args[i])
						if strings.Contains(text, "HOLDLOCK") {
							t.Errorf("locks the places of rows that are not there:\n%s", text)
						}
					}
				}
			}
			golden.Pin(t, filepath.Join(engine, "statements.sql"), all.String())
		})
	}
}

var (
	goldenMarked = event.Marked{Ref: event.Ref{Seq: 1}, Aggregate: event.Aggregate{Type: "O", ID: "1"}}
	byOrder      = func(o poller.Ordering) func(*Config) { return func(c *Config) { c.Ordering = o } }
)

var goldenCases = []struct {
	name   string
	do     func(context.Context, *instance) error
	change []func(*Config)
}{
	{name: "look", do: func(ctx context.Context, t *instance) error { _, err := t.rows.Look(ctx); return err }},
	{name: "draw", do: func(ctx context.Context, t *instance) error { _, err := t.claims.Draw(ctx); return err }},
	{name: "survey", do: func(ctx context.Context, t *instance) error {
		_, err := t.claims.Survey(ctx, "me", claims.Force{Strategy: claims.Partitioned, Partitions: 32})
		return err
	}},
	{name: "join", do: func(ctx context.Context, t *instance) error { return t.claims.Join(ctx, "me", time.Minute) }},
	{name: "renew", do: func(ctx context.Context, t *instance) error {
		_, err := t.claims.Renew(ctx, "me", time.Minute)
		return err
	}},
	{name: "take", do: func(ctx context.Context, t *instance) error {
		_, err := t.claims.Take(ctx, "me", 7, []string{"p1", "p0"}, time.Minute)
		return err
	}},
	{name: "release two units", do: func(ctx context.Context, t *instance) error { return t.claims.Release(ctx, "me", []string{"p0", "p1"}) }},
	{name: "release everything", do: func(ctx context.Context, t *instance) error { return t.claims.Release(ctx, "me", nil) }},
	{name: "pause", do: func(ctx context.Context, t *instance) error { return t.claims.Pause(ctx, "ann") }},
	{name: "resume", do: func(ctx context.Context, t *instance) error { return t.claims.Resume(ctx) }},
	{name: "fetch the whole table", do: func(ctx context.Context, t *instance) error { return fetched(ctx, t, nil, event.Position{}) }},
	{name: "fetch two ranges, after a position in the first", do: func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, []claims.Range{{From: 0, To: 16}, {From: 64, To: 80}}, event.Position{Bucket: 7, Seq: 4711})
	}},
	{name: "fetch two ranges by seq", do: func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, []claims.Range{{From: 0, To: 512}, {From: 640, To: 768}}, event.Position{BySeq: true})
	}},
	{name: "fetch the whole table by seq", do: func(ctx context.Context, t *instance) error { return fetched(ctx, t, nil, event.Position{BySeq: true}) }},
	{name: "fetch in the order of the source", do: func(ctx context.Context, t *instance) error { return fetched(ctx, t, nil, event.Position{Seq: 4711}) },
		change: []func(*Config){byOrder(poller.OrderSource)}},
	{name: "fetch without an order, dead letters not blocking", do: func(ctx context.Context, t *instance) error { return fetched(ctx, t, nil, event.Position{}) },
		change: []func(*Config){byOrder(poller.OrderNone), func(c *Config) { c.Policy.Block = false }}},
	{name: "pick", do: func(ctx context.Context, t *instance) error {
		_, _, err := t.rows.PickFrom(ctx, 629, claims.Claim{Owner: "me", Token: 7, Ttl: time.Minute}, poller.Limit{Rows: 100})
		return err
	}},
	{name: "due", do: func(ctx context.Context, t *instance) error {
		_, _, err := t.rows.Due(ctx, []claims.Range{{From: 0, To: 16}, {From: 64, To: 80}}, poller.Limit{Rows: 10}, claims.Claim{})
		return err
	}},
	{name: "due, with claims", do: func(ctx context.Context, t *instance) error {
		_, _, err := t.rows.Due(ctx, nil, poller.Limit{Rows: 10}, claims.Claim{Owner: "me", Token: 7, Ttl: time.Minute})
		return err
	}},
	{name: "other", do: func(ctx context.Context, t *instance) error {
		_, err := t.rows.Other(ctx, []claims.Range{{From: 0, To: 16}}, []event.Aggregate{{Type: "O", ID: "1"}, {Type: "O", ID: "2"}})
		return err
	}},
	{name: "settle published", do: func(ctx context.Context, t *instance) error {
		return t.rows.Settle(ctx, "me", 1, event.Marks{Published: []event.Ref{{Seq: 1}, {Seq: 2}}})
	}},
	{name: "settle everything else", do: func(ctx context.Context, t *instance) error { return t.rows.Settle(ctx, "me", 1, goldenMarks) }},
	{name: "settle a retry in the order of the source", do: func(ctx context.Context, t *instance) error {
		return t.rows.Settle(ctx, "me", 1, event.Marks{Retried: []event.Marked{goldenMarked}, Waiting: []event.Marked{goldenMarked}})
	}, change: []func(*Config){byOrder(poller.OrderSource)}},
	{name: "mend", do: func(ctx context.Context, t *instance) error { _, err := t.rows.Mend(ctx); return err }},
	{name: "work", do: func(ctx context.Context, t *instance) error { _, err := t.rows.Work(ctx, 2); return err }},
	{name: "figures", do: func(ctx context.Context, t *instance) error { _, err := t.rows.Figures(ctx); return err }},
}

var goldenMarks = event.Marks{Published: []event.Ref{{Seq: 1}}, Retried: []event.Marked{goldenMarked}, Waiting: []event.Marked{goldenMarked}, Returned: []event.Ref{{Seq: 3}},
	Failed: []event.Failure{{Marked: goldenMarked, Attempts: 2, Delay: 5 * time.Second, Reason: "refused"}}, Freed: []event.Aggregate{{Type: "O", ID: "1"}}}

func fetched(ctx context.Context, t *instance, ranges []claims.Range, after event.Position) error {
	_, _, err := t.rows.Fetch(ctx, ranges, after, poller.Limit{Rows: 500})
	return err
}

// TestGoldenDDL pins what `rowrelay outbox init` prints.
func TestGoldenDDL(t *testing.T) {
	for _, engine := range []string{"postgres", "mysql", "sqlite", "sqlserver"} {
		statements, err := DDL(engine, "shop.outbox", "rowrelay_claims")
		if err != nil {
			t.Fatal(err)
		}
		golden.Pin(t, filepath.Join(engine, "ddl.sql"), strings.Join(statements, ";\n")+";\n")
		if engine == "sqlserver" {
			for _, text := range statements {
				isTSQL(t, text)
			}
		}
	}
}

// isTSQL parses text and checks that it holds one statement of a kind that is meant: a parser that takes garbage for a second
// statement would otherwise pass it.
func isTSQL(t *testing.T, text string) {
	t.Helper()
	// The parser does not know COLLATE behind an expression within EXISTS.
	parsed := strings.ReplaceAll(text, sqlserver.Exact, "")
	script, err := parser.Parse(t.Context(), strings.NewReader(parsed))
	if err != nil {
		t.Errorf("not T-SQL: %v\n%s", err, text)
		return
	}
	var got []string
	for _, batch := range script.Batches {
		for _, s := range batch.Statements {
			got = append(got, reflect.TypeOf(s).Elem().Name())
		}
	}
	word, _, _ := strings.Cut(text, " ")
	want := map[string]string{"SELECT": "SelectStatement", "INSERT": "InsertStatement", "UPDATE": "UpdateStatement", "DELETE": "DeleteStatement",
		"IF": "IfStatement"}[word]
	if !slices.Equal(got, []string{want}) {
		t.Errorf("got the statements %v, want %q:\n%s", got, want, text)
	}
}

// declaresOneLength: the driver declares a string by its own length, and every other declaration is another plan on the server.
func declaresOneLength(t *testing.T, text string, args []any) {
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
