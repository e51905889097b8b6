package shaping_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/output/shaping"
)

func BenchmarkShape(b *testing.B) {
	for _, c := range []struct {
		name  string
		rules shaping.Rules
	}{
		{"columns", shaping.Rules{Columns: []string{"-card"}, Masks: map[string]string{"email": "redact"}}},
		{"jq", shaping.Rules{JQ: `select(.row.id > 0) | .row | {id, email, total: (.Total | tonumber)}`}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.rules.MaxBytes = 4 << 20
			s, err := shaping.New(c.rules)
			if err != nil {
				b.Fatal(err)
			}
			e := row(customer)
			b.ReportAllocs()
			for b.Loop() {
				if got, err := s.Shape(&e); err != nil || got.Unsent() {
					b.Fatal(err, got.Broken)
				}
			}
		})
	}
}
