package sqlite

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Statement is how SQLite 3.38 and later writes statements. A transaction begins immediate: it is the only writer
// from its beginning, so that nothing has to be locked. Instants are text, to a millisecond: the clock shows no more.
type Statement struct{}

const instantFormat = "'%Y-%m-%d %H:%M:%f'"

// Quote writes a name in double quotes, a double quote in it twice.
func (Statement) Quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Param is ?, in the order of the arguments. The driver compares each ?n with the text of each argument's number, which
// is most of the time of a statement with hundreds of them.
func (Statement) Param(_ int, v any, _ bool) (string, any) { return "?", v }

// Now is the UTC clock as text, to a millisecond.
func (Statement) Now() string { return "strftime(" + instantFormat + ", 'now')" }

// Later moves the clock by a modifier in seconds, with three decimals.
func (Statement) Later(ms string) string {
	return "strftime(" + instantFormat + ", 'now', printf('%+.3f seconds', (" + ms + ") / 1000.0))"
}

// Earlier moves the clock as Later does, by the negative number.
func (Statement) Earlier(ms string) string {
	return "strftime(" + instantFormat + ", 'now', printf('%+.3f seconds', (" + ms + ") / -1000.0))"
}

// Age is the difference of two Julian days in milliseconds, rounded.
func (Statement) Age(at string) string {
	return "CAST(round((julianday('now') - julianday(" + at + ")) * 86400000) AS INTEGER)"
}

// Limit writes LIMIT, and OFFSET where rows are passed over.
func (Statement) Limit(n string, skip int) string { return statement.LimitOffset(n, skip) }

// LookUp is CROSS JOIN, whose order SQLite keeps.
func (Statement) LookUp(table, alias, _, on string) string {
	return " CROSS JOIN " + table + " " + alias + " ON " + on
}

// Bytes is the length as a BLOB: length() of a text counts characters, up to the first NUL.
func (Statement) Bytes(column string) string { return "length(CAST(" + column + " AS BLOB))" }

// AnyInt reads the list by json_each from one parameter.
func (Statement) AnyInt(s *statement.Statement, expr string, list []int64) string {
	return expr + " IN (SELECT value FROM json_each(" + s.Arg(statement.AsJSON(list)) + "))"
}

// AnyText reads the list by json_each from one parameter.
func (Statement) AnyText(s *statement.Statement, expr string, list []string) string {
	return expr + " IN (SELECT value FROM json_each(" + s.Arg(statement.AsJSON(list)) + "))"
}

// Table reads the JSON array by json_each, each field by json_extract.
func (Statement) Table(param, alias string, fields []statement.Field) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = "json_extract(value, '$." + f.Name + "') AS " + f.Name
	}
	return "(SELECT " + strings.Join(columns, ", ") + " FROM json_each(" + param + ")) AS " + alias
}

// Lock is empty: a transaction that began immediate is the only writer.
func (Statement) Lock(string, bool) (hint, suffix string) { return "", "" }
