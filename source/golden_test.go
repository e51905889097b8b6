package source

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/golden"
)

// everyDialect are all engines; a new one is added here and to Find.
var everyDialect = []string{dsn.SQLServer, dsn.Postgres, dsn.MySQL, dsn.SQLite}

// goldenColumn makes a column of the first type in a dialect's list that has the kind.
func goldenColumn(t *testing.T, d engine.Dialect, name string, k engine.Kind, nullable bool) engine.Column {
	t.Helper()
	for _, rule := range d.Syntax().Types() {
		if rule.Value.Kind == k && rule.Value.Refused == "" && rule.Value.NoKey == "" {
			return engine.Column{Name: name, Type: rule.Sample, Nullable: nullable, Value: rule.Value}
		}
	}
	t.Fatalf("%s has no type of kind %d", d.Syntax().Name, k)
	return engine.Column{}
}

// TestGoldenStatements pins every statement that a cursor source sends, by engine.
func TestGoldenStatements(t *testing.T) {
	for _, engineName := range everyDialect {
		d, err := engines.Find(engineName)
		if err != nil {
			t.Fatal(err)
		}
		col := func(name string, k engine.Kind, nullable bool) engine.Column {
			return goldenColumn(t, d, name, k, nullable)
		}
		id, tenant := col("id", engine.KindInteger, false), col("tenant", engine.KindText, false)
		updated, version := col("updated_at", engine.KindDateTime, true), col("version", engine.KindInteger, false)
		binary, amount := col("payload", engine.KindBinary, true), col("amount", engine.KindDecimal, true)
		odd := col("Select \"x\" [y] `z` 'é'", engine.KindInteger, true)
		from := d.Syntax().Quote("shop") + "." + d.Syntax().Quote("orders")
		for name, sel := range map[string]selection{
			"simple":        {from: from, columns: []engine.Column{id, version}, order: []engine.Column{version, id}, cursors: 1},
			"cursor_is_key": {from: from, columns: []engine.Column{id, amount}, order: []engine.Column{id}, cursors: 1},
			"composite":     {from: from, columns: []engine.Column{tenant, id, updated, version, binary}, order: []engine.Column{updated, version, tenant, id}, cursors: 2},
			"nullable_where": {from: from, columns: []engine.Column{id, updated, amount}, order: []engine.Column{updated, id}, cursors: 1,
				where: "status = 'new' OR status = 'paid' -- open ones"},
			"query":     {query: "SELECT id, version FROM orders -- all of them", columns: []engine.Column{id, version}, order: []engine.Column{version, nullable(id)}, cursors: 1},
			"odd_names": {from: d.Syntax().Quote("a.b") + "." + d.Syntax().Quote("O'Brien\"s [x] `y`"), columns: []engine.Column{odd}, order: []engine.Column{odd, id}, cursors: 1},
		} {
			sel.syntax = syntaxOf(d)
			for variant, st := range map[string]statement{
				"first": sel.first(501), "above": sel.page(501, span{after: sel.cursors}), "after": sel.after(501), "latest": sel.latest(),
				"nulls": sel.nulls(true), "null_keys": sel.nulls(false),
				"numbers": numbersOf(&sel),
			} {
				if st.text == "" {
					continue
				}
				if strings.Contains(strings.ToUpper(st.text), "OFFSET") {
					t.Errorf("%s %s %s has an OFFSET", engineName, name, variant)
				}
				golden.Pin(t, filepath.Join(engineName, name+"_"+variant+".sql"), goldenText(&sel, st))
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
			golden.Pin(t, filepath.Join(engineName, name+"_ranges.sql"), b.String())
		}
	}
}

// goldenText is a statement with its parameters.
func goldenText(sel *selection, st statement) string {
	var args []string
	for _, i := range st.args {
		switch n := len(sel.order); {
		case i >= ownValues:
			args = append(args, st.values[i-ownValues].col.Name)
		case i >= n:
			args = append(args, "up to "+sel.order[i-n].Name)
		default:
			args = append(args, sel.order[i].Name)
		}
	}
	if len(args) == 0 {
		return st.text + "\n"
	}
	return st.text + "\n-- parameters: " + strings.Join(args, ", ") + "\n"
}

// numbersOf is the statement for a stored time, where there are such.
func numbersOf(sel *selection) statement {
	if !sel.syntax.StoredTimes {
		return statement{}
	}
	return sel.numbers(0)
}

// goldenForm is the statement for a stored time of another form than a text's, where there are such.
func goldenForm(sel *selection, text string, upTo any) statement {
	if !sel.syntax.StoredTimes {
		return statement{}
	}
	rules := formRules{lengths: true, utc: true}
	return sel.otherForm(0, rules.of([]byte(`"`+text+`"`)), rules, "2026-04-05", upTo)
}

func goldenBelow(sel *selection) statement {
	if !sel.syntax.StoredTimes {
		return statement{}
	}
	return sel.numbersBelow(0, units[0])
}

func goldenBetween(sel *selection) statement {
	if !sel.syntax.StoredTimes {
		return statement{}
	}
	return sel.between(0, "2026-04-07 01:23", "2026-04-07 01:23~")
}

// goldenKeys is the statement that reads n rows by their keys, which here are the order's columns behind the cursor's, or that
// of a cursor which is the key.
func goldenKeys(sel *selection, n int) statement {
	var columns []*engine.Column
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
	d, err := engines.Find(sel.syntax.Name)
	if err != nil {
		panic(err)
	}
	p := plan{dialect: d, sel: *sel}
	for i := range sel.columns {
		if sel.columns[i].Value.Kind == engine.KindInteger || sel.columns[i].Value.Kind == engine.KindText {
			p.orderKey = append(p.orderKey, i)
		}
	}
	var avoid [][]byte
	for _, v := range []string{"7", "null", `"9007199254740993"`, "0"} {
		object := "{"
		for n, i := range p.orderKey {
			object += []string{"", ","}[min(n, 1)] + jsonName(sel.columns[i].Name) + v
		}
		avoid = append(avoid, []byte(object+"}"))
	}
	return sel.page(2, span{after: len(sel.order), also: []condition{p.noneOf(avoid[:3])}})
}

// syntaxOf is a dialect's, for a selection.
func syntaxOf(d engine.Dialect) *engine.Syntax {
	s := d.Syntax()
	return &s
}

func nullable(c engine.Column) engine.Column {
	c.Nullable = true
	return c
}
