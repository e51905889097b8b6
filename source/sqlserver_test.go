package source

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/sqlc-dev/teesql/parser"

	"github.com/rowrelay/rowrelay/internal/golden"
)

// isTSQL parses text and checks that it holds exactly the statements of these types: a parser that takes garbage for a
// second statement would otherwise pass it.
func isTSQL(t *testing.T, text string, types ...string) {
	t.Helper()
	// The parser does not know COLLATE inside of CAST, which Microsoft's grammar allows behind any expression.
	parsed := strings.ReplaceAll(text, " COLLATE Latin1_General_CI_AS AS ", " AS ")
	script, err := parser.Parse(t.Context(), strings.NewReader(parsed))
	if err != nil {
		t.Fatalf("not T-SQL: %v\n%s", err, text)
	}
	var got []string
	for _, batch := range script.Batches {
		for _, s := range batch.Statements {
			got = append(got, reflect.TypeOf(s).Elem().Name())
		}
	}
	if !slices.Equal(got, types) {
		t.Errorf("got the statements %v, want %v:\n%s", got, types, text)
	}
}

func sqlServerColumn(name string, nullable bool, typ sqlServerType) column {
	return column{name: name, typ: typ.full(), nullable: nullable, value: typ.value()}
}

// sqlServerSample is a table with a column of every type that maps.
func sqlServerSample() table {
	t := table{name: "dbo.or]ders", from: "[dbo].[or]]ders]", primaryKey: []string{"id"}}
	t.columns = []column{
		sqlServerColumn("id", false, sqlServerType{base: "bigint"}),
		sqlServerColumn("tenant", false, sqlServerType{base: "varchar", length: 20, collation: "Latin1_General_CI_AS"}),
		sqlServerColumn("name]x", true, sqlServerType{base: "nvarchar", length: 100}),
		sqlServerColumn("small", true, sqlServerType{base: "int"}),
		sqlServerColumn("amount", true, sqlServerType{base: "decimal", precision: 19, scale: 4}),
		sqlServerColumn("price", true, sqlServerType{base: "money"}),
		sqlServerColumn("at7", true, sqlServerType{base: "datetime2", scale: 7}),
		sqlServerColumn("at3", false, sqlServerType{base: "datetime2", scale: 3}),
		sqlServerColumn("legacy", false, sqlServerType{base: "datetime"}),
		sqlServerColumn("minute", false, sqlServerType{base: "smalldatetime"}),
		sqlServerColumn("day", false, sqlServerType{base: "date"}),
		sqlServerColumn("zoned", false, sqlServerType{base: "datetimeoffset", scale: 7}),
		sqlServerColumn("clock", false, sqlServerType{base: "time", scale: 7}),
		sqlServerColumn("guid", false, sqlServerType{base: "uniqueidentifier"}),
		sqlServerColumn("version", false, sqlServerType{base: "timestamp"}),
		sqlServerColumn("hash", false, sqlServerType{base: "binary", length: 16}),
		sqlServerColumn("flag", false, sqlServerType{base: "bit"}),
		sqlServerColumn("doc", true, sqlServerType{base: "json"}),
	}
	t.indexes = []index{{name: "pk", columns: []string{"id"}, unique: true, declared: 1},
		{name: "u1", columns: []string{"tenant", "guid", "clock", "hash", "flag"}, unique: true, declared: 5}}
	return t
}

