package manual

import "testing"

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".TH is no request": `\&.TH is no request`,
		"'quoted'":          `\(aqquoted\(aq`,
		`C:\new --dir a`:    `C:\enew \-\-dir a`,
		"pollers__x__y":     "pollers__x__y",
		"*/10 * * * * *":    "*/10 * * * * *",
		"postgres://…":      `postgres://\[u2026]`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
