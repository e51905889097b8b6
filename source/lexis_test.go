package source

import "testing"

func TestLexis(t *testing.T) {
	standard := lexis{}
	pg, my, ms, lite := postgres{}.syntax().lexis, mySQL{}.syntax().lexis, sqlServer{}.syntax().lexis, sqliteDialect{}.syntax().lexis
	for _, c := range []struct {
		l    lexis
		text string
		ok   bool
	}{
		{standard, "a = 1", true}, {standard, "a = ')' OR b = 'it''s'", true}, {standard, `"a)" = 1 -- (`, true}, {standard, "a = 1 /* ( */ AND b = 2", true},
		{standard, "(a = 1", false}, {standard, "a = 1)", false}, {standard, "a = 1) OR (b = 1", false}, {standard, "a = 'x", false}, {standard, "a = 1 /* x", false},
		{standard, "a = 1;", false}, {standard, "a = ';'", true}, {standard, "a = 1\x00", false}, {standard, "/* only */", false}, {standard, "WHERE a = 1", false},
		{pg, "a = $$)$$ AND b = $x$ $$ ) $x$", true}, {pg, "a = $$)", false}, {pg, `a = E'\')' AND b = 1`, true}, {pg, `a = '\' AND (b = 1)`, true},
		{pg, "a[1] = 2", true}, {pg, "/* /* */ ) */ a = 1", true}, {pg, "a = $1)", false}, {pg, "a /* /* */ = 1", false},
		{my, `a = '\')' AND b = 1`, true}, {my, `a = '\'`, false}, {my, "`a)` = 1 # (", true},
		{ms, "[a)] = 1 AND [b]]x)] = 2", true}, {ms, "[a) = 1", false}, {ms, "/* /* */ ) */ a = 1", true}, {ms, `a = '\' AND (b = 1)`, true},
		{lite, "[a)] = 1 AND `b)` = 2", true}, {lite, "/* /* */ a = 1", true}, {lite, "/* /* */ ) */ a = 1", false},
	} {
		if err := c.l.checkCondition(c.text); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

func TestLexisQuery(t *testing.T) {
	l := lexis{brackets: true}
	for text, ok := range map[string]bool{
		"SELECT a FROM t": true, "select a from (select top 3 a from t order by a) x": true, "WITH x AS (SELECT 1 a) SELECT a FROM x": true,
		"SELECT a, row_number() OVER (ORDER BY b) AS n FROM t": true, "SELECT [order], [limit] FROM t": true, "SELECT 'ORDER BY' AS a FROM t": true,
		"SELECT TOP 5 a FROM t": false, "SELECT TOP (5) a FROM t": false, "SELECT DISTINCT TOP 5 a FROM t": false, "SELECT a FROM t ORDER BY a": false, "SELECT a FROM t LIMIT 5": false,
		"SELECT a FROM t OFFSET 5 ROWS": false, "SELECT a FROM t FETCH FIRST 5 ROWS ONLY": false, "SELECT a FROM t WITH (NOLOCK)": false,
		"SELECT a FROM t FOR UPDATE": false, "SELECT a INTO b FROM t": false, "DELETE FROM t": false, "": true, "-- nothing": false,
	} {
		if err := l.checkQuery(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSplitName(t *testing.T) {
	for text, want := range map[string][]string{
		"orders": {"orders"}, "dbo.orders": {"dbo", "orders"}, " a . b . c ": {"a", "b", "c"}, "[a.b].[c]]d]": {"a.b", "c]d"}, `"a""b"."c"`: {`a"b`, "c"},
		"`a``b`": {"a`b"}, "Order Lines": {"Order Lines"}, "é.ü": {"é", "ü"}, "[ a ]": {" a "},
		"": nil, "a.": nil, ".a": nil, "a..b": nil, "a.b.c.d": nil, "[a": nil, `"a"b`: nil, "[]": nil, `a"b`: nil, "[a] [b]": nil,
	} {
		got, err := splitName(text)
		if (err == nil) != (want != nil) || len(got) != len(want) {
			t.Errorf("%q: %q (%v)", text, got, err)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q: %q", text, got)
			}
		}
	}
}

func FuzzLexis(f *testing.F) {
	f.Add("a = ')' OR b = $$x$$ /* ( */ -- y")
	f.Add("[a]] = `x` # '\\'")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []dialect{postgres{}, mySQL{}, sqlServer{}, sqliteDialect{}} {
			l := d.syntax().lexis
			if _, err := l.scan(text); err != nil {
				continue
			}
			// What ends where its text ends still does when it stands in our parentheses, and ours are then the only
			// ones that are open behind it.
			if _, err := l.scan("(\n" + text + "\n)"); err != nil {
				t.Fatalf("%s: %q is whole alone and not in parentheses: %v", d.engine(), text, err)
			}
		}
		_, _ = splitName(text)
	})
}
