package publisher

import (
	"strconv"
	"strings"
)

// pgStatement is how PostgreSQL 12 and later writes statements.
type pgStatement struct{}

func (pgStatement) quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (pgStatement) param(n int, v any, _ bool) (string, any) { return "$" + strconv.Itoa(n), v }

// now is not now(), which is the transaction's beginning: a claim may run out while the transaction waits for a lock. Nor is it
// clock_timestamp(), which no index can be searched by.
func (pgStatement) now() string { return "statement_timestamp()" }

func (d pgStatement) later(ms string) string {
	return d.now() + " + CAST(" + ms + " AS bigint) * interval '1 millisecond'"
}

func (d pgStatement) earlier(ms string) string {
	return d.now() + " - CAST(" + ms + " AS bigint) * interval '1 millisecond'"
}

func (d pgStatement) age(at string) string {
	return "CAST(EXTRACT(EPOCH FROM (" + d.now() + " - " + at + ")) * 1000 AS bigint)"
}

func (pgStatement) limit(n string, skip int) string { return limitOffset(n, skip) }

// bytes does not read the value: a toasted one says its length in the row.
func (pgStatement) bytes(column string) string { return "octet_length(" + column + ")" }

func (pgStatement) anyInt(s *statement, expr string, list []int64) string {
	return expr + " = ANY(CAST(" + s.arg(list) + " AS bigint[]))"
}

func (pgStatement) anyText(s *statement, expr string, list []string) string {
	return expr + " = ANY(CAST(" + s.arg(list) + " AS text[]))"
}

func (pgStatement) table(param, alias string, fields []field) string {
	defs := make([]string, len(fields))
	for i, f := range fields {
		defs[i] = f.name + " bigint"
		if f.text {
			defs[i] = f.name + " text"
		}
	}
	return "jsonb_to_recordset(CAST(" + param + " AS jsonb)) AS " + alias + "(" + strings.Join(defs, ", ") + ")"
}

func (pgStatement) lock(skip bool) (hint, suffix string) { return "", forUpdate(skip) }

// Low ends a clean-up's waits for somebody's lock soon.
var pgLow = Low{First: "SET LOCAL lock_timeout = '2000ms'"}
