package source

import (
	"encoding/json"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
)

func TestScalarMoment(t *testing.T) {
	for _, c := range []struct {
		scalar string
		digits int
		want   string // "" is refused
	}{
		{`"2026-04-07"`, 0, "2026-04-07T00:00:00"},
		{`"2026-04-07T01:23"`, 3, "2026-04-07T01:23:00.000"},
		{`"2026-04-07 01:23:45.1"`, 3, "2026-04-07T01:23:45.100"},
		{`"2026-04-07T01:23:45.1239"`, 3, "2026-04-07T01:23:45.123"},
		{`"2026-04-07T01:23:45.12z"`, 1, "2026-04-07T01:23:45.1"},
		{`"2026-04-07T01:23:45-02:00"`, 0, "2026-04-07T01:23:45"},
		{`"2026-04-07T"`, 0, ""}, {`"2026-4-7"`, 0, ""}, {`"2026-04-07T01:23:45."`, 0, ""}, {`"2026-04-07T01:23:45+2"`, 0, ""},
		{`"2026-04-07x01:23:45"`, 0, ""}, {`20260407`, 0, ""}, {`"٢٠٢٦-04-07"`, 0, ""}, {`"2026-04-07T01:23:45.1-"`, 0, ""},
	} {
		m, err := scalarMoment([]byte(c.scalar))
		if got := m.at("T", c.digits); (err != nil) != (c.want == "") || err == nil && got != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.scalar, got, err, c.want)
		}
	}
}

// FuzzArgs: whatever stands in a checkpoint or in source__start, it is refused or becomes a parameter of the column's
// form; nothing panics, and no text gets through where a number or a time is expected.
func FuzzArgs(f *testing.F) {
	for _, seed := range []string{`"2026-04-07T01:23:45.1234567Z"`, `1`, `"1.5"`, `"AAAAAAAAB9E="`, `"0x00000000000007D1"`, `"-838:59:59.5"`, `true`, `"a'b"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, scalar string) {
		if !json.Valid([]byte(scalar)) || strings.TrimSpace(scalar) != scalar {
			return
		}
		plain := func(v any, allowed string) {
			if s, ok := v.(string); ok && strings.Trim(s, "0123456789"+allowed) != "" {
				t.Errorf("%s became %q", scalar, s)
			}
		}
		for _, rule := range (sqlServer{}).types() {
			col := column{typ: rule.sample, value: rule.value}
			v, err := sqlServer{}.arg(&col, []byte(scalar))
			if err != nil || rule.value.refused != "" {
				continue
			}
			switch rule.value.kind {
			case kindDecimal:
				d, ok := v.(mssql.NVarCharMax)
				if !ok {
					t.Errorf("%s became a %T", scalar, v)
				}
				plain(string(d), ".-")
			case kindDate, kindTime, kindDateTime, kindOffsetTime:
				plain(v, "-:.T+")
			case kindUUID:
				plain(v, "abcdef-")
			}
		}
		for _, rule := range (mySQL{}).types() {
			col := column{typ: rule.sample, value: rule.value}
			v, err := mySQL{}.arg(&col, []byte(scalar))
			if err != nil || rule.value.refused != "" {
				continue
			}
			switch rule.value.kind {
			case kindDecimal:
				plain(v, ".-")
			case kindDate, kindTime, kindDateTime, kindInstant:
				plain(v, "-:. ")
			}
		}
	})
}
