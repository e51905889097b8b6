package kind

import "testing"

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int{"1048576": 1 << 20, "1MiB": 1 << 20, "8 MiB": 8 << 20, "64KiB": 64 << 10,
		"1gib": 1 << 30, "0": 0} {
		if got, ok := parseSize(in); !ok || got != want {
			t.Errorf("%s: %d %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "MiB", "1MB", "1.5MiB", "-1", "99999999999GiB", "1 M iB"} {
		if got, ok := parseSize(in); ok {
			t.Errorf("%s: %d", in, got)
		}
	}
}
