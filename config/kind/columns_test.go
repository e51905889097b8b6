package kind

import (
	"slices"
	"strings"
	"testing"
)

func TestParseList(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"id", []string{"id"}},
		{" a , b ", []string{"a", "b"}},
		{"order lines, x", []string{"order lines", "x"}},
		{`"odd, name",b`, []string{"odd, name", "b"}},
		{"[odd, name] , b", []string{"odd, name", "b"}},
		{"`odd, name`", []string{"odd, name"}},
		{`"a""b"`, []string{`a"b`}},
		{"[a]]b]", []string{"a]b"}},
		{"`a``b`", []string{"a`b"}},
		{`[it's "so"]`, []string{`it's "so"`}},
		{`" a "`, []string{" a "}},
		{"größe,名前", []string{"größe", "名前"}},
	} {
		got, err := parseList(c.in)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q %v, want %q", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"", ",", "a,", ",a", "a,,b", `"a`, "[a", "`", `""`, "[]", `"a"b`, `a"b`, "a]", "a,a",
		`a,"a"`} {
		if got, err := parseList(in); err == nil {
			t.Errorf("%q: %q, no error", in, got)
		}
	}
}

// What was read can be written again in every kind of quotes, and reads the same.
func FuzzParseList(f *testing.F) {
	for _, s := range []string{"a,b", `"a,""b",c`, "[x]]y], `z`", "a b", ",", "\"", "ä"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		names, err := parseList(s)
		if err != nil {
			return
		}
		if len(names) == 0 || slices.Contains(names, "") {
			t.Fatalf("%q read as %q", s, names)
		}
		for begin, end := range closers {
			var again []string
			for _, n := range names {
				e := string(end)
				again = append(again, string(begin)+strings.ReplaceAll(n, e, e+e)+e)
			}
			got, err := parseList(strings.Join(again, " , "))
			if err != nil || !slices.Equal(got, names) {
				t.Fatalf("%q read as %q, and again as %q, %v", s, names, got, err)
			}
		}
	})
}
