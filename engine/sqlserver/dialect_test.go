package sqlserver

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

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver/tsql"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
)

// TestSQLServerCatalogStatements pins what is sent once per connection and once per plan.
func TestSQLServerCatalogStatements(t *testing.T) {
	var b strings.Builder
	add := func(name, text string, types ...string) {
		tsqltest.Is(t, text, types...)
		fmt.Fprintf(&b, "-- %s\n%s\n\n", name, text)
	}
	const sel = "SelectStatement"
	add("session", sessionSQL(engine.Settings{Timeout: 30 * time.Second}), "SetTransactionIsolationLevelStatement",
		"SetCommandStatement")
	add("life", createdSQL, sel)
	add("recovery fork", forkSQL, sel)
	add("availability group", groupSQL, sel)
	add("service broker", brokerSQL, sel)
	add("geo-replication", linksSQL, sel)
	for _, database := range []string{"", "[sh]]op]."} {
		add("object "+database, engine.Fill(objectSQL, database), sel)
		add("columns "+database, engine.Fill(columnsSQL, database), sel)
		add("indexes "+database, engine.Fill(indexesSQL, database), sel)
		add("policies "+database, engine.Fill(policiesSQL, database), sel)
	}
	add("which object", objectIDSQL, sel)
	add("describe", describeSQL, sel)
	add("identity", engine.Fill(identitySQL, ""), sel)
	add("identity elsewhere", engine.Fill(identitySQL, "[sh]]op]."), sel)
	add("rowversion", rowVersionSQL, sel)
	add("described text", wrapped("SELECT 1 AS a -- comment"), sel)
	golden.Pin(t, "catalog.sql", b.String())
}

// TestSQLServerQuote holds the quoting of names against the parser: whatever the name, it is one identifier.
func TestSQLServerQuote(t *testing.T) {
	for _, name := range []string{"a", "a b", "a]b", "]", "a'b", `a"b`, "sélect", "a;DROP TABLE b", "a--b"} {
		q := tsql.Quote(name)
		tsqltest.Is(t, "SELECT "+q+" FROM "+q, "SelectStatement")
		parts, err := engine.SplitName(q)
		if err != nil || len(parts) != 1 || parts[0] != name {
			t.Errorf("%s became %q, %v", q, parts, err)
		}
	}
}

// TestSQLServerChangedType: a value of another Go type than the plan's is noticed, never encoded as something else.
func TestSQLServerChangedType(t *testing.T) {
	col := columnOf("c", true, Type{Base: "int"})
	for _, v := range []any{"1", 1.5, []byte("1"), time.Now(), true} {
		r := sqlRow{cols: []engine.Column{col}, values: []any{v}}
		if got, err := r.AppendJSON(nil, 0); !errors.Is(err, engine.ErrSchemaChanged) {
			t.Errorf("%T became %s, %v", v, got, err)
		}
	}
}

// TestSQLServerStartValues: what a person writes as source__start is cut to the column's precision, never rounded up.
func TestSQLServerStartValues(t *testing.T) {
	for _, c := range []struct {
		typ    Type
		scalar string
		want   any // nil: refused
	}{
		{Type{Base: "datetime2", Scale: 3}, `"2026-04-07"`, "2026-04-07T00:00:00.000"},
		{Type{Base: "datetime2", Scale: 3}, `"2026-04-07 01:23"`, "2026-04-07T01:23:00.000"},
		{Type{Base: "datetime2", Scale: 3}, `"2026-04-07T01:23:45.1239"`, "2026-04-07T01:23:45.123"},
		{Type{Base: "datetime2", Scale: 0}, `"2026-04-07T01:23:45.9"`, "2026-04-07T01:23:45"},
		{Type{Base: "datetime"}, `"2026-04-07T01:23:45.1869999"`, "2026-04-07T01:23:45.183"},
		{Type{Base: "datetime"}, `"2026-04-07T01:23:45.009"`, "2026-04-07T01:23:45.007"},
		{Type{Base: "datetime"}, `"2026-04-07T01:23:45.002"`, "2026-04-07T01:23:45.000"},
		{Type{Base: "smalldatetime"}, `"2026-04-07T01:23:59"`, "2026-04-07T01:23:00"},
		{Type{Base: "datetimeoffset", Scale: 7}, `"2026-04-07T01:23:45"`, nil},
		{Type{Base: "datetime2", Scale: 7}, `"2026-04-07T01:23:45Z"`, nil},
		{Type{Base: "datetime2", Scale: 7}, `"yesterday"`, nil},
		{Type{Base: "datetime2", Scale: 7}, `12`, nil},
		{Type{Base: "int"}, `"12"`, int64(12)},
		{Type{Base: "int"}, `1.5`, nil},
		{Type{Base: "decimal", Precision: 9, Scale: 2}, `12.5`, mssql.NVarCharMax("12.5")},
		{Type{Base: "decimal", Precision: 9, Scale: 2}, `"12.505"`, nil},
		{Type{Base: "decimal", Precision: 9, Scale: 2}, `1e3`, nil},
		{Type{Base: "timestamp"}, `"0x00000000000007D1"`, []byte{0, 0, 0, 0, 0, 0, 7, 0xd1}},
		{Type{Base: "timestamp"}, `"0x07D1"`, nil},
		{Type{Base: "uniqueidentifier"}, `"x'; DROP TABLE a; --"`, nil},
	} {
		col := columnOf("c", false, c.typ)
		got, err := Dialect{}.Arg(&col, []byte(c.scalar))
		if (err != nil) != (c.want == nil) || err == nil && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: got %#v, %v; want %#v", col.Type, c.scalar, got, err, c.want)
		}
	}
}

