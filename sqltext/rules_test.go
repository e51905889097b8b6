package sqltext

import (
	"strings"
	"testing"
)

func problem(f *Flaw) string {
	if f == nil {
		return ""
	}
	return f.Problem
}

func TestQuery(t *testing.T) {
	for _, c := range []struct {
		syntax Syntax
		query  string
		want   string // the problem, "" for none
	}{
		{SQLServer, "SELECT 'order by limit 5' x, \"limit\", [order by] FROM t -- order by\n WHERE a = 1", ""},
		{SQLServer, "SELECT TOP 5 id FROM t", "has an outer TOP"},
		{SQLServer, "SELECT TOP(5) PERCENT id FROM t", "has an outer TOP"},
		{SQLServer, "SELECT id FROM t WITH (NOLOCK)", "has a NOLOCK hint"},
		{SQLServer, "SELECT id FROM t (nolock) JOIN u ON u.a = t.a", "has a NOLOCK hint"},
		{SQLServer, "SELECT id FROM t WITH (INDEX(ix), READUNCOMMITTED)", "has a NOLOCK hint"},
		{SQLServer, "SELECT id FROM (SELECT id FROM t WITH (NOLOCK)) q", "has a NOLOCK hint"},
		{SQLServer, "SELECT limit, rate FROM t WHERE limit > 5", ""},
		{SQLServer, "SELECT [top], t.[order by] FROM #tmp t", ""},
		{SQLServer, `SELECT id FROM t WHERE p LIKE 'C:\' AND n = 1 ORDER BY id`, "has an outer ORDER BY"},
		{SQLServer, "SELECT [it's] FROM t ORDER BY 'x'", "has an outer ORDER BY"},
		{SQLServer, "SELECT id FROM t ORDER BY id OFFSET 5 ROWS", "has an outer ORDER BY"},
		{Postgres, "SELECT top, a[1] FROM t", ""},
		{Postgres, "SELECT a FROM t OFFSET 10", "has an outer OFFSET"},
		{Postgres, "SELECT a FROM t FETCH FIRST 3 ROWS ONLY", "has an outer FETCH"},
		{Postgres, "SELECT $$ order by limit $$, $q$ ' limit $$ $q$ FROM t", ""},
		{Postgres, "SELECT $1 FROM t LIMIT ALL", "has an outer LIMIT"},
		{Postgres, `SELECT E'it\'s' FROM t ORDER BY 'x'`, "has an outer ORDER BY"},
		{Postgres, `SELECT 'C:\' FROM t ORDER BY 'x'`, "has an outer ORDER BY"},
		{Postgres, "SELECT t.limit, a AS limit FROM t", ""},
		{Postgres, "SELECT a FROM t WHERE b > 1. LIMIT 3", "has an outer LIMIT"},
		{Postgres, "SELECT '/*' FROM t ORDER BY 1 -- */\n", "has an outer ORDER BY"},
		{MySQL, `SELECT 'it\'s order by' FROM t`, ""},
		{MySQL, `SELECT 'it\'s' FROM t ORDER BY 'x'`, "has an outer ORDER BY"},
		{MySQL, `SELECT "say \"limit\"" FROM t`, ""},
		{MySQL, "SELECT `order by` FROM t # limit\n WHERE 1", ""},
		{MySQL, "SELECT 5--1 FROM t LIMIT 1", "has an outer LIMIT"},
		{MySQL, "SELECT a FROM t /*!40000 LIMIT 1 */", "has a comment /*! … */, which MySQL executes"},
		{MySQL, "SELECT /* /* */ a FROM t LIMIT 1", "has an outer LIMIT"},
		{SQLite, "SELECT [a b], `c`, \"d\" FROM t", ""},
		{SQLite, "SELECT a FROM t LIMIT 1 OFFSET 2", "has an outer LIMIT"},
	} {
		if got := problem(c.syntax.Query(c.query)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.syntax.Engine, c.query, got, c.want)
		}
	}
}

