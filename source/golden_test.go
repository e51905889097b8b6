package source

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// pin compares with a file under testdata/golden, or writes it.
func pin(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with: go test ./source -run Golden -update, and read what it holds)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-file +now):\n%s", path, diff)
	}
}

// everyDialect are all engines; a new one is added here and to dialectFor.
var everyDialect = []string{engineSQLServer, enginePostgres, engineMySQL, engineSQLite}

// goldenColumn makes a column of the first type in a dialect's list that has the kind.
func goldenColumn(t *testing.T, d dialect, name string, k kind, nullable bool) column {
	t.Helper()
	for _, rule := range d.types() {
		if rule.value.kind == k && rule.value.refused == "" && rule.value.noKey == "" {
			return column{name: name, typ: rule.sample, nullable: nullable, value: rule.value}
		}
	}
	t.Fatalf("%s has no type of kind %d", d.engine(), k)
	return column{}
}

// TestGoldenStatements pins every statement that a cursor source sends, by engine.
func TestGoldenStatements(t *testing.T) {
	for _, engine := range everyDialect {
		d, err := dialectFor(engine)
		if err != nil {
			t.Fatal(err)
		}
		col := func(name string, k kind, nullable bool) column { return goldenColumn(t, d, name, k, nullable) }
		id, tenant := col("id", kindInteger, false), col("tenant", kindText, false)
		updated, version := col("updated_at", kindDateTime, true), col("version", kindInteger, false)
		binary, amount := col("payload", kindBinary, true), col("amount", kindDecimal, true)
		odd := col("Select \"x\" [y] `z` 'é'", kindInteger, true)
		from := d.quote("shop") + "." + d.quote("orders")
		for name, sel := range map[string]selection{
			"simple":        {from: from, columns: []column{id, version}, order: []column{version, id}, cursors: 1},
			"cursor_is_key": {from: from, columns: []column{id, amount}, order: []column{id}, cursors: 1},
			"composite":     {from: from, columns: []column{tenant, id, updated, version, binary}, order: []column{updated, version, tenant, id}, cursors: 2},
			"nullable_where": {from: from, columns: []column{id, updated, amount}, order: []column{updated, id}, cursors: 1,
				where: "status = 'new' OR status = 'paid' -- open ones"},
			"query":     {query: "SELECT id, version FROM orders -- all of them", columns: []column{id, version}, order: []column{version, nullable(id)}, cursors: 1},
			"odd_names": {from: d.quote("a.b") + "." + d.quote("O'Brien\"s [x] `y`"), columns: []column{odd}, order: []column{odd, id}, cursors: 1},
		} {
			sel.dialect = d
			for variant, st := range map[string]statement{
				"first": sel.first(501), "above": sel.page(501, sel.cursors), "after": sel.after(501), "latest": sel.latest(),
				"nulls": sel.nulls(true), "null_keys": sel.nulls(false),
				"numbers": numbersOf(&sel),
			} {
				if st.text == "" {
					continue
				}
				if strings.Contains(strings.ToUpper(st.text), "OFFSET") {
					t.Errorf("%s %s %s has an OFFSET", engine, name, variant)
				}
				var args []string
				for _, i := range st.args {
					args = append(args, sel.order[i].name)
				}
				text := st.text + "\n"
				if len(args) > 0 {
					text += "-- parameters: " + strings.Join(args, ", ") + "\n"
				}
				pin(t, filepath.Join(engine, name+"_"+variant+".sql"), text)
			}
		}
	}
}

// numbersOf is the statement for a stored time, where there are such.
func numbersOf(sel *selection) statement {
	if !sel.dialect.syntax().storedTimes {
		return statement{}
	}
	return sel.numbers(0)
}

func nullable(c column) column {
	c.nullable = true
	return c
}
