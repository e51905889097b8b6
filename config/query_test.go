package config

import "testing"

// TestQueryFlaw: where the connection does not tell the engine, a text is read as each engine would.
func TestQueryFlaw(t *testing.T) {
	for _, c := range []struct{ engine, query, want string }{ // the problem, "" for none
		{"", "SELECT id, total FROM orders", ""},
		{"", "select * from (select top 5 * from t order by x) q", ""},
		{"", "WITH a AS (SELECT * FROM t LIMIT 3) SELECT * FROM a", ""},
		{"", "SELECT row_number() OVER (ORDER BY id) n FROM t", ""},
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
		{"", "SELECT id FROM t -- all", "ends in a comment that would swallow what is put after it"},
		{"mysql", "SELECT a FROM t # all", "ends in a comment that would swallow what is put after it"},
		{"postgres", "SELECT top, a[1] FROM t", ""},
		{"sqlserver", "SELECT TOP 5 id FROM t", "has an outer TOP"},
	} {
		got := ""
		if f := queryFlaw(c.query, c.engine); f != nil {
			got = f.Problem
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
		"a = 1 -- x":                        "ends in a comment that would swallow what is put after it",
		"WHERE a = 1":                       "begins with WHERE",
	} {
		got := ""
		if f := conditionFlaw(where, ""); f != nil {
			got = f.Problem
		}
		if got != want {
			t.Errorf("%q: %q, want %q", where, got, want)
		}
	}
}
