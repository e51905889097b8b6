package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/tracked"
	"github.com/rowrelay/rowrelay/tracking"
)

// builtInPlan is a plan of a table whose changes SQL Server tracks.
func builtInPlan(t *testing.T, cfg plan.Config) *plan.Plan {
	t.Helper()
	d := sqlserver.Dialect{}
	table := engine.Table{Name: "dbo.or'ders", From: "[dbo].[or'ders]", PrimaryKey: []string{"tenant", "id"},
		Columns: []engine.Column{
			sqlServerColumn("id", false, sqlserver.Type{Base: "bigint"}),
			sqlServerColumn("tenant", false, sqlserver.Type{Base: "varchar", Length: 20, Collation: "Latin1_General_CI_AS"}),
			sqlServerColumn("note", true, sqlserver.Type{Base: "nvarchar", Length: 100}),
			sqlServerColumn("version", false, sqlserver.Type{Base: "timestamp"}),
		}}
	changes, err := tracking.Of(d, &table, "", "orders", tracking.Writes{Changed: cfg.Changed, Ignored: cfg.Ignored,
		ReadCommitted: cfg.ReadCommitted})
	if err != nil {
		t.Fatal(err)
	}
	joined, err := tracking.Join(d, &table, tracking.BuiltIn(d.Syntax().Tracking.BuiltIn, &table), changes)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Table, cfg.Poller, cfg.Tracked = "x", "orders", true
	if err := cfg.Complete(); err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(d, &cfg, "h/d", joined)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBuiltInStatements pins what SQL Server is asked for its changes.
func TestBuiltInStatements(t *testing.T) {
	t.Parallel()
	p := builtInPlan(t, plan.Config{Where: "note <> 'x'"})
	var b strings.Builder
	add := func(name string, s keyset.Statement, types ...string) {
		tsqltest.Is(t, s.Text, types...)
		fmt.Fprintf(&b, "-- %s, parameters %v\n%s\n\n", name, s.Args, s.Text)
	}
	transaction := []string{"PredicateSetStatement", "SetTransactionIsolationLevelStatement", "BeginTransactionStatement",
		"DeclareVariableStatement", "IfStatement", "IfStatement", "SetVariableStatement", "CommitTransactionStatement"}
	page := func(at string, cursors int) keyset.Statement {
		window, err := tracked.Table{Plan: p.Live(), Cfg: &plan.Config{}}.Window(change.Range{After: change.Cursor(at)})
		if err != nil {
			t.Fatal(err)
		}
		sel, also := window.Selection(p.Live(), nil)
		return sel.Page(500, keyset.Span{After: cursors, Also: also})
	}
	add("page from the beginning", page("null", 0), transaction...)
	add("page after a version", page(`{"kind":"integer+pk","value":7}`, 1), transaction...)
	add("page within a window",
		page(`{"kind":"integer+pk","value":7,"tiebreaker":{"tenant":"a","id":1},"window":[3,9]}`, 3), transaction...)
	add("range of a backfill", p.Sel.Page(500, keyset.Span{After: 3, UpTo: 3}), "SelectStatement")
	add("count", p.Sel.Count(keyset.Span{After: 3, UpTo: 3}, 0), "SelectStatement")
	after := change.Range{After: []byte(`{"kind":"integer+pk","value":7}`)}
	bounded, _, err := builtInPages{rowPages{c: &Cursor{dialect: sqlserver.Dialect{}}, p: p}}.count(after, 1000)
	if err != nil {
		t.Fatal(err)
	}
	add("count up to a bound", bounded, transaction...)
	add("keys", p.Sel.ByKeys(p.KeyColumns(), []keyset.Key{{Args: make([]any, 2)}, {Args: make([]any, 2)}}, false),
		"SelectStatement")
	add("before a version", p.Sel.Below(), "SelectStatement")
	add("how far", keyset.Statement{Text: p.BuiltIn().Tell(p.Table.Changes)}, "SelectStatement")
	golden.Pin(t, "sqlserver/changes.sql", b.String())
	b.Reset()
	whole := p
	p = builtInPlan(t, plan.Config{Changed: []string{"NOTE", "version"}})
	add("page after a version", page(`{"kind":"integer+pk","value":7}`, 1), transaction...)
	add("range of a backfill", p.Sel.Page(500, keyset.Span{After: 3, UpTo: 3, Also: []keyset.Condition{p.OfTouched(nil)}}),
		"SelectStatement")
	add("keys", p.Sel.ByKeys(p.KeyColumns(), []keyset.Key{{Args: make([]any, 2)}, {Args: make([]any, 2)}}, false),
		"SelectStatement")
	add("chunk", p.Whole.Sel.Page(500, keyset.Span{After: 2, UpTo: 2, Also: tracked.InTransaction(p.Whole, new(string))}),
		transaction...)
	golden.Pin(t, "sqlserver/changed.sql", b.String())
	b.Reset()
	const after7 = `{"kind":"integer+pk","value":7}`
	p = whole
	same := page(after7, 1).Text
	p = builtInPlan(t, plan.Config{ReadCommitted: true, Where: "note <> 'x'"})
	if got := page(after7, 1).Text; strings.Replace(got, "READ COMMITTED", "SNAPSHOT", 1) != same {
		t.Errorf("a page is another but for its isolation: %s", got)
	}
	add("rows of a chunk", keyset.Statement{Text: "SELECT * FROM " + p.Whole.Sel.From + " AS r"}, "SelectStatement")
	add("keys", p.Sel.ByKeys(p.KeyColumns(), []keyset.Key{{Args: make([]any, 2)}, {Args: make([]any, 2)}}, false,
		tracked.KeysInTransaction(p)...), transaction...)
	golden.Pin(t, "sqlserver/changes_read_committed.sql", b.String())
	b.Reset()
	p = whole
	chunk := func(after, upTo int) keyset.Statement {
		return p.Whole.Sel.Page(500, keyset.Span{After: after, UpTo: upTo, Also: tracked.InTransaction(p.Whole, new(string))})
	}
	add("first chunk", chunk(0, 2), transaction...)
	add("next chunk", chunk(2, 2), transaction...)
	plain := (&Cursor{cfg: plan.Config{Where: "note <> 'x'"}}).plainRows(p)
	add("rows", plain.Count(keyset.Span{}, 0), "SelectStatement")
	add("last row", plain.Latest(), "SelectStatement")
	golden.Pin(t, "sqlserver/snapshot.sql", b.String())
	if nulls := p.Sel.Nulls(true).Text + p.Sel.Nulls(false).Text; nulls != "" {
		t.Errorf("NULLs are looked for: %s", nulls)
	}
}