// TestSQLServerStatements pins every statement that a page, start=latest and the NULL probe send.
func TestSQLServerStatements(t *testing.T) {
	query := "SELECT o.id, o.at3 FROM dbo.orders AS o -- all of them"
	queried := table{name: "query", columns: []column{
		sqlServerColumn("id", true, sqlServerType{base: "bigint"}),
		sqlServerColumn("at3", true, sqlServerType{base: "datetime2", scale: 3}),
	}}
	for _, c := range []struct {
		name string
		cfg  Config
		t    table
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
			p, err := newPlan(sqlServer{}, &c.cfg, "h/d", c.t)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			add := func(name string, s statement) {
				if s.text == "" {
					return
				}
				isTSQL(t, s.text, "SelectStatement")
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
				isTSQL(t, p.indexAdvice, "CreateIndexStatement")
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

// TestSQLServerCatalogStatements pins what is sent once per connection and once per plan.
func TestSQLServerCatalogStatements(t *testing.T) {
	var b strings.Builder
	add := func(name, text string, types ...string) {
		isTSQL(t, text, types...)
		fmt.Fprintf(&b, "-- %s\n%s\n\n", name, text)
	}
	const sel = "SelectStatement"
	add("session", sqlServerSession(&Config{Timeout: 30 * time.Second}), "SetTransactionIsolationLevelStatement", "SetCommandStatement")
	add("life", sqlServerLife, sel)
	add("recovery fork", sqlServerFork, sel)
	add("availability group", sqlServerGroup, sel)
	add("service broker", sqlServerBroker, sel)
	add("geo-replication", sqlServerLinks, sel)
	for _, database := range []string{"", "[sh]]op]."} {
		add("object "+database, fill(sqlServerObject, database), sel)
		add("columns "+database, fill(sqlServerColumns, database), sel)
		add("indexes "+database, fill(sqlServerIndexes, database), sel)
	}
	add("which object", sqlServerObjectID, sel)
	add("describe", sqlServerDescribe, sel)
	add("identity", fill(sqlServerIdentity, ""), sel)
	add("identity elsewhere", fill(sqlServerIdentity, "[sh]]op]."), sel)
	add("rowversion", sqlServerRowVersion, sel)
	add("described text", sqlServerWrapped("SELECT 1 AS a -- comment"), sel)
	golden.Pin(t, "sqlserver/catalog.sql", b.String())
}

// TestSQLServerQuote holds the quoting of names against the parser: whatever the name, it is one identifier.
func TestSQLServerQuote(t *testing.T) {
	for _, name := range []string{"a", "a b", "a]b", "]", "a'b", `a"b`, "sélect", "a;DROP TABLE b", "a--b"} {
		q := sqlServer{}.quote(name)
		isTSQL(t, "SELECT "+q+" FROM "+q, "SelectStatement")
		parts, err := splitName(q)
		if err != nil || len(parts) != 1 || parts[0] != name {
			t.Errorf("%s became %q, %v", q, parts, err)
		}
	}
}

// TestSQLServerValues: every type of sys.types is mapped or refused; the values are those that go-mssqldb returns.
func TestSQLServerValues(t *testing.T) {
	at := func(ns int) time.Time { return time.Date(2026, 4, 7, 1, 23, 45, ns, time.UTC) }
	guid := []byte{0xff, 0x19, 0x96, 0x6f, 0x86, 0x8b, 0x11, 0xd0, 0xb4, 0x2d, 0x00, 0xc0, 0x4f, 0xc9, 0x64, 0xff}
	// What arg must make of the JSON, in the words of the parameter; nil where the type is no cursor and no key.
	type example struct {
		in   any
		json string
		arg  any
	}
	examples := map[string][]example{
		"bit":      {{true, `true`, true}, {false, `false`, false}},
		"tinyint":  {{int64(255), `255`, int64(255)}},
		"smallint": {{int64(-32768), `-32768`, int64(-32768)}},
		"int":      {{int64(-5), `-5`, int64(-5)}},
		"bigint":   {{int64(9223372036854775807), `"9223372036854775807"`, int64(9223372036854775807)}, {int64(9007199254740991), `9007199254740991`, int64(9007199254740991)}},
		"decimal":  {{[]byte("-123456789012345.6789"), `"-123456789012345.6789"`, mssql.NVarCharMax("-123456789012345.6789")}},
		"numeric": {{[]byte("99999999999999999999999999999999999999"), `"99999999999999999999999999999999999999"`,
			mssql.NVarCharMax("99999999999999999999999999999999999999")}},
		"money":            {{[]byte("-922337203685477.5808"), `"-922337203685477.5808"`, mssql.NVarCharMax("-922337203685477.5808")}},
		"smallmoney":       {{[]byte("214748.3647"), `"214748.3647"`, mssql.NVarCharMax("214748.3647")}},
		"float":            {{0.1, `0.1`, nil}, {5e-324, `5e-324`, nil}},
		"real":             {{float64(float32(0.1)), `0.1`, nil}, {float64(float32(16777216)), `16777216`, nil}},
		"char":             {{"ab        ", `"ab        "`, mssql.NVarCharMax("ab        ")}},
		"varchar":          {{`é"`, `"é\""`, mssql.NVarCharMax(`é"`)}},
		"nchar":            {{"ß ", `"ß "`, mssql.NVarCharMax("ß ")}},
		"nvarchar":         {{"😀\n", `"😀\n"`, mssql.NVarCharMax("😀\n")}},
		"text":             {{"x", `"x"`, nil}},
		"ntext":            {{"x", `"x"`, nil}},
		"xml":              {{"<a>1</a>", `"<a>1</a>"`, nil}},
		"uniqueidentifier": {{guid, `"6f9619ff-8b86-d011-b42d-00c04fc964ff"`, "6f9619ff-8b86-d011-b42d-00c04fc964ff"}},
		"binary":           {{[]byte{0, 0xff}, `"AP8="`, []byte{0, 0xff}}},
		"varbinary":        {{[]byte{}, `""`, []byte{}}},
		"image":            {{[]byte{1}, `"AQ=="`, nil}},
		"timestamp":        {{[]byte{0, 0, 0, 0, 0, 0, 7, 0xd1}, `"AAAAAAAAB9E="`, []byte{0, 0, 0, 0, 0, 0, 7, 0xd1}}},
		"date":             {{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), `"0001-01-01"`, "0001-01-01"}},
		"time":             {{time.Date(1, 1, 1, 1, 23, 45, 123456700, time.UTC), `"01:23:45.1234567"`, "01:23:45.1234567"}},
		"datetime2": {{at(123456700), `"2026-04-07T01:23:45.1234567"`, "2026-04-07T01:23:45.1234567"}, {at(0), `"2026-04-07T01:23:45"`, "2026-04-07T01:23:45.0000000"},
			{time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC), `"9999-12-31T23:59:59.9999999"`, "9999-12-31T23:59:59.9999999"}},
		// The ticks of 1/300 s, as this version of the driver rounds them and as an exact fraction.
		"datetime": {{at(187e6), `"2026-04-07T01:23:45.187"`, "2026-04-07T01:23:45.187"}, {at(186666667), `"2026-04-07T01:23:45.187"`, "2026-04-07T01:23:45.187"},
			{at(3e6), `"2026-04-07T01:23:45.003"`, "2026-04-07T01:23:45.003"}, {at(3333333), `"2026-04-07T01:23:45.003"`, "2026-04-07T01:23:45.003"},
			{at(997e6), `"2026-04-07T01:23:45.997"`, "2026-04-07T01:23:45.997"}, {at(0), `"2026-04-07T01:23:45"`, "2026-04-07T01:23:45.000"}},
		"smalldatetime": {{time.Date(2026, 4, 7, 1, 23, 0, 0, time.UTC), `"2026-04-07T01:23:00"`, "2026-04-07T01:23:00"}},
		"datetimeoffset": {{time.Date(2026, 4, 7, 3, 23, 45, 123456700, time.FixedZone("", 7200)), `"2026-04-07T03:23:45.1234567+02:00"`, "2026-04-07T03:23:45.1234567+02:00"},
			{at(100), `"2026-04-07T01:23:45.0000001Z"`, "2026-04-07T01:23:45.0000001+00:00"}},
		"json":        {{`{"a": [1, 2.50]}`, `{"a":[1,2.50]}`, nil}},
		"sql_variant": nil, "vector": nil, "geography": nil, "geometry": nil, "hierarchyid": nil,
	}
	d := sqlServer{}
	var listing strings.Builder
	for _, rule := range d.types() {
		list, ok := examples[rule.name]
		if !ok {
			t.Errorf("type %s is listed and has no example", rule.name)
		}
		delete(examples, rule.name)
		fmt.Fprintf(&listing, "%-20s %-22s refused=%q cast=%q expr=%q param=%q noKey=%q\n", rule.name, rule.sample, rule.value.refused, rule.value.cast, rule.value.expr, rule.value.param, rule.value.noKey)
		if list == nil && (rule.value.refused == "" || rule.value.cast == "") {
			t.Errorf("type %s is neither mapped by an example nor refused with a CAST", rule.name)
		}
		col := column{name: "c", typ: rule.sample, value: rule.value}
		for _, e := range append(list, example{nil, "null", nil}) {
			if rule.value.refused != "" {
				break
			}
			r := sqlServerRow{cols: []column{col}, values: []any{e.in}}
			got, err := r.appendJSON(nil, 0)
			if err != nil || string(got) != e.json {
				t.Errorf("%s: %v became %s, %v; want %s", rule.name, e.in, got, err, e.json)
			}
			fmt.Fprintf(&listing, "    %s\n", got)
			if e.arg == nil {
				continue
			}
			arg, err := d.arg(&col, got)
			if err != nil || !reflect.DeepEqual(arg, e.arg) {
				t.Errorf("%s: %s became the argument %#v, %v; want %#v", rule.name, got, arg, err, e.arg)
			}
		}
	}
	if len(examples) > 0 {
		t.Errorf("types that are not listed: %v", examples)
	}
	golden.Pin(t, "sqlserver/types.txt", listing.String())
}

// TestSQLServerChangedType: a value of another Go type than the plan's is noticed, never encoded as something else.
func TestSQLServerChangedType(t *testing.T) {
	col := sqlServerColumn("c", true, sqlServerType{base: "int"})
	for _, v := range []any{"1", 1.5, []byte("1"), time.Now(), true} {
		r := sqlServerRow{cols: []column{col}, values: []any{v}}
		if got, err := r.appendJSON(nil, 0); !errors.Is(err, errSchemaChanged) {
			t.Errorf("%T became %s, %v", v, got, err)
		}
	}
}

// TestSQLServerStartValues: what a person writes as source__start is cut to the column's precision, never rounded up.
func TestSQLServerStartValues(t *testing.T) {
	for _, c := range []struct {
		typ    sqlServerType
		scalar string
		want   any // nil: refused
	}{
		{sqlServerType{base: "datetime2", scale: 3}, `"2026-04-07"`, "2026-04-07T00:00:00.000"},
		{sqlServerType{base: "datetime2", scale: 3}, `"2026-04-07 01:23"`, "2026-04-07T01:23:00.000"},
		{sqlServerType{base: "datetime2", scale: 3}, `"2026-04-07T01:23:45.1239"`, "2026-04-07T01:23:45.123"},
		{sqlServerType{base: "datetime2", scale: 0}, `"2026-04-07T01:23:45.9"`, "2026-04-07T01:23:45"},
		{sqlServerType{base: "datetime"}, `"2026-04-07T01:23:45.1869999"`, "2026-04-07T01:23:45.183"},
		{sqlServerType{base: "datetime"}, `"2026-04-07T01:23:45.009"`, "2026-04-07T01:23:45.007"},
		{sqlServerType{base: "datetime"}, `"2026-04-07T01:23:45.002"`, "2026-04-07T01:23:45.000"},
		{sqlServerType{base: "smalldatetime"}, `"2026-04-07T01:23:59"`, "2026-04-07T01:23:00"},
		{sqlServerType{base: "datetimeoffset", scale: 7}, `"2026-04-07T01:23:45"`, nil},
		{sqlServerType{base: "datetime2", scale: 7}, `"2026-04-07T01:23:45Z"`, nil},
		{sqlServerType{base: "datetime2", scale: 7}, `"yesterday"`, nil},
		{sqlServerType{base: "datetime2", scale: 7}, `12`, nil},
		{sqlServerType{base: "int"}, `"12"`, int64(12)},
		{sqlServerType{base: "int"}, `1.5`, nil},
		{sqlServerType{base: "decimal", precision: 9, scale: 2}, `12.5`, mssql.NVarCharMax("12.5")},
		{sqlServerType{base: "decimal", precision: 9, scale: 2}, `"12.505"`, nil},
		{sqlServerType{base: "decimal", precision: 9, scale: 2}, `1e3`, nil},
		{sqlServerType{base: "timestamp"}, `"0x00000000000007D1"`, []byte{0, 0, 0, 0, 0, 0, 7, 0xd1}},
		{sqlServerType{base: "timestamp"}, `"0x07D1"`, nil},
		{sqlServerType{base: "uniqueidentifier"}, `"x'; DROP TABLE a; --"`, nil},
	} {
		col := sqlServerColumn("c", false, c.typ)
		got, err := sqlServer{}.arg(&col, []byte(c.scalar))
		if (err != nil) != (c.want == nil) || err == nil && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: got %#v, %v; want %#v", col.typ, c.scalar, got, err, c.want)
		}
	}
}

