package postgres

import (
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Statement is how PostgreSQL 12 and later writes statements.
type Statement struct{}

// Quote writes a name in double quotes, a double quote in it twice.
func (Statement) Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Param is $n. A list is bound as it is: the driver knows arrays.
func (Statement) Param(n int, v any, _ bool) (string, any) { return "$" + strconv.Itoa(n), v }

// Now is not now(), which is the transaction's beginning: a claim may run out while the transaction waits for a lock.
// Nor is it clock_timestamp(), which no index can be searched by.
func (Statement) Now() string { return "statement_timestamp()" }

// Later adds the milliseconds as an interval. The cast gives the parameter its type.
func (d Statement) Later(ms string) string {
	return d.Now() + " + CAST(" + ms + " AS bigint) * interval '1 millisecond'"
}

// Earlier subtracts the milliseconds as an interval.
func (d Statement) Earlier(ms string) string {
	return d.Now() + " - CAST(" + ms + " AS bigint) * interval '1 millisecond'"
}

// Age is the difference in seconds as EXTRACT gives it, times 1000 and rounded.
func (d Statement) Age(at string) string {
	return "CAST(EXTRACT(EPOCH FROM (" + d.Now() + " - " + at + ")) * 1000 AS bigint)"
}

// Limit writes LIMIT, and OFFSET where rows are passed over.
func (Statement) Limit(n string, skip int) string { return statement.LimitOffset(n, skip) }

// LookUp selects one row for each: the planner has no other way to it than by the key's index.
func (Statement) LookUp(table, alias, columns, on string) string {
	row := "SELECT " + columns + " FROM " + table + " " + alias + " WHERE " + on + " LIMIT 1"
	return " JOIN LATERAL (" + row + ") " + alias + " ON true"
}

// Bytes does not read the value: a toasted one says its length in the row.
func (Statement) Bytes(column string) string { return "octet_length(" + column + ")" }

// AnyInt is = ANY of one bigint[], so that lists of every length share a plan.
func (Statement) AnyInt(s *statement.Statement, expr string, list []int64) string {
	return expr + " = ANY(CAST(" + s.Arg(list) + " AS bigint[]))"
}

// AnyText is = ANY of one text[], so that lists of every length share a plan.
func (Statement) AnyText(s *statement.Statement, expr string, list []string) string {
	return expr + " = ANY(CAST(" + s.Arg(list) + " AS text[]))"
}

// Table reads the JSON array by jsonb_to_recordset, with a column definition for each field.
func (Statement) Table(param, alias string, fields []statement.Field) string {
	defs := make([]string, len(fields))
	for i, f := range fields {
		defs[i] = f.Name + " bigint"
		if f.Text {
			defs[i] = f.Name + " text"
		}
	}
	return "jsonb_to_recordset(CAST(" + param + " AS jsonb)) AS " + alias + "(" + strings.Join(defs, ", ") + ")"
}

// Lock ends the statement with FOR UPDATE of the table. There is no hint.
func (Statement) Lock(alias string, skip bool) (hint, suffix string) {
	return "", statement.ForUpdate("OF "+alias, skip)
}

// Low ends a clean-up's and a mark's waits for somebody's lock soon.
var Low = statement.Low{First: "SET LOCAL lock_timeout = '2000ms'",
	// In one round trip, and for its own transaction: a session's setting would stay on a pooler's connection.
	Brief: " AND (SELECT set_config('lock_timeout', '2000ms', true)) IS NOT NULL"}
