package plaintext

import "testing"

func TestLine(t *testing.T) {
	for s, want := range map[string]string{
		"":                                 "",
		"a line":                           "a line",
		" two\r\n\tlines ":                 "two lines",
		"a NUL\x00, a bell\a":              "a NUL, a bell",
		"\x1b[31mred":                      "[31mred",
		"turned \u202eround":               "turned round",
		"invalid \xff UTF-8, and a \u00a0": "invalid \uFFFD UTF-8, and a",
		"\u200b\u00ad\ufeff":               "",
		"a\u2028b\u0085c":                  "a b c",
		"Größe 5 µm":                       "Größe 5 µm",
	} {
		if got := Line(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s          string
		most       int
		cut, start string
	}{
		{"abcdef", 6, "abcdef", "abcdef"},
		{"abcdef", 5, "ab…", "abcde"},
		{"ééé", 5, "é…", "éé"},
		{"ééé", 4, "…", "éé"},
	} {
		if got := Cut(c.s, c.most); got != c.cut {
			t.Errorf("%q cut to %d: %q, want %q", c.s, c.most, got, c.cut)
		}
		if got := Start(c.s, c.most); got != c.start {
			t.Errorf("the start of %q, %d: %q, want %q", c.s, c.most, got, c.start)
		}
	}
}
