package sqlserver_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/enginetest/typerules"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/internal/golden"
)

// TestSQLServerValues: every type of sys.types is mapped or refused; the values are those that go-mssqldb returns.
func TestSQLServerValues(t *testing.T) {
	at := func(ns int) time.Time { return time.Date(2026, 4, 7, 1, 23, 45, ns, time.UTC) }
	guid := []byte{0xff, 0x19, 0x96, 0x6f, 0x86, 0x8b, 0x11, 0xd0, 0xb4, 0x2d, 0x00, 0xc0, 0x4f, 0xc9, 0x64, 0xff}
	// What arg must make of the JSON, in the words of the parameter; nil where the type is no cursor and no key.
	type example struct {
		in   any
		json string
		arg  any
	}
	examples := map[string][]example{
		"bit":      {{true, `true`, true}, {false, `false`, false}},
		"tinyint":  {{int64(255), `255`, int64(255)}},
		"smallint": {{int64(-32768), `-32768`, int64(-32768)}},
		"int":      {{int64(-5), `-5`, int64(-5)}},
		"bigint": {{int64(9223372036854775807), `"9223372036854775807"`, int64(9223372036854775807)},
			{int64(9007199254740991), `9007199254740991`, int64(9007199254740991)}},
		"decimal": {{[]byte("-123456789012345.6789"), `"-123456789012345.6789"`,
			mssql.NVarCharMax("-123456789012345.6789")}},
		"numeric": {{[]byte("99999999999999999999999999999999999999"), `"99999999999999999999999999999999999999"`,
			mssql.NVarCharMax("99999999999999999999999999999999999999")}},
		"money": {{[]byte("-922337203685477.5808"), `"-922337203685477.5808"`,
			mssql.NVarCharMax("-922337203685477.5808")}},
		"smallmoney":       {{[]byte("214748.3647"), `"214748.3647"`, mssql.NVarCharMax("214748.3647")}},
		"float":            {{0.1, `0.1`, nil}, {5e-324, `5e-324`, nil}},
		"real":             {{float64(float32(0.1)), `0.1`, nil}, {float64(float32(16777216)), `16777216`, nil}},
		"char":             {{"ab        ", `"ab        "`, mssql.NVarCharMax("ab        ")}},
		"varchar":          {{`é"`, `"é\""`, mssql.NVarCharMax(`é"`)}},
		"nchar":            {{"ß ", `"ß "`, mssql.NVarCharMax("ß ")}},
		"nvarchar":         {{"😀\n", `"😀\n"`, mssql.NVarCharMax("😀\n")}},
		"text":             {{"x", `"x"`, nil}},
		"ntext":            {{"x", `"x"`, nil}},
		"xml":              {{"<a>1</a>", `"<a>1</a>"`, nil}},
		"uniqueidentifier": {{guid, `"6f9619ff-8b86-d011-b42d-00c04fc964ff"`, "6f9619ff-8b86-d011-b42d-00c04fc964ff"}},
		"binary":           {{[]byte{0, 0xff}, `"AP8="`, []byte{0, 0xff}}},
		"varbinary":        {{[]byte{}, `""`, []byte{}}},
		"image":            {{[]byte{1}, `"AQ=="`, nil}},
		"timestamp":        {{[]byte{0, 0, 0, 0, 0, 0, 7, 0xd1}, `"AAAAAAAAB9E="`, []byte{0, 0, 0, 0, 0, 0, 7, 0xd1}}},
		"date":             {{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), `"0001-01-01"`, "0001-01-01"}},
		"time":             {{time.Date(1, 1, 1, 1, 23, 45, 123456700, time.UTC), `"01:23:45.1234567"`, "01:23:45.1234567"}},
		"datetime2": {{at(123456700), `"2026-04-07T01:23:45.1234567"`, "2026-04-07T01:23:45.1234567"},
			{at(0), `"2026-04-07T01:23:45"`, "2026-04-07T01:23:45.0000000"},
			{time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC), `"9999-12-31T23:59:59.9999999"`,
				"9999-12-31T23:59:59.9999999"}},
		// The ticks of 1/300 s, as this version of the driver rounds them and as an exact fraction.
		"datetime": {{at(187e6), `"2026-04-07T01:23:45.187"`, "2026-04-07T01:23:45.187"},
			{at(186666667), `"2026-04-07T01:23:45.187"`, "2026-04-07T01:23:45.187"},
			{at(3e6), `"2026-04-07T01:23:45.003"`, "2026-04-07T01:23:45.003"},
			{at(3333333), `"2026-04-07T01:23:45.003"`, "2026-04-07T01:23:45.003"},
			{at(997e6), `"2026-04-07T01:23:45.997"`, "2026-04-07T01:23:45.997"},
			{at(0), `"2026-04-07T01:23:45"`, "2026-04-07T01:23:45.000"}},
		"smalldatetime": {{time.Date(2026, 4, 7, 1, 23, 0, 0, time.UTC), `"2026-04-07T01:23:00"`, "2026-04-07T01:23:00"}},
		"datetimeoffset": {{time.Date(2026, 4, 7, 3, 23, 45, 123456700, time.FixedZone("", 7200)),
			`"2026-04-07T03:23:45.1234567+02:00"`, "2026-04-07T03:23:45.1234567+02:00"},
			{at(100), `"2026-04-07T01:23:45.0000001Z"`, "2026-04-07T01:23:45.0000001+00:00"}},
		"json":        {{`{"a": [1, 2.50]}`, `{"a":[1,2.50]}`, nil}},
		"sql_variant": nil, "vector": nil, "geography": nil, "geometry": nil, "hierarchyid": nil,
	}
	d := sqlserver.Dialect{}
	var listing strings.Builder
	for _, rule := range typerules.Of(d) {
		list, ok := examples[rule.Name]
		if !ok {
			t.Errorf("type %s is listed and has no example", rule.Name)
		}
		delete(examples, rule.Name)
		fmt.Fprintf(&listing, "%-20s %-22s refused=%q cast=%q expr=%q param=%q noKey=%q\n", rule.Name, rule.Sample,
			rule.Value.Refused, rule.Value.Cast, rule.Value.Expr, rule.Value.Param, rule.Value.NoKey)
		if list == nil && (rule.Value.Refused == "" || rule.Value.Cast == "") {
			t.Errorf("type %s is neither mapped by an example nor refused with a CAST", rule.Name)
		}
		col := engine.Column{Name: "c", Type: rule.Sample, Value: rule.Value}
		for _, e := range append(list, example{nil, "null", nil}) {
			if rule.Value.Refused != "" {
				break
			}
			got, err := sqlserver.AppendJSON(col, e.in)
			if err != nil || string(got) != e.json {
				t.Errorf("%s: %v became %s, %v; want %s", rule.Name, e.in, got, err, e.json)
			}
			fmt.Fprintf(&listing, "    %s\n", got)
			if e.arg == nil {
				continue
			}
			arg, err := d.Arg(&col, got)
			if err != nil || !reflect.DeepEqual(arg, e.arg) {
				t.Errorf("%s: %s became the argument %#v, %v; want %#v", rule.Name, got, arg, err, e.arg)
			}
		}
	}
	if len(examples) > 0 {
		t.Errorf("types that are not listed: %v", examples)
	}
	golden.Pin(t, "types.txt", listing.String())
}
