package source

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/golden"
)

// TestMySQLPlans: the real planner reads a page as a range of the index, from the position on, for every type that a
// position can have.
func TestMySQLPlans(t *testing.T) {
	conn, writer, _ := mysqlConn(t)
	d := mySQL{}
	types := map[string]string{"bigint unsigned": "n", "decimal(20,5)": "n * 1.5", "datetime(6)": "'2026-01-01' + INTERVAL n SECOND",
		"timestamp(3)": "'2026-01-01' + INTERVAL n SECOND", "date": "'1026-01-01' + INTERVAL n DAY"}
	var numbers []string
	for i := range 3000 {
		numbers = append(numbers, fmt.Sprintf("(%d)", i))
	}
	mustExec(t, writer, "CREATE TABLE numbers (n int PRIMARY KEY)", "INSERT INTO numbers VALUES "+strings.Join(numbers, ", "))
	i := 0
	for typ, expr := range types {
		i++
		name := "p" + strconv.Itoa(i)
		mustExec(t, writer, "SET time_zone = '+00:00'", "CREATE TABLE "+name+" (id varchar(20) PRIMARY KEY, c "+typ+" NOT NULL, KEY by_c (c, id))",
			"INSERT INTO "+name+" SELECT CONCAT('k', n), "+expr+" FROM numbers", "ANALYZE TABLE "+name)
		tab, err := d.table(t.Context(), conn, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		p, err := newPlan(d, &Config{Table: name, Cursor: []string{"c"}}, "h/d", tab)
		if err != nil {
			t.Fatal(err)
		}
		if p.indexName != "by_c" {
			t.Errorf("%s: the index found is %q", typ, p.indexName)
		}
		at := readAll(t, conn, "SELECT r.c FROM "+tab.from+" AS r ORDER BY r.c LIMIT 1 OFFSET 2500", nil, tab.columns[1])
		st := p.sel.after(50)
		args, err := p.args(st, position{[]byte(at[0]), []byte(`"k2500"`)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := d.explain(t.Context(), conn, st.text, args)
		if err != nil || !strings.Contains(text, "type=range") || !strings.Contains(text, "key=by_c") || strings.Contains(text, "filesort") {
			t.Errorf("%s: %s, %v\n%s", typ, text, err, st.text)
		}
	}
}

// TestMySQLStatements pins the statements, catalog included.
func TestMySQLStatements(t *testing.T) {
	tab := table{name: "shop.or`ders", from: "`shop`.`or``ders`", primaryKey: []string{"tenant", "id"}}
	for _, c := range []struct {
		name     string
		nullable bool
		typ      mySQLType
	}{
		{"tenant", false, mySQLType{data: "varchar", full: "varchar(20)"}}, {"id", false, mySQLType{data: "bigint", full: "bigint unsigned"}},
		{"at", true, mySQLType{data: "datetime", full: "datetime(6)", scale: 6}}, {"ts", false, mySQLType{data: "timestamp", full: "timestamp(3)", scale: 3}},
		{"amount", false, mySQLType{data: "decimal", full: "decimal(20,5)", precision: 20, scale: 5}}, {"weight", true, mySQLType{data: "float", full: "float"}},
	} {
		tab.columns = append(tab.columns, column{name: c.name, typ: c.typ.full, nullable: c.nullable, value: c.typ.value()})
	}
	var b strings.Builder
	for _, cursor := range [][]string{{"at"}, {"ts"}, {"amount"}, {"id"}, {"ts", "amount"}} {
		p, err := newPlan(mySQL{}, &Config{Table: "x", Cursor: cursor, Where: "weight > 1 OR id = 1"}, "h/d", tab)
		if err != nil {
			t.Fatal(err)
		}
		s := p.sel.after(500)
		fmt.Fprintf(&b, "-- after by %v, parameters %v\n%s;\n\n", cursor, s.args, s.text)
	}
	p, err := newPlan(mySQL{}, &Config{Query: "SELECT * FROM o # all", Cursor: []string{"at"}, Key: []string{"tenant", "id"}, Columns: []string{"id"}}, "h/d",
		table{name: "query", columns: tab.columns})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		name string
		statement
	}{{"first", p.sel.first(500)}, {"above", p.sel.page(500, span{after: p.sel.cursors})}, {"after", p.sel.after(500)}, {"latest", p.sel.latest()}, {"nulls", p.sel.nulls(true)}} {
		fmt.Fprintf(&b, "-- query, %s, parameters %v\n%s;\n\n", s.name, s.args, s.text)
	}
	for _, s := range []string{mysqlVariables, mysqlTable, mysqlColumns, fill(mysqlIndexes, "s.IS_VISIBLE = 'NO'"), fill(mysqlIndexes, "s.IGNORED = 'YES'"), mariadbJSON,
		mysqlDescribe("SELECT 1 AS a"),
		mysqlSession(&Config{Timeout: 30 * time.Second}, map[string]string{"version": "8.0.36", "sql_mode": "TRADITIONAL,STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ANSI_QUOTES"}),
		mysqlSession(&Config{Timeout: 500 * time.Millisecond}, map[string]string{"version": "10.11.6-MariaDB"})} {
		fmt.Fprintf(&b, "%s;\n\n", s)
	}
	golden.Pin(t, "mysql/statements.sql", b.String())
}
