package source

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/golden"
)

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
				"first": sel.first(501), "above": sel.page(501, span{after: sel.cursors}), "after": sel.after(501), "latest": sel.latest(),
				"nulls": sel.nulls(true), "null_keys": sel.nulls(false),
				"numbers": numbersOf(&sel),
			} {
				if st.text == "" {
					continue
				}
				if strings.Contains(strings.ToUpper(st.text), "OFFSET") {
					t.Errorf("%s %s %s has an OFFSET", engine, name, variant)
				}
				golden.Pin(t, filepath.Join(engine, name+"_"+variant+".sql"), goldenText(&sel, st))
			}
			// What sweeps, retries, probes and operators read: one file for each selection.
			all := len(sel.order)
			var b strings.Builder
			for _, v := range []struct {
				name string
				st   statement
			}{
				{"between two rows", sel.page(501, span{after: all, upTo: all})}, {"up to a value, after another", sel.page(501, span{after: sel.cursors, upTo: sel.cursors})},
				{"count, after a row and up to a value", sel.count(span{after: all, upTo: sel.cursors})}, {"count", sel.count(span{})},
				{"the last row below a value", sel.below()}, {"any row from a value on", sel.fromCursor()},
				{"stored times: text of another form, up to a value", goldenForm(&sel, "2026-04-07T01:23:45Z", "x")}, {"of all text", goldenForm(&sel, "2026-04-07 01:23:45", nil)},
				{"of another offset", goldenForm(&sel, "2026-04-07 01:23:45 +0200 CEST", nil)}, {"all but dates", goldenForm(&sel, "2026-04-07", nil)},
				{"numbers of a smaller unit", goldenBelow(&sel)}, {"values between two texts", goldenBetween(&sel)},
				{"by one key", goldenKeys(&sel, 1)}, {"by two keys", goldenKeys(&sel, 2)}, {"after a row, no order key of four", goldenAvoid(&sel)},
			} {
				if v.st.text == "" {
					continue
				}
				b.WriteString("-- " + v.name + "\n" + goldenText(&sel, v.st) + "\n")
			}
			golden.Pin(t, filepath.Join(engine, name+"_ranges.sql"), b.String())
		}
	}
}

// goldenText is a statement with its parameters.
func goldenText(sel *selection, st statement) string {
	var args []string
	for _, i := range st.args {
		switch n := len(sel.order); {
		case i >= ownValues:
			args = append(args, st.values[i-ownValues].col.name)
		case i >= n:
			args = append(args, "up to "+sel.order[i-n].name)
		default:
			args = append(args, sel.order[i].name)
		}
	}
	if len(args) == 0 {
		return st.text + "\n"
	}
	return st.text + "\n-- parameters: " + strings.Join(args, ", ") + "\n"
}

// numbersOf is the statement for a stored time, where there are such.
func numbersOf(sel *selection) statement {
	if !sel.dialect.syntax().storedTimes {
		return statement{}
	}
	return sel.numbers(0)
}

// goldenForm is the statement for a stored time of another form than a text's, where there are such.
func goldenForm(sel *selection, text string, upTo any) statement {
	if !sel.dialect.syntax().storedTimes {
		return statement{}
	}
	rules := formRules{lengths: true, utc: true}
	return sel.otherForm(0, rules.of([]byte(`"`+text+`"`)), rules, "2026-04-05", upTo)
}

func goldenBelow(sel *selection) statement {
	if !sel.dialect.syntax().storedTimes {
		return statement{}
	}
	return sel.numbersBelow(0, units[0])
}

func goldenBetween(sel *selection) statement {
	if !sel.dialect.syntax().storedTimes {
		return statement{}
	}
	return sel.between(0, "2026-04-07 01:23", "2026-04-07 01:23~")
}

// goldenKeys is the statement that reads n rows by their keys, which here are the order's columns behind the cursor's, or that
// of a cursor which is the key.
func goldenKeys(sel *selection, n int) statement {
	var columns []*column
	for i := min(sel.cursors, len(sel.order)-1); i < len(sel.order); i++ {
		columns = append(columns, &sel.order[i])
	}
	keys := make([]rowKey, n)
	for i := range keys {
		keys[i].args = make([]any, len(columns))
	}
	return sel.byKeys(columns, keys, sel.query != "")
}

// goldenAvoid is the page after a position whose order key is none of three: the middle one holds NULLs.
func goldenAvoid(sel *selection) statement {
	p := plan{dialect: sel.dialect, sel: *sel}
	for i := range sel.columns {
		if sel.columns[i].value.kind == kindInteger || sel.columns[i].value.kind == kindText {
			p.orderKey = append(p.orderKey, i)
		}
	}
	var avoid [][]byte
	for _, v := range []string{"7", "null", `"9007199254740993"`, "0"} {
		object := "{"
		for n, i := range p.orderKey {
			object += []string{"", ","}[min(n, 1)] + jsonName(sel.columns[i].name) + v
		}
		avoid = append(avoid, []byte(object+"}"))
	}
	return sel.page(2, span{after: len(sel.order), also: []condition{p.noneOf(avoid[:3])}})
}

func nullable(c column) column {
	c.nullable = true
	return c
}
