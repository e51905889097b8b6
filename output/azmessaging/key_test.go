package azmessaging

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestKey(t *testing.T) {
	for _, same := range []string{"", "order-17", strings.Repeat("x", 128), strings.Repeat("é", 128),
		strings.Repeat("😀", 64)} {
		if got := Key(same); got != same {
			t.Errorf("%q becomes %q", same, got)
		}
	}
	seen := map[string]string{}
	for _, other := range []string{
		strings.Repeat("x", 129), strings.Repeat("x", 130), strings.Repeat("é", 129), strings.Repeat("😀", 65),
		strings.Repeat("😀", 64) + "x", "\xff", "\xfe", strings.Repeat("x", 128) + "\xff",
	} {
		got := Key(other)
		if before, again := seen[got]; got == other || again {
			t.Errorf("%q becomes %q, as %q does", other, got, before)
		}
		seen[got] = other
	}
	if got := Key("order-" + strings.Repeat("x", 200)); !strings.HasPrefix(got, "order-xxx") || len(got) != 128 {
		t.Errorf("%q: its beginning is for people", got)
	}
}

// Whatever the key: the service takes what becomes of it, and equal ones stay equal.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"", "a", strings.Repeat("é", 129), "\xff", strings.Repeat("😀", 65)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		got := Key(key)
		if n := len(utf16.Encode([]rune(got))); n > maxKey || !utf8.ValidString(got) || (got == "") != (key == "") {
			t.Errorf("%q becomes %q of %d characters", key, got, n)
		}
		if Key(got) != got {
			t.Errorf("%q is not kept", got)
		}
	})
}
