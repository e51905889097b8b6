package engines

import (
	"encoding/json"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/enginetest/typerules"
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
)

// FuzzArgs: whatever stands in a checkpoint or in source__start, it is refused or becomes a parameter of the column's
// form; nothing panics, and no text gets through where a number or a time is expected.
func FuzzArgs(f *testing.F) {
	for _, seed := range []string{`"2026-04-07T01:23:45.1234567Z"`, `1`, `"1.5"`, `"AAAAAAAAB9E="`, `"0x00000000000007D1"`,
		`"-838:59:59.5"`, `true`, `"a'b"`} {
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
		for _, rule := range typerules.Of(sqlserver.Dialect{}) {
			col := engine.Column{Type: rule.Sample, Value: rule.Value}
			v, err := sqlserver.Dialect{}.Arg(&col, []byte(scalar))
			if err != nil || rule.Value.Refused != "" {
				continue
			}
			switch rule.Value.Kind {
			case engine.KindDecimal:
				d, ok := v.(mssql.NVarCharMax)
				if !ok {
					t.Errorf("%s became a %T", scalar, v)
				}
				plain(string(d), ".-")
			case engine.KindDate, engine.KindTime, engine.KindDateTime, engine.KindOffsetTime:
				plain(v, "-:.T+")
			case engine.KindUUID:
				plain(v, "abcdef-")
			}
		}
		for _, rule := range typerules.Of(mysql.Dialect{}) {
			col := engine.Column{Type: rule.Sample, Value: rule.Value}
			v, err := mysql.Dialect{}.Arg(&col, []byte(scalar))
			if err != nil || rule.Value.Refused != "" {
				continue
			}
			switch rule.Value.Kind {
			case engine.KindDecimal:
				plain(v, ".-")
			case engine.KindDate, engine.KindTime, engine.KindDateTime, engine.KindInstant:
				plain(v, "-:. ")
			}
		}
	})
}
