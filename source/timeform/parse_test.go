package timeform

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	oslo := time.FixedZone("", 2*3600)
	for text, want := range map[string]string{
		`"2026-04-07"`: "2026-04-06T22:00:00Z", `"2026-04-07T01:23:45"`: "2026-04-06T23:23:45Z",
		`"2026-04-07 01:23:45.1234567"`:    "2026-04-06T23:23:45.1234567Z",
		`"2026-04-07T01:23:45.123456789Z"`: "2026-04-07T01:23:45.123456789Z",
		`"2026-04-07T01:23:45+05:30"`:      "2026-04-06T19:53:45Z", `"2026-04-07T01:23:45-03"`: "2026-04-07T04:23:45Z",
		`"2026-04-07T01:23"`: "2026-04-06T23:23:00Z", `"2026-04-07 01:23Z"`: "2026-04-07T01:23:00Z",
		`"2026-04-07 01:23:45.5 -0300 -03"`: "2026-04-07T04:23:45.5Z", `"2026-04-07 01:23:45 +0000"`: "2026-04-07T01:23:45Z",
		`"2026-04-07 01:23:45 UTC"`: "", `"2026-04-07 01:23:45 +0000UTC"`: "",
		`"infinity"`: "", `"10000-01-01T00:00:00"`: "", `"0044-03-15 01:02:03 BC"`: "", `1775525025`: "", `null`: "",
		`"2026-13-01"`: "", `"2026-04-07T01:23:"`: "", `""`: "", `"2026-04-07T01:23:45+"`: "",
	} {
		at, ok := Parse([]byte(text), oslo)
		if ok != (want != "") {
			t.Errorf("%s: %v, %v", text, at, ok)
			continue
		}
		if got := at.UTC().Format(time.RFC3339Nano); ok && got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	f.Add([]byte(`"2026-04-07T01:23:45.1234567+02:00"`))
	f.Fuzz(func(t *testing.T, scalar []byte) {
		at, ok := Parse(scalar, time.UTC)
		if ok && (at.Year() < -1 || at.Year() > 10000) {
			t.Fatalf("%s: %v", scalar, at)
		}
	})
}