// TestDisabledKey: a nonclustered primary key can be disabled, and the table then takes rows of one key.
func TestDisabledKey(t *testing.T) {
	pk := sysIndex{name: "pk]x", kind: 2, unique: true, primary: true, columns: []string{"id"}, desc: []bool{false}}
	if got := disabledKey([]sysIndex{pk}, "[dbo].[o]"); got != "" {
		t.Error(got)
	}
	pk.partial = true
	want := "the index of its primary key is disabled: ALTER INDEX [pk]]x] ON [dbo].[o] REBUILD"
	if got := disabledKey([]sysIndex{{name: "other", partial: true}, pk}, "[dbo].[o]"); got != want {
		t.Error(got)
	}
}

func TestSQLServerIndexOrder(t *testing.T) {
	pk := sysIndex{name: "pk", kind: 1, unique: true, primary: true, columns: []string{"id"}, desc: []bool{false}}
	got, primary := orderOfIndexes([]sysIndex{
		pk,
		{name: "plain", kind: 2, columns: []string{"at"}, desc: []bool{false}},
		{name: "down", kind: 2, columns: []string{"at", "id"}, desc: []bool{true, true}},
		{name: "mixed", kind: 2, columns: []string{"a", "b", "c"}, desc: []bool{false, false, true}},
		{name: "filtered", kind: 2, unique: true, partial: true, columns: []string{"x"}, desc: []bool{false}},
		{name: "hash", kind: 7, columns: []string{"x"}, desc: []bool{false}},
	})
	want := []engine.Index{
		{Name: "pk", Columns: []string{"id"}, Unique: true, Declared: 1},
		{Name: "plain", Columns: []string{"at", "id"}, Declared: 1},
		{Name: "down", Columns: []string{"at", "id"}, Declared: 2},
		{Name: "mixed", Columns: []string{"a", "b"}, Declared: 3},
		{Name: "filtered", Columns: []string{"x", "id"}, Unique: true, Declared: 1, Partial: true},
	}
	if !reflect.DeepEqual(got, want) || !slices.Equal(primary, []string{"id"}) {
		t.Errorf("got %+v and %v\nwant %+v", got, primary, want)
	}
}

func TestSQLServerWithQuery(t *testing.T) {
	_, err := Dialect{}.Query(context.Background(), nil, "WITH a AS (SELECT 1 AS x) SELECT x FROM a")
	if err == nil || !strings.Contains(err.Error(), "view") {
		t.Errorf("got %v", err)
	}
}

// TestSQLServerRefusedTypes: what has no lossless form is refused, with the reason.
func TestSQLServerRefusedTypes(t *testing.T) {
	for _, c := range []struct {
		typ  Type
		want string
	}{
		{Type{Base: "Money2", CLR: true}, "CLR"},
		{Type{Base: "nvarchar", Length: 10, encrypted: true}, "Always Encrypted"},
		{Type{Base: "newtype"}, "no lossless form"},
	} {
		if v := c.typ.Value(); !strings.Contains(v.Refused, c.want) {
			t.Errorf("%v: refused because %q", c.typ, v.Refused)
		}
	}
}

func columnOf(name string, nullable bool, typ Type) engine.Column {
	return engine.Column{Name: name, Type: typ.Full(), Nullable: nullable, Value: typ.Value()}
}

// TestGoldenList pins the statement that lists the tables.
func TestGoldenList(t *testing.T) {
	golden.Pin(t, "list.sql", listSQL+"\n")
	tsqltest.Is(t, listSQL, "SelectStatement")
}
