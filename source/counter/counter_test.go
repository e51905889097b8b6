package counter

import "testing"

// TestCursorNumbers: an integer beyond 2^53 and a rowversion are compared as numbers, and what is none is not ahead.
func TestCursorNumbers(t *testing.T) {
	for _, c := range []struct {
		scalar, highest string
		want            bool
	}{
		{"11", "10", true}, {"10", "10", false}, {`"9007199254740993"`, "9007199254740992", true},
		{`"18446744073709551615"`, "18446744073709551615", false},
		{`"AAAAAAAAB9E="`, "2000", true}, {`"AAAAAAAAB9E="`, "2001", false}, {"11", "", false}, {`"x"`, "1", false},
		{"1.5", "1", false}, {`"AP8="`, "1", false},
	} {
		if got := isAhead([]byte(c.scalar), c.highest); got != c.want {
			t.Errorf("%s ahead of %q: %t", c.scalar, c.highest, got)
		}
	}
}
