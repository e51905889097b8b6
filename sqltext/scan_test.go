package sqltext

import "testing"

// TestCondition: what each engine takes for a string, a name or a comment.
func TestCondition(t *testing.T) {
	standard := Syntax{}
	pg, my, ms, lite := Postgres, MySQL, SQLServer, SQLite
	for _, c := range []struct {
		l    Syntax
		text string
		ok   bool
	}{
		{standard, "a = 1", true}, {standard, "a = ')' OR b = 'it''s'", true}, {standard, `"a)" = 1 -- (`, true},
		{standard, "a = 1 /* ( */ AND b = 2", true},
		{standard, "(a = 1", false}, {standard, "a = 1)", false}, {standard, "a = 1) OR (b = 1", false},
		{standard, "a = 'x", false}, {standard, "a = 1 /* x", false},
		{standard, "a = 1;", false}, {standard, "a = ';'", true}, {standard, "a = 1\x00", false},
		{standard, "/* only */", false}, {standard, "WHERE a = 1", false},
		{pg, "a = $$)$$ AND b = $x$ $$ ) $x$", true}, {pg, "a = $$)", false}, {pg, `a = E'\')' AND b = 1`, true},
		{pg, `a = '\' AND (b = 1)`, true},
		{pg, "a[1] = 2", true}, {pg, "/* /* */ ) */ a = 1", true}, {pg, "a = $1)", false}, {pg, "a /* /* */ = 1", false},
		{my, `a = '\')' AND b = 1`, true}, {my, `a = '\'`, false}, {my, "`a)` = 1 # (", true},
		{ms, "[a)] = 1 AND [b]]x)] = 2", true}, {ms, "[a) = 1", false}, {ms, "/* /* */ ) */ a = 1", true},
		{ms, `a = '\' AND (b = 1)`, true},
		{lite, "[a)] = 1 AND `b)` = 2", true}, {lite, "/* /* */ a = 1", true}, {lite, "/* /* */ ) */ a = 1", false},
		{my, "a = 1--1) OR (b = 1", false}, {my, "a = 1-- 1) OR (b = 1\n", true}, {ms, "a = 1--1) OR (b = 1\n", true},
		{my, "a = 1 /*! OR 1 */", false},
	} {
		if flaw := c.l.Condition(c.text); (flaw == nil) != c.ok {
			t.Errorf("%s %q: %v", c.l.Engine, c.text, flaw)
		}
	}
}
