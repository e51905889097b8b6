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
)

func sqlServerColumn(name string, nullable bool, typ sqlserver.Type) engine.Column {
	return engine.Column{Name: name, Type: typ.Full(), Nullable: nullable, Value: typ.Value()}
}

// sqlServerSample is a table with a column of every type that maps.
func sqlServerSample() engine.Table {
	t := engine.Table{Name: "dbo.or]ders", From: "[dbo].[or]]ders]", PrimaryKey: []string{"id"}}
	t.Columns = []engine.Column{
		sqlServerColumn("id", false, sqlserver.Type{Base: "bigint"}),
		sqlServerColumn("tenant", false, sqlserver.Type{Base: "varchar", Length: 20, Collation: "Latin1_General_CI_AS"}),
		sqlServerColumn("name]x", true, sqlserver.Type{Base: "nvarchar", Length: 100}),
		sqlServerColumn("small", true, sqlserver.Type{Base: "int"}),
		sqlServerColumn("amount", true, sqlserver.Type{Base: "decimal", Precision: 19, Scale: 4}),
		sqlServerColumn("price", true, sqlserver.Type{Base: "money"}),
		sqlServerColumn("at7", true, sqlserver.Type{Base: "datetime2", Scale: 7}),
		sqlServerColumn("at3", false, sqlserver.Type{Base: "datetime2", Scale: 3}),
		sqlServerColumn("legacy", false, sqlserver.Type{Base: "datetime"}),
		sqlServerColumn("minute", false, sqlserver.Type{Base: "smalldatetime"}),
		sqlServerColumn("day", false, sqlserver.Type{Base: "date"}),
		sqlServerColumn("zoned", false, sqlserver.Type{Base: "datetimeoffset", Scale: 7}),
		sqlServerColumn("clock", false, sqlserver.Type{Base: "time", Scale: 7}),
		sqlServerColumn("guid", false, sqlserver.Type{Base: "uniqueidentifier"}),
		sqlServerColumn("version", false, sqlserver.Type{Base: "timestamp"}),
		sqlServerColumn("hash", false, sqlserver.Type{Base: "binary", Length: 16}),
		sqlServerColumn("flag", false, sqlserver.Type{Base: "bit"}),
		sqlServerColumn("doc", true, sqlserver.Type{Base: "json"}),
	}
	t.Indexes = []engine.Index{{Name: "pk", Columns: []string{"id"}, Unique: true, Declared: 1},
		{Name: "u1", Columns: []string{"tenant", "guid", "clock", "hash", "flag"}, Unique: true, Declared: 5}}
	return t
}

