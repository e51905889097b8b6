package engine

import (
	"testing"
)

func TestSplitName(t *testing.T) {
	for text, want := range map[string][]string{
		"orders": {"orders"}, "dbo.orders": {"dbo", "orders"}, " a . b . c ": {"a", "b", "c"}, "[a.b].[c]]d]": {"a.b", "c]d"},
		`"a""b"."c"`: {`a"b`, "c"},
		"`a``b`":     {"a`b"}, "Order Lines": {"Order Lines"}, "é.ü": {"é", "ü"}, "[ a ]": {" a "},
		"": nil, "a.": nil, ".a": nil, "a..b": nil, "a.b.c.d": nil, "[a": nil, `"a"b`: nil, "[]": nil, `a"b`: nil,
		"[a] [b]": nil,
	} {
		got, err := SplitName(text)
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

// FuzzSplitName: no name makes it panic.
func FuzzSplitName(f *testing.F) {
	f.Add("[a]]b].`c`")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = SplitName(text) })
}

// TestFill: a name that holds what a pattern is filled at stays as it is.
func TestFill(t *testing.T) {
	for _, name := range []string{`"a%s"`, `"50% off"`, `"%%s"`, `"%%%s%"`} {
		if got, want := Fill("(SELECT %s FROM "+Literal(name)+")", "c"), "(SELECT c FROM "+name+")"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
