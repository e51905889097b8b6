package source

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/enginetest"
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestMySQLPlans: the real planner reads a page as a range of the index, from the position on, for every type that a
// position can have.
func TestMySQLPlans(t *testing.T) {
	t.Parallel()
	conn, writer := mysqlPrepared(t)
	d := mysql.Dialect{}
	types := map[string]string{"bigint unsigned": "n", "decimal(20,5)": "n * 1.5",
		"datetime(6)":  "'2026-01-01' + INTERVAL n SECOND",
		"timestamp(3)": "'2026-01-01' + INTERVAL n SECOND", "date": "'1026-01-01' + INTERVAL n DAY"}
	var numbers []string
	for i := range 3000 {
		numbers = append(numbers, fmt.Sprintf("(%d)", i))
	}
	testenv.Exec(t, writer, "CREATE TABLE numbers (n int PRIMARY KEY)",
		"INSERT INTO numbers VALUES "+strings.Join(numbers, ", "))
	i := 0
	for typ, expr := range types {
		i++
		name := "p" + strconv.Itoa(i)
		testenv.Exec(t, writer, "SET time_zone = '+00:00'",
			"CREATE TABLE "+name+" (id varchar(20) PRIMARY KEY, c "+typ+" NOT NULL, KEY by_c (c, id))",
			"INSERT INTO "+name+" SELECT CONCAT('k', n), "+expr+" FROM numbers", "ANALYZE TABLE "+name)
		tab, err := d.Table(t.Context(), conn, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.New(d, &plan.Config{Table: name, Cursor: []string{"c"}}, "h/d", tab)
		if err != nil {
			t.Fatal(err)
		}
		if p.IndexName != "by_c" {
			t.Errorf("%s: the index found is %q", typ, p.IndexName)
		}
		at := enginetest.Values(t, d, conn, "SELECT r.c FROM "+tab.From+" AS r ORDER BY r.c LIMIT 1 OFFSET 2500", nil,
			tab.Columns[1])
		st := p.Sel.After(50)
		args, err := p.Args(st, keyset.Position{[]byte(at[0]), []byte(`"k2500"`)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := d.Explain(t.Context(), conn, st.Text, args)
		if err != nil || !strings.Contains(text, "type=range") || !strings.Contains(text, "key=by_c") ||
			strings.Contains(text, "filesort") {
			t.Errorf("%s: %s, %v\n%s", typ, text, err, st.Text)
		}
	}
}

// TestMySQLStatements pins the statements of a page.
func TestMySQLStatements(t *testing.T) {
	t.Parallel()
	tab := engine.Table{Name: "shop.or`ders", From: "`shop`.`or``ders`", PrimaryKey: []string{"tenant", "id"}}
	for _, c := range []struct {
		name     string
		nullable bool
		typ      mysql.Type
	}{
		{"tenant", false, mysql.Type{Data: "varchar", Full: "varchar(20)"}},
		{"id", false, mysql.Type{Data: "bigint", Full: "bigint unsigned"}},
		{"at", true, mysql.Type{Data: "datetime", Full: "datetime(6)", Scale: 6}},
		{"ts", false, mysql.Type{Data: "timestamp", Full: "timestamp(3)", Scale: 3}},
		{"amount", false, mysql.Type{Data: "decimal", Full: "decimal(20,5)", Precision: 20, Scale: 5}},
		{"weight", true, mysql.Type{Data: "float", Full: "float"}},
	} {
		tab.Columns = append(tab.Columns,
			engine.Column{Name: c.name, Type: c.typ.Full, Nullable: c.nullable, Value: c.typ.Value()})
	}
	var b strings.Builder
	for _, cursor := range [][]string{{"at"}, {"ts"}, {"amount"}, {"id"}, {"ts", "amount"}} {
		p, err := plan.New(mysql.Dialect{}, &plan.Config{Table: "x", Cursor: cursor, Where: "weight > 1 OR id = 1"}, "h/d",
			tab)
		if err != nil {
			t.Fatal(err)
		}
		s := p.Sel.After(500)
		fmt.Fprintf(&b, "-- after by %v, parameters %v\n%s;\n\n", cursor, s.Args, s.Text)
	}
	p, err := plan.New(mysql.Dialect{},
		&plan.Config{Query: "SELECT * FROM o # all", Cursor: []string{"at"}, Key: []string{"tenant", "id"},
			Columns: []string{"id"}}, "h/d",
		engine.Table{Name: "query", Columns: tab.Columns})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		name string
		keyset.Statement
	}{{"first", p.Sel.First(500)}, {"above", p.Sel.Page(500, keyset.Span{After: p.Sel.Cursors})},
		{"after", p.Sel.After(500)}, {"latest", p.Sel.Latest()}, {"nulls", p.Sel.Nulls(true)}} {
		fmt.Fprintf(&b, "-- query, %s, parameters %v\n%s;\n\n", s.name, s.Args, s.Text)
	}
	golden.Pin(t, "mysql/statements.sql", b.String())
}

// mysqlPrepared returns a connection to a database of the test's own, as a source prepares it, and a writer beside it.
func mysqlPrepared(t *testing.T) (*sql.Conn, *sql.DB) {
	t.Helper()
	url := testenv.MySQL(t)
	c, err := engines.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	conn, _ := enginetest.Prepare(t, c.Dialect, c.DB(2))
	return conn, testenv.Open(t, "mysql", testenv.MySQLDSN(t, url))
}
