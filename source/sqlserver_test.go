package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
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
	query := "SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them"
	queried := engine.Table{Name: "query", Columns: []engine.Column{
		sqlServerColumn("id", true, sqlserver.Type{Base: "bigint"}),
		sqlServerColumn("at3", true, sqlserver.Type{Base: "datetime2", Scale: 3}),
	}}
	for _, c := range []struct {
		name string
		cfg  Config
		t    engine.Table
	}{
		{"datetime2_7_nullable", Config{Table: "x", Cursor: []string{"at7"}}, sqlServerSample()},
		{"datetime2_3", Config{Table: "x", Cursor: []string{"at3"}, Columns: []string{"name]x", "doc"}}, sqlServerSample()},
		{"datetime", Config{Table: "x", Cursor: []string{"legacy"}, Columns: []string{"id"}}, sqlServerSample()},
		{"smalldatetime", Config{Table: "x", Cursor: []string{"minute"}, Columns: []string{"id"}}, sqlServerSample()},
		{"date", Config{Table: "x", Cursor: []string{"day"}, Columns: []string{"id"}}, sqlServerSample()},
		{"datetimeoffset", Config{Table: "x", Cursor: []string{"zoned"}, Columns: []string{"id"}}, sqlServerSample()},
		{"int", Config{Table: "x", Cursor: []string{"small"}, Columns: []string{"id"}, Where: "amount > 1 OR flag = 1"}, sqlServerSample()},
		{"bigint_is_key", Config{Table: "x", Cursor: []string{"id"}, Columns: []string{"id"}}, sqlServerSample()},
		{"decimal", Config{Table: "x", Cursor: []string{"amount"}, Columns: []string{"id"}}, sqlServerSample()},
		{"money", Config{Table: "x", Cursor: []string{"price"}, Columns: []string{"id"}}, sqlServerSample()},
		{"rowversion", Config{Table: "x", Cursor: []string{"version"}, Columns: []string{"id"}}, sqlServerSample()},
		{"composite_both", Config{Table: "x", Cursor: []string{"at3", "amount"}, Columns: []string{"id"}, DeleteWhen: "flag",
			Key: []string{"tenant", "guid", "clock", "hash", "flag"}}, sqlServerSample()},
		{"query", Config{Query: query, Cursor: []string{"at3"}, Key: []string{"id"}, Where: "id > 0"}, queried},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := newPlan(sqlserver.Dialect{}, &c.cfg, "h/d", c.t)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			add := func(name string, s statement) {
				if s.text == "" {
					return
				}
				tsqltest.Is(t, s.text, "SelectStatement")
				fmt.Fprintf(&b, "-- %s, parameters %v\n%s\n\n", name, s.args, s.text)
			}
			add("first", p.sel.first(500))
			add("above", p.sel.page(500, span{after: p.sel.cursors}))
			add("after", p.sel.after(500))
			add("latest", p.sel.latest())
			add("between", p.sel.page(500, span{after: len(p.sel.order), upTo: len(p.sel.order)}))
			add("up to a value", p.sel.page(500, span{upTo: p.sel.cursors}))
			add("count", p.sel.count(span{after: len(p.sel.order), upTo: len(p.sel.order)}))
			add("below", p.sel.below())
			add("from", p.sel.fromCursor())
			add("keys", p.sel.byKeys(p.keyColumns(), []rowKey{{args: make([]any, len(p.key))}, {args: make([]any, len(p.key))}}, !p.keyProved))
			add("avoid", p.sel.page(2, span{after: len(p.sel.order), also: []condition{p.noneOf([][]byte{p.sampleKey("null")})}}))
			add("nulls of the cursor", p.sel.nulls(true))
			add("nulls of the key", p.sel.nulls(false))
			golden.Pin(t, "sqlserver/page_"+c.name+".sql", b.String())
			if p.indexAdvice != "" {
				tsqltest.Is(t, p.indexAdvice, "CreateIndexStatement")
			}
		})
	}
}

// sampleKey is an order key in which every column has one value.
func (p *plan) sampleKey(v string) []byte {
	object := "{"
	for n := range p.orderKey {
		object += []string{"", ","}[min(n, 1)] + p.orderKeyNames[n] + v
	}
	return []byte(object + "}")
}

func TestSQLServerRefusedColumns(t *testing.T) {
	for _, c := range []struct{ column, want string }{
		{"tenant", "text is not a cursor"}, {"guid", "uuid is not a cursor"}, {"clock", "begins again"}, {"hash", "not a cursor"}, {"flag", "not a cursor"},
	} {
		_, err := newPlan(sqlserver.Dialect{}, &Config{Table: "x", Cursor: []string{c.column}}, "h/d", sqlServerSample())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("cursor %s: %v", c.column, err)
		}
	}
}
