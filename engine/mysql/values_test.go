package mysql_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/enginetest"
	"github.com/rowrelay/rowrelay/engine/enginetest/typerules"
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestMySQLValues: every type is mapped or refused; the values are read from the real server, and each that can be a
// cursor or a key finds its own row again.
func TestMySQLValues(t *testing.T) {
	type example struct{ literal, json string }
	examples := map[string][]example{
		"tinyint":   {{"-128", `-128`}, {"true", `1`}},
		"smallint":  {{"-32768", `-32768`}},
		"mediumint": {{"8388607", `8388607`}},
		"int":       {{"-2147483648", `-2147483648`}},
		"year":      {{"2026", `2026`}, {"'0000'", `0`}},
		"bigint": {{"18446744073709551615", `"18446744073709551615"`}, {"9007199254740991", `9007199254740991`},
			{"9007199254740992", `"9007199254740992"`}},
		"bit":     {{"b'101'", `5`}, {"18446744073709551615", `"18446744073709551615"`}},
		"decimal": {{"-123456789012345.67890", `"-123456789012345.67890"`}, {"0.00001", `"0.00001"`}},
		"float": {{"0.1", `0.1`}, {"16777216", `16777216`}, {"3.4028235e38", `3.4028235e+38`},
			{"1.17549435e-38", `1.1754944e-38`}},
		"double": {{"0.1", `0.1`}, {"0.1e0 + 0.2e0", `0.30000000000000004`},
			{"1.7976931348623157e308", `1.7976931348623157e+308`}},
		"date": {{"'2026-04-07'", `"2026-04-07"`}, {"'0000-00-00'", `"0000-00-00"`}, {"'2026-00-00'", `"2026-00-00"`},
			{"'2026-02-31'", `"2026-02-31"`}},
		"time": {{"'01:23:45.123000'", `"01:23:45.123"`}, {"'-838:59:59'", `"-838:59:59"`},
			{"'838:59:58.999999'", `"838:59:58.999999"`}},
		"datetime": {{"'2026-04-07 01:23:45.123456'", `"2026-04-07T01:23:45.123456"`},
			{"'2026-04-07'", `"2026-04-07T00:00:00"`},
			{"'0000-00-00'", `"0000-00-00T00:00:00"`}},
		"timestamp": {{"'2026-04-07 01:23:45.12'", `"2026-04-07T01:23:45.12Z"`}, {"0", `"0000-00-00T00:00:00Z"`}},
		"char":      {{"'a '", `"a"`}, {"'😀'", `"😀"`}}, "varchar": {{`'a "'`, `"a \""`}, {`'\\\''`, `"\\'"`}},
		"tinytext": {{"'x'", `"x"`}}, "text": {{"'x'", `"x"`}}, "mediumtext": {{"'x'", `"x"`}},
		"longtext": {{"' {}'", `" {}"`}},
		"enum":     {{"'b'", `"b"`}}, "set": {{"'x,y'", `"x,y"`}, {"''", `""`}},
		"binary": {{"x'00ff'", `"AP8A"`}}, "varbinary": {{"x'00ff'", `"AP8="`}, {"''", `""`}},
		"tinyblob": {{"x'ff'", `"/w=="`}}, "blob": {{"x'ff'", `"/w=="`}}, "mediumblob": {{"x'ff'", `"/w=="`}},
		"longblob": {{"x'ff'", `"/w=="`}},
		"json":     {{`'{"a": [1, 2.25]}'`, `{"a":[1,2.25]}`}, {`'null'`, `null`}},
		"uuid":     {{"'6F9619FF-8B86-D011-B42D-00C04FC964FF'", `"6f9619ff-8b86-d011-b42d-00c04fc964ff"`}},
		"inet4":    {{"'192.0.2.1'", `"192.0.2.1"`}}, "inet6": {{"'2001:DB8::1'", `"2001:db8::1"`}},
	}
	conn, writer, l := mysql.Conn(t)
	mariaDB := strings.HasPrefix(l.Version, "MariaDB")
	d := mysql.Dialect{}
	var listing strings.Builder
	for n, rule := range typerules.Of(d) {
		fmt.Fprintf(&listing, "%-18s %-18s refused=%q cast=%q expr=%q param=%q noKey=%q\n", rule.Name, rule.Sample,
			rule.Value.Refused, rule.Value.Cast,
			rule.Value.Expr, rule.Value.Param, rule.Value.NoKey)
		list, ok := examples[rule.Name]
		delete(examples, rule.Name)
		if rule.Value.Refused != "" {
			if ok || rule.Value.Cast == "" {
				t.Errorf("type %s is refused, and has examples or no CAST", rule.Name)
			}
			continue
		}
		if !ok {
			t.Errorf("type %s is mapped, and has no example", rule.Name)
		}
		for _, e := range list {
			fmt.Fprintf(&listing, "    %s\n", e.json)
		}
		if !mariaDB && slices.Contains([]string{"uuid", "inet4", "inet6"}, rule.Name) {
			continue
		}
		name := "t" + strconv.Itoa(n)
		testenv.Exec(t, writer, "SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'",
			"CREATE TABLE "+name+" (n int PRIMARY KEY, c "+rule.Sample+" NULL)")
		for i, e := range list {
			testenv.Exec(t, writer, "SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'",
				fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", name, i, e.literal))
		}
		tab, err := d.Table(t.Context(), conn, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		col := tab.Columns[1]
		if !reflect.DeepEqual(col.Value, rule.Value) {
			t.Errorf("%s: the catalog maps it as %+v, the list as %+v", rule.Name, col.Value, rule.Value)
		}
		got := enginetest.Values(t, mysql.Dialect{}, conn,
			"SELECT "+engine.Fill(col.Value.Expr, "r.`c`")+" FROM "+tab.From+" AS r ORDER BY n", nil,
			col)
		for i, e := range list {
			if got[i] != e.json {
				t.Errorf("%s: %s is read as %s, want %s", rule.Name, e.literal, got[i], e.json)
			}
			if col.Value.NotKey() != "" {
				continue
			}
			arg, err := d.Arg(&col, []byte(got[i]))
			if err != nil {
				t.Errorf("%s: %s as an argument: %v", rule.Name, got[i], err)
				continue
			}
			// A question mark in a literal makes the driver prepare the statement: the binary protocol brings the same.
			binary := enginetest.Values(t, mysql.Dialect{}, conn, "SELECT "+engine.Fill(col.Value.Expr, "r.`c`")+" FROM "+
				tab.From+" AS r WHERE r.`c` = "+engine.Fill(col.Value.Param, "?")+
				" AND '?' = '?' AND r.n = "+strconv.Itoa(i), []any{arg}, col)
			if !slices.Equal(binary, []string{e.json}) {
				t.Errorf("%s: %s is read as %v by a prepared statement", rule.Name, e.json, binary)
			}
			same := enginetest.Values(t, mysql.Dialect{}, conn,
				"SELECT r.n FROM "+tab.From+" AS r WHERE r.`c` = "+engine.Fill(col.Value.Param, "?")+
					" AND r.n = "+strconv.Itoa(i), []any{arg},
				tab.Columns[0])
			if !slices.Equal(same, []string{strconv.Itoa(i)}) {
				t.Errorf("%s: %s does not find its own row: %v", rule.Name, got[i], same)
			}
		}
	}
	if len(examples) > 0 {
		t.Errorf("examples of types that are not listed: %v", examples)
	}
	golden.Pin(t, "types.txt", listing.String())
}
