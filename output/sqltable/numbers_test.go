package sqltable_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestNumbersOfSQLite: SQLite makes numbers of texts, and floats of decimals. What would change is refused.
func TestNumbersOfSQLite(t *testing.T) {
	t.Parallel()
	const other = "CREATE TABLE copies (id INTEGER PRIMARY KEY, v %)"
	const strict = other + " STRICT"
	for _, c := range []struct{ ddl, typ, value, want string }{ // "" is refused
		{other, "NUMERIC", `"12345678901234567890.123456789"`, ""},
		{other, "NUMERIC", `12345678901234567890.123456789`, ""},
		{other, "DECIMAL(30,9)", `"0.1234567890123456789"`, ""},
		{other, "NUMERIC", `"12.50"`, "real 12.5"},
		{other, "NUMERIC", `"12.00"`, "integer 12"},
		{other, "NUMERIC", `"9007199254740993"`, "integer 9007199254740993"},
		{other, "NUMERIC", `"9223372036854775808"`, ""},
		{other, "NUMERIC", `0.30000000000000004`, "real 0.30000000000000004"},
		{other, "NUMERIC", `1e+21`, "real 1.0e+21"},
		{other, "NUMERIC", `"00123"`, ""},
		{other, "NUMERIC", `"1e3"`, ""},
		{other, "NUMERIC", `" 7"`, ""},
		{other, "NUMERIC", `"x7"`, "text x7"},
		{other, "INTEGER", `"007"`, ""},
		{other, "INTEGER", `"1.5"`, "real 1.5"},
		{other, "INTEGER", `true`, "integer 1"},
		{other, "UUID", `"00012345"`, ""},
		{other, "UUID", `"6f9619ff-8b86-d011-b42d-00c04fc964ff"`, "text 6f9619ff-8b86-d011-b42d-00c04fc964ff"},
		{other, "DATETIME", `"2026-04-07T01:23:45Z"`, "text 2026-04-07T01:23:45Z"},
		{other, "DATETIME", `"0044"`, ""},
		{other, "REAL", `"9007199254740993"`, ""},
		{other, "REAL", `"0.1234567890123456789"`, ""},
		{other, "REAL", `0.1`, "real 0.1"},
		{other, "REAL", `"NaN"`, ""},
		{other, "REAL", `"-Infinity"`, "real -Inf"},
		{other, "JSON", `12345678901234567890.5`, ""},
		{other, "JSON", `"1.0"`, `text "1.0"`},
		{other, "JSON", `{"a":1.0}`, `text {"a":1.0}`},
		{other, "BOOLEAN", `false`, "integer 0"},
		{other, "TEXT", `"1.0"`, "text 1.0"},
		{other, "TEXT", `12345678901234567890.123456789`, "text 12345678901234567890.123456789"},
		{other, "BLOB", `"AAE="`, "blob \x00\x01"},
		{other, "", `"1.0"`, "text 1.0"},
		{other, "ANY", `"007"`, ""},
		{strict, "ANY", `"007"`, "text 007"},
		{other, "NUMERIC", `null`, ""},
	} {
		o, db := into(t, "sqlite", strings.Replace(c.ddl, "%", c.typ, 1))
		err := o.Deliver(t.Context(), rowOf(1, "1", `,"v":`+c.value))
		got := first(t, db, "SELECT typeof(v) || ' ' || v FROM copies WHERE v IS NOT NULL")
		if got != c.want || c.want == "" && causeOf(err) != "refused" && c.value != "null" {
			t.Errorf("%s into %s: %q, %v; want %q", c.value, c.typ, got, err, c.want)
		}
	}
}

// TestKeysThatAreNumbers: a column of numbers makes no one row of several keys.
func TestKeysThatAreNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine, typ string
		keys        []string // the first is taken, the others are refused
	}{
		{"sqlite", "INTEGER", []string{`"1"`, `"1.0"`, `"01"`, `"+1"`, `" 1"`}},
		{"sqlite", "NUMERIC", []string{`"1.5"`, `"12345678901234567890"`, `"12345678901234567890.1"`,
			`"12345678901234567891"`, `"01"`}},
		{"postgres", "bigint", []string{`"1"`, `"01"`, `"+1"`}},
		{"mysql", "bigint", []string{`"1"`, `"01"`, `"1.0"`, `"+1"`}},
		{"sqlserver", "bigint", []string{`"1"`, `"01"`, `"1.0"`, `"+1"`}},
	} {
		t.Run(c.engine+" "+c.typ, func(t *testing.T) {
			o, db := into(t, c.engine, "CREATE TABLE copies (id "+c.typ+" PRIMARY KEY)")
			for i, key := range c.keys {
				err := o.Deliver(t.Context(), rowOf(uint64(i+1), key, "")) //nolint:gosec // small
				if want := []string{"", "refused"}[min(i, 1)]; causeOf(err) != want {
					t.Errorf("%s: %v, want %q", key, err, want)
				}
			}
			if got := first(t, db, "SELECT count(*) FROM copies"); got != "1" {
				t.Errorf("%s rows", got)
			}
		})
	}
}

// TestProposedDecimals: the table that check prints for SQLite keeps the digits of decimals.
func TestProposedDecimals(t *testing.T) {
	t.Parallel()
	o, db := into(t, "sqlite")
	id := []engine.Column{{Name: "id", Type: "numeric(38,10)", Value: engine.Value{Kind: engine.KindDecimal}}}
	err := o.Ready(t.Context(), "postgres", id, id)
	_, ddl, _ := strings.Cut(err.Error(), "A table of all columns would be:\n")
	testenv.Exec(t, db, ddl)
	for i, key := range []string{"12345678901234567890.1234567890", "12345678901234567890.1234567891"} {
		if err := o.Deliver(t.Context(), rowOf(uint64(i+1), `"`+key+`"`, "")); err != nil { //nolint:gosec // small
			t.Error(err)
		}
	}
	if got := first(t, db, "SELECT count(DISTINCT id) FROM copies"); got != "2" {
		t.Errorf("%s rows", got)
	}
}
