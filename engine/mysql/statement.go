package mysql

import (
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Statement is how MySQL 8.0.17, MariaDB 10.11 and later write statements, in a session that is in UTC and READ
// COMMITTED.
type Statement struct{}

// exact is a collation that compares byte by byte, trailing blanks included; each family has its own name for it, and
// reads the other's comment as a comment.
const exact = "/*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */"

// Exact is the collation of a text column that compares byte by byte, trailing blanks included.
func (Statement) Exact() string { return exact }

// Quote writes a name in backticks, a backtick in it twice.
func (Statement) Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Param is always ?: arguments are bound in the order of the text.
func (Statement) Param(_ int, v any, _ bool) (string, any) { return "?", v }

// Now is the UTC clock in microseconds. MySQL keeps it the same throughout a statement.
func (Statement) Now() string { return "UTC_TIMESTAMP(6)" }

// Later adds the milliseconds as microseconds: MySQL's intervals have no unit of a millisecond.
func (Statement) Later(ms string) string {
	return "UTC_TIMESTAMP(6) + INTERVAL (" + ms + ") * 1000 MICROSECOND"
}

// Earlier subtracts the milliseconds as microseconds, for the same reason as Later.
func (Statement) Earlier(ms string) string {
	return "UTC_TIMESTAMP(6) - INTERVAL (" + ms + ") * 1000 MICROSECOND"
}

// Age counts microseconds and cuts the result to whole milliseconds.
func (Statement) Age(at string) string {
	return "TIMESTAMPDIFF(MICROSECOND, " + at + ", UTC_TIMESTAMP(6)) DIV 1000"
}

// Limit writes LIMIT, and OFFSET where rows are passed over.
func (Statement) Limit(n string, skip int) string { return statement.LimitOffset(n, skip) }

// LookUp is STRAIGHT_JOIN, whose order the optimizer keeps.
func (Statement) LookUp(table, alias, _, on string) string {
	return " STRAIGHT_JOIN " + table + " " + alias + " ON " + on
}

// Bytes is OCTET_LENGTH, the exact length of the column in bytes.
func (Statement) Bytes(column string) string { return "OCTET_LENGTH(" + column + ")" }

// AnyInt writes the numbers out: what the driver would do with parameters, too.
func (Statement) AnyInt(_ *statement.Statement, expr string, list []int64) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return oneOf(expr, texts)
}

// AnyText writes a parameter for each text.
func (Statement) AnyText(s *statement.Statement, expr string, list []string) string {
	params := make([]string, len(list))
	for i, text := range list {
		params[i] = s.Arg(text)
	}
	return oneOf(expr, params)
}

// oneOf is never true where the list is empty.
func oneOf(expr string, list []string) string {
	if len(list) == 0 {
		return "1 = 0"
	}
	return expr + " IN (" + strings.Join(list, ",") + ")"
}

// Table reads the JSON array by JSON_TABLE, each field by its path.
func (Statement) Table(param, alias string, fields []statement.Field) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		typ := "BIGINT"
		if f.Text {
			typ = "VARCHAR(1000) CHARACTER SET utf8mb4"
		}
		columns[i] = f.Name + " " + typ + " PATH '$." + f.Name + "'"
	}
	return "JSON_TABLE(" + param + ", '$[*]' COLUMNS (" + strings.Join(columns, ", ") + ")) AS " + alias
}

// Lock ends the statement with FOR UPDATE. MySQL is told of which table: it refuses to lock a JSON_TABLE beside it
// (error 3569). MariaDB cannot be told, and passes over the comment.
func (Statement) Lock(alias string, skip bool) (hint, suffix string) {
	return "", statement.ForUpdate("/*!80001 OF "+alias+" */", skip)
}
