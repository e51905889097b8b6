package source

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/enginetest/typerules"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// everyDialect are all engines; a new one is added here and to Find.
var everyDialect = []string{dsn.SQLServer, dsn.Postgres, dsn.MySQL, dsn.SQLite}

// goldenColumn makes a column of the first type in a dialect's list that has the kind.
func goldenColumn(t *testing.T, d engine.Dialect, name string, k engine.Kind, nullable bool) engine.Column {
	t.Helper()
	for _, rule := range typerules.Of(d) {
		if rule.Value.Kind == k && rule.Value.Refused == "" && rule.Value.NoKey == "" {
			return engine.Column{Name: name, Type: rule.Sample, Nullable: nullable, Value: rule.Value}
		}
	}
	t.Fatalf("%s has no type of kind %d", d.Syntax().Name, k)
	return engine.Column{}
}

// TestGoldenStatements pins every statement that a cursor source sends, by engine.
func TestGoldenStatements(t *testing.T) {
	t.Parallel()
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
		for name, sel := range map[string]keyset.Selection{
			"simple": {From: from, Columns: []engine.Column{id, version}, Order: []engine.Column{version, id},
				Cursors: 1},
			"cursor_is_key": {From: from, Columns: []engine.Column{id, amount}, Order: []engine.Column{id}, Cursors: 1},
			"composite": {From: from, Columns: []engine.Column{tenant, id, updated, version, binary},
				Order: []engine.Column{updated, version, tenant, id}, Cursors: 2},
			"nullable_where": {From: from, Columns: []engine.Column{id, updated, amount}, Order: []engine.Column{updated, id},
				Cursors: 1,
				Where:   "status = 'new' OR status = 'paid' -- open ones"},
			"query": {Query: "SELECT id, version FROM orders -- all of them", Columns: []engine.Column{id, version},
				Order: []engine.Column{version, nullable(id)}, Cursors: 1},
			"odd_names": {From: d.Syntax().Quote("a.b") + "." + d.Syntax().Quote("O'Brien\"s [x] `y`"),
				Columns: []engine.Column{odd}, Order: []engine.Column{odd, id}, Cursors: 1},
		} {
			sel.Syntax = syntaxOf(d)
			for variant, st := range map[string]keyset.Statement{
				"first": sel.First(501), "above": sel.Page(501, keyset.Span{After: sel.Cursors}), "after": sel.After(501),
				"latest": sel.Latest(),
				"nulls":  sel.Nulls(true), "null_keys": sel.Nulls(false),
				"numbers": numbersOf(&sel),
			} {
				if st.Text == "" {
					continue
				}
				if strings.Contains(strings.ToUpper(st.Text), "OFFSET") {
					t.Errorf("%s %s %s has an OFFSET", engineName, name, variant)
				}
				golden.Pin(t, filepath.Join(engineName, name+"_"+variant+".sql"), goldenText(&sel, st))
			}
			// What sweeps, retries, probes and operators read: one file for each selection.
			all := len(sel.Order)
			var b strings.Builder
			for _, v := range []struct {
				name string
				st   keyset.Statement
			}{
				{"between two rows", sel.Page(501, keyset.Span{After: all, UpTo: all})},
				{"up to a value, after another", sel.Page(501, keyset.Span{After: sel.Cursors, UpTo: sel.Cursors})},
				{"count, after a row and up to a value", sel.Count(keyset.Span{After: all, UpTo: sel.Cursors}, 0)},
				{"count", sel.Count(keyset.Span{}, 0)},
				{"the last one of the next rows, up to a value",
					sel.Reach(4096, keyset.Span{After: all, UpTo: sel.Cursors})},
				{"the last row below a value", sel.Below()}, {"any row from a value on", sel.FromCursor()},
				{"stored times: text of another form, up to a value", goldenForm(&sel, "2026-04-07T01:23:45Z", "x")},
				{"of all text", goldenForm(&sel, "2026-04-07 01:23:45", nil)},
				{"of another offset", goldenForm(&sel, "2026-04-07 01:23:45 +0200 CEST", nil)},
				{"all but dates", goldenForm(&sel, "2026-04-07", nil)},
				{"numbers of a smaller unit", goldenBelow(&sel)}, {"values between two texts", goldenBetween(&sel)},
				{"by one key", goldenKeys(&sel, 1)}, {"by two keys", goldenKeys(&sel, 2)},
				{"after a row, no order key of four", goldenAvoid(&sel)},
			} {
				if v.st.Text == "" {
					continue
				}
				b.WriteString("-- " + v.name + "\n" + goldenText(&sel, v.st) + "\n")
			}
			golden.Pin(t, filepath.Join(engineName, name+"_ranges.sql"), b.String())
		}
	}
}

