package config

import (
	"strings"
	"testing"
)

func TestQueryFlaw(t *testing.T) {
	for _, c := range []struct {
		engine engine
		query  string
		want   string // the problem, "" for none
	}{
		{"", "SELECT id, total FROM orders", ""},
		{"", "select * from (select top 5 * from t order by x) q", ""},
		{"", "WITH a AS (SELECT * FROM t LIMIT 3) SELECT * FROM a", ""},
		{"", "SELECT row_number() OVER (ORDER BY id) n FROM t", ""},
		{sqlServer, "SELECT 'order by limit 5' x, \"limit\", [order by] FROM t -- order by\n WHERE a = 1", ""},
		{"", "SELECT /* ORDER BY /* LIMIT */ */ id FROM t", ""},
		{"", "SELECT id FROM t ORDER BY id", "has an outer ORDER BY"},
		{"", "SELECT id FROM t\norder\n\tby id", "has an outer ORDER BY"},
		{"", "SELECT id FROM t ORDER /* x */ BY id", "has an outer ORDER BY"},
		{"", "SELECT id FROM t UNION SELECT id FROM u ORDER BY 1", "has an outer ORDER BY"},
		{"", "SELECT id FROM t LIMIT 5", "has an outer LIMIT"},
		{"", "SELECT DISTINCT TOP (5) id FROM t", "has an outer TOP"},
		{"", "SELECT id FROM t; ", "has a semicolon"},
		{"", "UPDATE t SET a = 1", "does not begin with SELECT"},
		{"", "", "does not begin with SELECT"},
		{"", "SELECT (id FROM t", "has a parenthesis that is not closed"},
		{"", "SELECT id) FROM t", "closes a parenthesis that it did not open"},
		{"", "SELECT 'x FROM t", "has a quote that does not end"},
		{"", "SELECT id /* FROM t", "has a comment that does not end"},
		{"", "SELECT id FROM t -- all", "ends in a comment that would swallow what is put behind it"},

		{sqlServer, "SELECT TOP 5 id FROM t", "has an outer TOP"},
		{sqlServer, "SELECT TOP(5) PERCENT id FROM t", "has an outer TOP"},
		{sqlServer, "SELECT id FROM t WITH (NOLOCK)", "has an outer NOLOCK hint"},
		{sqlServer, "SELECT id FROM t (nolock) JOIN u ON u.a = t.a", "has an outer NOLOCK hint"},
		{sqlServer, "SELECT id FROM t WITH (INDEX(ix), READUNCOMMITTED)", "has an outer NOLOCK hint"},
		{sqlServer, "SELECT id FROM (SELECT id FROM t WITH (NOLOCK)) q", ""},
		{sqlServer, "SELECT limit, rate FROM t WHERE limit > 5", ""},
		{sqlServer, "SELECT [top], t.[order by] FROM #tmp t", ""},
		{sqlServer, `SELECT id FROM t WHERE p LIKE 'C:\' AND n = 1 ORDER BY id`, "has an outer ORDER BY"},
		{sqlServer, "SELECT [it's] FROM t ORDER BY 'x'", "has an outer ORDER BY"},
		{sqlServer, "SELECT id FROM t ORDER BY id OFFSET 5 ROWS", "has an outer ORDER BY"},

		{postgres, "SELECT top, a[1] FROM t", ""},
		{postgres, "SELECT a FROM t OFFSET 10", "has an outer OFFSET"},
		{postgres, "SELECT a FROM t FETCH FIRST 3 ROWS ONLY", "has an outer FETCH"},
		{postgres, "SELECT $$ order by limit $$, $q$ ' limit $$ $q$ FROM t", ""},
		{postgres, "SELECT $1 FROM t LIMIT ALL", "has an outer LIMIT"},
		{postgres, `SELECT E'it\'s' FROM t ORDER BY 'x'`, "has an outer ORDER BY"},
		{postgres, `SELECT 'C:\' FROM t ORDER BY 'x'`, "has an outer ORDER BY"},
		{postgres, "SELECT t.limit, a AS limit FROM t", ""},
		{postgres, "SELECT a FROM t WHERE b > 1. LIMIT 3", "has an outer LIMIT"},
		{postgres, "SELECT '/*' FROM t ORDER BY 1 -- */\n", "has an outer ORDER BY"},

		{mySQL, `SELECT 'it\'s order by' FROM t`, ""},
		{mySQL, `SELECT 'it\'s' FROM t ORDER BY 'x'`, "has an outer ORDER BY"},
		{mySQL, `SELECT "say \"limit\"" FROM t`, ""},
		{mySQL, "SELECT `order by` FROM t # limit\n WHERE 1", ""},
		{mySQL, "SELECT 5--1 FROM t LIMIT 1", "has an outer LIMIT"},
		{mySQL, "SELECT a FROM t /*!40000 LIMIT 1 */", "has a comment /*! … */, which MySQL executes"},
		{mySQL, "SELECT /* /* */ a FROM t LIMIT 1", "has an outer LIMIT"},

		{sqLite, "SELECT [a b], `c`, \"d\" FROM t", ""},
		{sqLite, "SELECT a FROM t LIMIT 1 OFFSET 2", "has an outer LIMIT"},
	} {
		got := ""
		if f := queryFlaw(c.query, c.engine); f != nil {
			got = f.problem
		}
		if got != c.want {
			t.Errorf("%s %q: %q, want %q", c.engine, c.query, got, c.want)
		}
	}
}

func TestConditionFlaw(t *testing.T) {
	for where, want := range map[string]string{
		"a = 1":                             "",
		"a = ')' OR b = 'x'":                "",
		"a IN (SELECT b FROM c ORDER BY d)": "",
		"a = 1) OR (b = 2":                  "closes a parenthesis that it did not open",
		"a = 1; DELETE":                     "has a semicolon",
		"a = 1 -- x":                        "ends in a comment that would swallow what is put behind it",
		"WHERE a = 1":                       "begins with WHERE",
	} {
		got := ""
		if f := conditionFlaw(where, ""); f != nil {
			got = f.problem
		}
		if got != want {
			t.Errorf("%q: %q, want %q", where, got, want)
		}
	}
}

// Whatever the text: the walk ends, nothing inside parentheses or a quoted string is judged, and an outer ORDER BY behind
// a text that is whole is found.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"SELECT a FROM t", "'it\\'s", "$q$ $q$", "[a]]b]", "/* /* */ */", "-- x\n", "((a))", "E'\\''", "a.b", "\xff`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for e, r := range readings {
			s := scan(text, r)
			for _, w := range s.words {
				if w.depth < 0 || w.text == "" {
					t.Fatalf("%s %q: word %+v", e, text, w)
				}
			}
			if s.broken != "" || s.lineComment {
				continue
			}
			if in := scan("("+text+")", r); in.broken != "" {
				t.Fatalf("%s %q is whole, but not in parentheses: %s", e, text, in.broken)
			}
			inside := queryFlaw("SELECT * FROM (SELECT "+text+" ORDER BY a) q", e)
			if inside != nil && !strings.Contains(text, ";") {
				t.Fatalf("%s %q: a flaw inside parentheses: %s", e, text, inside.problem)
			}
			if queryFlaw("SELECT "+text+" ; ORDER BY a", e) == nil {
				t.Fatalf("%s %q: an outer semicolon was missed", e, text)
			}
		}
	})
}