// TestSQLServerStatements pins every statement that a page, start=latest and the NULL probe send.
func TestSQLServerStatements(t *testing.T) {
	t.Parallel()
	query := "SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them"
	queried := engine.Table{Name: "query", Columns: []engine.Column{
		sqlServerColumn("id", true, sqlserver.Type{Base: "bigint"}),
		sqlServerColumn("at3", true, sqlserver.Type{Base: "datetime2", Scale: 3}),
	}}
	for _, c := range []struct {
		name string
		cfg  plan.Config
		t    engine.Table
	}{
		{"datetime2_7_nullable", plan.Config{Table: "x", Cursor: []string{"at7"}}, sqlServerSample()},
		{"datetime2_3", plan.Config{Table: "x", Cursor: []string{"at3"}, Columns: []string{"name]x", "doc"}},
			sqlServerSample()},
		{"datetime", plan.Config{Table: "x", Cursor: []string{"legacy"}, Columns: []string{"id"}}, sqlServerSample()},
		{"smalldatetime", plan.Config{Table: "x", Cursor: []string{"minute"}, Columns: []string{"id"}}, sqlServerSample()},
		{"date", plan.Config{Table: "x", Cursor: []string{"day"}, Columns: []string{"id"}}, sqlServerSample()},
		{"datetimeoffset", plan.Config{Table: "x", Cursor: []string{"zoned"}, Columns: []string{"id"}}, sqlServerSample()},
		{"int", plan.Config{Table: "x", Cursor: []string{"small"}, Columns: []string{"id"}, Where: "amount > 1 OR flag = 1"},
			sqlServerSample()},
		{"bigint_is_key", plan.Config{Table: "x", Cursor: []string{"id"}, Columns: []string{"id"}}, sqlServerSample()},
		{"decimal", plan.Config{Table: "x", Cursor: []string{"amount"}, Columns: []string{"id"}}, sqlServerSample()},
		{"money", plan.Config{Table: "x", Cursor: []string{"price"}, Columns: []string{"id"}}, sqlServerSample()},
		{"rowversion", plan.Config{Table: "x", Cursor: []string{"version"}, Columns: []string{"id"}}, sqlServerSample()},
		{"composite_both", plan.Config{Table: "x", Cursor: []string{"at3", "amount"}, Columns: []string{"id"},
			DeleteWhen: "flag",
			Key:        []string{"tenant", "guid", "clock", "hash", "flag"}}, sqlServerSample()},
		{"query", plan.Config{Query: query, Cursor: []string{"at3"}, Key: []string{"id"}, Where: "id > 0"}, queried},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := plan.New(sqlserver.Dialect{}, &c.cfg, "h/d", c.t)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			add := func(name string, s keyset.Statement) {
				if s.Text == "" {
					return
				}
				tsqltest.Is(t, s.Text, "SelectStatement")
				fmt.Fprintf(&b, "-- %s, parameters %v\n%s\n\n", name, s.Args, s.Text)
			}
			add("first", p.Sel.First(500))
			add("above", p.Sel.Page(500, keyset.Span{After: p.Sel.Cursors}))
			add("after", p.Sel.After(500))
			add("latest", p.Sel.Latest())
			add("reach", p.Sel.Reach(4096, keyset.Span{After: len(p.Sel.Order), UpTo: p.Sel.Cursors}))
			if p.Late.Exact == plan.ExactWatermark {
				reach, _, err := rowPages{p: p}.reach(change.Range{}, 4096, nil)
				if err != nil {
					t.Fatal(err)
				}
				tsqltest.Is(t, reach.Text, "DeclareVariableStatement", "SetVariableStatement", "SelectStatement")
				fmt.Fprintf(&b, "-- reach below the watermark, parameters %v\n%s\n\n", reach.Args, reach.Text)
			}
			add("between", p.Sel.Page(500, keyset.Span{After: len(p.Sel.Order), UpTo: len(p.Sel.Order)}))
			add("up to a value", p.Sel.Page(500, keyset.Span{UpTo: p.Sel.Cursors}))
			add("count", p.Sel.Count(keyset.Span{After: len(p.Sel.Order), UpTo: len(p.Sel.Order)}, 0))
			add("below", p.Sel.Below())
			add("from", p.Sel.FromCursor())
			add("keys", p.Sel.ByKeys(p.KeyColumns(),
				[]keyset.Key{{Args: make([]any, len(p.Key))}, {Args: make([]any, len(p.Key))}}, !p.KeyProved))
			add("avoid", p.Sel.Page(2, keyset.Span{After: len(p.Sel.Order),
				Also: []keyset.Condition{p.NoneOf([][]byte{sampleKey(p, "null")})}}))
			add("nulls of the cursor", p.Sel.Nulls(true))
			add("nulls of the key", p.Sel.Nulls(false))
			golden.Pin(t, "sqlserver/page_"+c.name+".sql", b.String())
			if p.IndexAdvice != "" {
				tsqltest.Is(t, p.IndexAdvice, "CreateIndexStatement")
			}
		})
	}
}

// sampleKey is an order key in which every column has one value.
func sampleKey(p *plan.Plan, v string) []byte {
	object := "{"
	for n := range p.OrderKey {
		object += []string{"", ","}[min(n, 1)] + p.OrderKeyNames[n] + v
	}
	return []byte(object + "}")
}

func TestSQLServerRefusedColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ column, want string }{
		{"tenant", "text is not a cursor"}, {"guid", "uuid is not a cursor"}, {"clock", "begins again"},
		{"hash", "not a cursor"}, {"flag", "not a cursor"},
	} {
		_, err := plan.New(sqlserver.Dialect{}, &plan.Config{Table: "x", Cursor: []string{c.column}}, "h/d",
			sqlServerSample())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("cursor %s: %v", c.column, err)
		}
	}
}
