package sqltable_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestNothingIsRounded: a number or text that does not fit is refused, fractions of seconds are cut.
func TestNothingIsRounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ engine, typ, value, want string }{ // "" is refused
		{"postgres", "numeric(6,2)", `"1.239"`, ""},
		{"postgres", "numeric(6,2)", `"1.230"`, "1.23"},
		{"postgres", "numeric(6,2)", `1.5`, "1.50"},
		{"postgres", "numeric(6,2)", `"NaN"`, "NaN"},
		{"postgres", "numeric(6,2)", `0`, "0.00"},
		{"postgres", "numeric(6)", `"0.5"`, ""},
		{"postgres", "numeric(3,-2)", `"120"`, ""},
		{"postgres", "numeric(3,-2)", `"1200"`, "1200"},
		{"postgres", "numeric", `"1.23456789012345678901"`, "1.23456789012345678901"},
		{"postgres", "money", `"1.239"`, ""},
		{"postgres", "price", `"1.239"`, ""},
		{"postgres", "price", `"1.23"`, "1.23"},
		{"postgres", "real", `0.123456789`, ""},
		{"postgres", "real", `0.1`, "0.1"},
		{"postgres", "real", `"-Infinity"`, "-Infinity"},
		{"postgres", "float8", `"0.1234567890123456789"`, ""},
		{"postgres", "float8", `"9007199254740993"`, ""},
		{"postgres", "float8", `0.30000000000000004`, "0.30000000000000004"},
		{"postgres", "timestamptz(0)", `"2026-12-31T23:59:59.7Z"`, "2026-12-31 23:59:59+00"},
		{"postgres", "timestamptz", `"2026-12-31T23:59:59.9999999Z"`, "2026-12-31 23:59:59.999999+00"},
		{"postgres", "timestamp(3)", `"2026-12-31T23:59:59.9999+00:00"`, "2026-12-31 23:59:59.999"},
		{"postgres", "time(0)", `"23:59:59.7"`, "23:59:59"},
		{"postgres", "interval(0)", `"PT1.7S"`, "00:00:01"},
		{"postgres", "varchar(3)", `"abc  "`, ""},
		{"postgres", "varchar(3)", `"é  "`, "é  "},
		{"mysql", "decimal(6,2)", `"1.239"`, ""},
		{"mysql", "double(8,2)", `1.239`, ""},
		{"mysql", "float", `0.123456789`, ""},
		{"mysql", "float", `0.1`, "0.1"},
		{"mysql", "double", `"0.1234567890123456789"`, ""},
		{"mysql", "double", `"NaN"`, ""},
		{"mysql", "datetime", `"2026-12-31T23:59:59.7Z"`, "2026-12-31 23:59:59"},
		{"mysql", "timestamp(3)", `"2026-12-31T23:59:59.9999Z"`, "2026-12-31 23:59:59.999"},
		{"mysql", "time", `"23:59:59.7"`, "23:59:59"},
		{"mysql", "time(6)", `"23:59:59.9999999"`, "23:59:59.999999"},
		{"mysql", "varchar(3)", `"abc  "`, ""},
		{"sqlserver", "decimal(6,2)", `"1.239"`, ""},
		{"sqlserver", "decimal(6,2)", `"1.230"`, "1.23"},
		{"sqlserver", "money", `"1.23456"`, ""},
		{"sqlserver", "money", `"1.2345"`, "1.2345"},
		{"sqlserver", "real", `0.123456789`, ""},
		{"sqlserver", "real", `0.5`, "0.5"},
		{"sqlserver", "float", `"0.1234567890123456789"`, ""},
		{"sqlserver", "float", `"NaN"`, ""},
		{"sqlserver", "datetime2(0)", `"2026-12-31T23:59:59.7Z"`, "2026-12-31 23:59:59"},
		{"sqlserver", "datetimeoffset(3)", `"2026-12-31T23:59:59.9999Z"`, "2026-12-31 23:59:59.999 +00:00"},
		{"sqlserver", "smalldatetime", `"2026-12-31T23:59:59"`, "2026-12-31 23:59:00"},
		{"sqlserver", "time(0)", `"23:59:59.7"`, "23:59:59"},
		{"sqlserver", "varchar(3)", `"abc  "`, ""},
		{"sqlserver", "varchar(3)", `"é"`, "é"},
		{"sqlserver", "varchar(3)", `"ж"`, ""}, // code page 1252 lacks it
		{"sqlserver", "varchar(3) COLLATE Cyrillic_General_CI_AS", `"ж"`, "ж"},
		{"sqlserver", "nvarchar(3)", `"é  "`, "é  "},
		{"sqlserver", "nvarchar(max)", `"x"`, "x"},
		{"sqlserver", "text", `"x"`, "x"},
		{"sqlserver", "xml", `"<a>1</a>"`, "<a>1</a>"},
		{"sqlserver", "bit", `1`, "1"},
		{"sqlserver", "int", `true`, "1"},
		{"sqlserver", "uniqueidentifier", `"6f9619ff-8b86-d011-b42d-00c04fc964ff"`,
			"6F9619FF-8B86-D011-B42D-00C04FC964FF"},
		{"sqlite", "TIME", `"23:59:59.9999999"`, "23:59:59.9999999"},
		{"sqlite", "DATETIME", `"2026-12-31T23:59:59.9999999Z"`, "2026-12-31T23:59:59.9999999Z"},
		{"sqlite", "DECIMAL(6,2)", `"1.239"`, "1.239"}, // SQLite passes over the scale
	} {
		t.Run(strings.Join([]string{c.engine, c.typ, c.value}, " "), func(t *testing.T) {
			o, db := into(t, c.engine)
			if c.typ == "price" {
				testenv.Exec(t, db, "CREATE DOMAIN amount AS numeric(6,2)", "CREATE DOMAIN price AS amount")
			}
			testenv.Exec(t, db, "CREATE TABLE copies (id int PRIMARY KEY, v "+c.typ+")")
			err := o.Deliver(t.Context(), rowOf(1, "1", `,"v":`+c.value))
			as := map[string]string{"postgres": "v::text", "mysql": "CAST(v AS CHAR)", "sqlite": "CAST(v AS TEXT)",
				"sqlserver": "CAST(v AS nvarchar(max))"}[c.engine]
			got := first(t, db, "SELECT "+as+" FROM copies")
			if got != c.want || (causeOf(err) == "refused") != (c.want == "") {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}