// TestEveryEngineSays: what no engine's query or condition may be. Settings and sources once disagreed on most of
// these.
func TestEveryEngineSays(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT a FROM t": "", "select a from (select a from t order by a) x": "",
		"WITH x AS (SELECT 1 a) SELECT a FROM x": "",
		"(SELECT a FROM t)":                      "", "SELECT a, row_number() OVER (ORDER BY b) AS n FROM t": "",
		"SELECT 'ORDER BY' AS a FROM t":     "",
		"SELECT a AS into, t.update FROM t": "", "SELECT a FROM (SELECT a FROM t FOR UPDATE) q": "",
		"SELECT a INTO b FROM t": "writes (INTO)", "SELECT a FROM t INTO OUTFILE 'x'": "writes (INTO)",
		"SELECT a FROM t FOR UPDATE": "locks rows (FOR UPDATE)", "SELECT a FROM t FOR SHARE": "locks rows (FOR SHARE)",
		"SELECT a FROM t FOR NO KEY UPDATE": "locks rows (FOR NO)", "SELECT a FROM t for key share": "locks rows (FOR KEY)",
		"VALUES (1)": "does not begin with SELECT", "TABLE t": "does not begin with SELECT",
		"DELETE FROM t": "does not begin with SELECT",
		"":              "does not begin with SELECT", "-- nothing": "does not begin with SELECT",
		"SELECT a FROM t ORDER BY a": "has an outer ORDER BY", "SELECT a FROM t;": "has a semicolon",
		"SELECT 'a\x00'": "holds a NUL character",
	} {
		for _, s := range Of("") {
			if got := problem(s.Query(query)); got != want {
				t.Errorf("%s %q: %q, want %q", s.Engine, query, got, want)
			}
		}
	}
	for where, want := range map[string]string{
		"a = 1": "", "a = ')' OR b = 'it''s'": "", "a = 1 /* ( */ AND b = 2": "", "a IN (SELECT b FROM c ORDER BY d)": "",
		"a = ';'": "",
		"(a = 1":  "has a parenthesis that is not closed", "a = 1)": "closes a parenthesis that it did not open",
		"a = 1) OR (b = 1": "closes a parenthesis that it did not open", "a = 'x": "has a quote that does not end",
		"a = 1 /* x": "has a comment that does not end", "a = 1;": "has a semicolon", "a = 1\x00": "holds a NUL character",
		"/* only */": "holds no condition", "WHERE a = 1": "begins with WHERE", "AND a = 1": "begins with AND",
		"or a = 1":   "begins with OR",
		"ORDER BY a": "begins with ORDER", "a = 1 ORDER BY a": "has ORDER BY", "a = 1 group by a": "has GROUP BY",
	} {
		for _, s := range Of("") {
			if got := problem(s.Condition(where)); got != want {
				t.Errorf("%s %q: %q, want %q", s.Engine, where, got, want)
			}
		}
	}
}

// Whatever the text: the walk ends, nothing inside parentheses (but for hints and parameters) or a quoted string is
// judged, and an outer ORDER BY behind a text that is whole is found.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"SELECT a FROM t", "'it\\'s", "$q$ $q$", "[a]]b]", "/* /* */ */", "-- x\n", "((a))",
		"E'\\''", "a.b", "\xff`",
		"a = ')' OR b = $$x$$ /* ( */ -- y", "[a]] = `x` # '\\'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range Of("") {
			read := s.Scan(text)
			for _, w := range read.Words {
				if w.Depth < 0 || w.Text == "" {
					t.Fatalf("%s %q: word %+v", s.Engine, text, w)
				}
			}
			if read.Broken != "" {
				continue
			}
			// What ends where its text ends still does when it stands in our parentheses, and ours are then the only ones
			// that are open behind it.
			if in := s.Scan("(\n" + text + "\n)"); in.Broken != "" {
				t.Fatalf("%s: %q is whole alone and not in parentheses: %s", s.Engine, text, in.Broken)
			}
			if read.LineComment {
				continue
			}
			if in := s.Scan("(" + text + ")"); in.Broken != "" {
				t.Fatalf("%s %q is whole, but not in parentheses: %s", s.Engine, text, in.Broken)
			}
			inside := s.Query("SELECT * FROM (SELECT " + text + " ORDER BY a) q")
			if inside != nil && !strings.Contains(text, ";") && inside.Problem != "has a NOLOCK hint" &&
				!strings.HasPrefix(inside.Problem, "has the parameter ") {
				t.Fatalf("%s %q: a flaw inside parentheses: %s", s.Engine, text, inside.Problem)
			}
			if s.Query("SELECT "+text+" ; ORDER BY a") == nil {
				t.Fatalf("%s %q: an outer semicolon was missed", s.Engine, text)
			}
		}
	})
}

// TestParameters: one would be given a value of Rowrelay's own, and choose other rows without a word.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		syntax Syntax
		where  string
		want   string // the problem, "" for none
	}{
		{Postgres, "owner = $1", "has the parameter $1"},
		{Postgres, "a IN (SELECT b FROM t WHERE c > $12)", "has the parameter $12"},
		{Postgres, "a$1 = 'costs $1' AND b ? 'key' AND c = '{}'::jsonb AND d[1:2] @> $$x$$ -- $1", ""},
		{MySQL, "owner = ?", "has the parameter ?"},
		{MySQL, "owner = 'who?' AND a = @x AND `b?` = 1 AND c->'$.d' = 1 /* ? */", ""},
		{SQLServer, "owner = @p1", "has the parameter @p1"},
		{SQLServer, "owner <> '@p1' AND [@a] = @@SPID AND b@c = 1", ""},
		{SQLite, "owner = ?", "has the parameter ?"},
		{SQLite, "owner = ?2", "has the parameter ?"},
		{SQLite, "owner = :id", "has the parameter :id"},
		{SQLite, "owner = @id", "has the parameter @id"},
		{SQLite, "owner = $id", "has the parameter $id"},
		{SQLite, "owner = ':id' AND a->>'$.b' = 1", ""},
	} {
		if got := problem(c.syntax.Condition(c.where)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.syntax.Engine, c.where, got, c.want)
		}
		query := "SELECT a FROM t WHERE " + c.where + "\n"
		if got := problem(c.syntax.Query(query)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.syntax.Engine, query, got, c.want)
		}
	}
}