// TestGoldenRecent pins the page of a sweep that leaves out what earlier transactions wrote.
func TestGoldenRecent(t *testing.T) {
	t.Parallel()
	d := postgres.Dialect{}
	id, version := goldenColumn(t, d, "id", engine.KindInteger, false), goldenColumn(t, d, "version", engine.KindInteger,
		false)
	writer := postgres.WriterOf("16384")
	sel := keyset.Selection{Syntax: syntaxOf(d), From: `"shop"."orders"`, Order: []engine.Column{version, id}, Cursors: 1,
		Columns: []engine.Column{id, version, writer.Column}, Writer: writer}
	st := sel.Recent(501, 2000, keyset.Span{After: 2, UpTo: 2}, 3<<32+4711)
	golden.Pin(t, filepath.Join(dsn.Postgres, "recent.sql"), goldenText(&sel, st))
}

// goldenText is a statement with its parameters.
func goldenText(sel *keyset.Selection, st keyset.Statement) string {
	var args []string
	for _, i := range st.Args {
		switch n := len(sel.Order); {
		case i >= keyset.OwnValues:
			args = append(args, st.Values[i-keyset.OwnValues].Col.Name)
		case i >= n:
			args = append(args, "up to "+sel.Order[i-n].Name)
		default:
			args = append(args, sel.Order[i].Name)
		}
	}
	if len(args) == 0 {
		return st.Text + "\n"
	}
	return st.Text + "\n-- parameters: " + strings.Join(args, ", ") + "\n"
}

// numbersOf is the statement for a stored time, where there are such.
func numbersOf(sel *keyset.Selection) keyset.Statement {
	if !sel.Syntax.StoredTimes {
		return keyset.Statement{}
	}
	return sel.Numbers(0)
}

// goldenForm is the statement for a stored time of another form than a text's, where there are such.
func goldenForm(sel *keyset.Selection, text string, upTo any) keyset.Statement {
	if !sel.Syntax.StoredTimes {
		return keyset.Statement{}
	}
	rules := timeform.Rules{Lengths: true, Utc: true}
	return sel.OtherForm(0, rules.Of([]byte(`"`+text+`"`)), rules, "2026-04-05", upTo)
}

func goldenBelow(sel *keyset.Selection) keyset.Statement {
	if !sel.Syntax.StoredTimes {
		return keyset.Statement{}
	}
	return sel.NumbersBelow(0, timeform.Units[0])
}

func goldenBetween(sel *keyset.Selection) keyset.Statement {
	if !sel.Syntax.StoredTimes {
		return keyset.Statement{}
	}
	return sel.Between(0, "2026-04-07 01:23", "2026-04-07 01:23~")
}

// goldenKeys is the statement that reads n rows by their keys, which here are the order's columns behind the cursor's,
// or that of a cursor which is the key.
func goldenKeys(sel *keyset.Selection, n int) keyset.Statement {
	var columns []*engine.Column
	for i := min(sel.Cursors, len(sel.Order)-1); i < len(sel.Order); i++ {
		columns = append(columns, &sel.Order[i])
	}
	keys := make([]keyset.Key, n)
	for i := range keys {
		keys[i].Args = make([]any, len(columns))
	}
	return sel.ByKeys(columns, keys, sel.Query != "")
}

// goldenAvoid is the page after a position whose order key is none of three: the middle one holds NULLs.
func goldenAvoid(sel *keyset.Selection) keyset.Statement {
	d, err := engines.Find(sel.Syntax.Name)
	if err != nil {
		panic(err)
	}
	p := plan.Plan{Dialect: d, Sel: *sel}
	for i := range sel.Columns {
		if sel.Columns[i].Value.Kind == engine.KindInteger || sel.Columns[i].Value.Kind == engine.KindText {
			p.OrderKey = append(p.OrderKey, i)
		}
	}
	var avoid [][]byte
	for _, v := range []string{"7", "null", `"9007199254740993"`, "0"} {
		object := "{"
		for n, i := range p.OrderKey {
			object += []string{"", ","}[min(n, 1)] + plan.JSONName(sel.Columns[i].Name) + v
		}
		avoid = append(avoid, []byte(object+"}"))
	}
	return sel.Page(2, keyset.Span{After: len(sel.Order), Also: []keyset.Condition{p.NoneOf(avoid[:3])}})
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
