package timeform

import (
	"testing"
	"time"
)

// TestFormsSort: two times that are taken for one form sort as the moments do; what SQLite sorts otherwise is two
// forms.
func TestFormsSort(t *testing.T) {
	times := []string{
		"2026-04-07", "2026-04-07 01:23", "2026-04-07 01:23:45", "2026-04-07 01:23:45.1", "2026-04-07 01:23:45.123456",
		"2026-04-07T01:23:45", "2026-04-07T01:23:45.5",
		"2026-04-07T01:23:45Z", "2026-04-07T01:23:45.5Z", "2026-04-07T01:23:45.25Z", "2026-04-07T01:23Z",
		"2026-04-07 01:23:45Z", "2026-04-07 01:23:45+00:00",
		"2026-04-07 01:23:45.5+00:00", "2026-04-07 01:23:45+02:00", "2026-04-07 00:23:46+01:00",
		"2026-04-07 01:23:44.5-05:00", "2026-04-07 01:23:45.7 +0000 UTC",
		"2026-04-07 03:23:45.9 +0200 CEST", "2026-04-06 23:59:59", "2026-04-06T23:59:59Z", "2026-04-08T00:00:00Z",
		"2026-04-08",
	}
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("", 7200)} {
		rules := Rules{Lengths: true, Utc: zone == time.UTC}
		for _, a := range times {
			for _, b := range times {
				first, second := []byte(`"`+a+`"`), []byte(`"`+b+`"`)
				one := rules.Fits(rules.Of(first), second)
				at, ok1 := Parse(first, zone)
				then, ok2 := Parse(second, zone)
				if !ok1 || !ok2 {
					t.Fatalf("%s, %s: no times", a, b)
				}
				if one && at.Before(then) && a >= b {
					t.Errorf("%s and %s are taken for one form, and do not sort", a, b)
				}
				if one != rules.Fits(rules.Of(second), first) {
					t.Errorf("%s fits %s, and not the other way round", a, b)
				}
			}
		}
	}
	rules := Rules{Lengths: true, Utc: true}
	for _, pair := range [][2]string{
		{"2026-04-07 01:23:45", "2026-04-07T01:23:45"}, {"2026-04-07", "2026-04-07 01:23:45"},
		{"2026-04-07T01:23:45Z", "2026-04-07T01:23:45.5Z"},
		{"2026-04-07 01:23:45+02:00", "2026-04-07 01:23:45+01:00"},
	} {
		if rules.Fits(rules.Of([]byte(`"`+pair[0]+`"`)), []byte(`"`+pair[1]+`"`)) {
			t.Errorf("%s are one form", pair)
		}
	}
	for _, pair := range [][2]string{{"2461137.5", "1775525025"}, {"1775525025", "1775525025123"},
		{"1775525025123", `"1775525025123456789"`}} {
		if rules.Fits(rules.Of([]byte(pair[0])), []byte(pair[1])) {
			t.Errorf("%s are one unit", pair)
		}
	}
}