func TestSQLServerRefusedColumns(t *testing.T) {
	for _, c := range []struct {
		typ  sqlServerType
		want string
	}{
		{sqlServerType{base: "Money2", clr: true}, "CLR"},
		{sqlServerType{base: "nvarchar", length: 10, encrypted: true}, "Always Encrypted"},
		{sqlServerType{base: "newtype"}, "no lossless form"},
	} {
		if v := c.typ.value(); !strings.Contains(v.refused, c.want) {
			t.Errorf("%v: refused because %q", c.typ, v.refused)
		}
	}
	for _, c := range []struct{ column, want string }{
		{"tenant", "text is not a cursor"}, {"guid", "uuid is not a cursor"}, {"clock", "begins again"}, {"hash", "not a cursor"}, {"flag", "not a cursor"},
	} {
		_, err := newPlan(sqlServer{}, &Config{Table: "x", Cursor: []string{c.column}}, "h/d", sqlServerSample())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("cursor %s: %v", c.column, err)
		}
	}
}

func TestSQLServerIndexOrder(t *testing.T) {
	pk := sqlServerIndex{name: "pk", kind: 1, unique: true, primary: true, columns: []string{"id"}, desc: []bool{false}}
	got, primary := orderOfIndexes([]sqlServerIndex{
		pk,
		{name: "plain", kind: 2, columns: []string{"at"}, desc: []bool{false}},
		{name: "down", kind: 2, columns: []string{"at", "id"}, desc: []bool{true, true}},
		{name: "mixed", kind: 2, columns: []string{"a", "b", "c"}, desc: []bool{false, false, true}},
		{name: "filtered", kind: 2, unique: true, partial: true, columns: []string{"x"}, desc: []bool{false}},
		{name: "hash", kind: 7, columns: []string{"x"}, desc: []bool{false}},
	})
	want := []index{
		{name: "pk", columns: []string{"id"}, unique: true, declared: 1},
		{name: "plain", columns: []string{"at", "id"}, declared: 1},
		{name: "down", columns: []string{"at", "id"}, declared: 2},
		{name: "mixed", columns: []string{"a", "b"}, declared: 3},
		{name: "filtered", columns: []string{"x", "id"}, unique: true, declared: 1, partial: true},
	}
	if !reflect.DeepEqual(got, want) || !slices.Equal(primary, []string{"id"}) {
		t.Errorf("got %+v and %v\nwant %+v", got, primary, want)
	}
}

func TestSQLServerWithQuery(t *testing.T) {
	_, err := sqlServer{}.query(context.Background(), nil, "WITH a AS (SELECT 1 AS x) SELECT x FROM a")
	if err == nil || !strings.Contains(err.Error(), "view") {
		t.Errorf("got %v", err)
	}
}
