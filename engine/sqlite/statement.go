package sqlite

import (
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
)

// Statement is how SQLite 3.38 and later writes statements. A transaction begins immediate: it is the only writer
// from its beginning, so that nothing has to be locked. Instants are text, to a millisecond: the clock shows no more.
type Statement struct{}

const instantFormat = "'%Y-%m-%d %H:%M:%f'"

func (Statement) Quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func (Statement) Param(n int, v any, _ bool) (string, any) { return "?" + strconv.Itoa(n), v }

func (Statement) Now() string { return "strftime(" + instantFormat + ", 'now')" }

func (Statement) Later(ms string) string {
	return "strftime(" + instantFormat + ", 'now', printf('%+.3f seconds', (" + ms + ") / 1000.0))"
}

func (Statement) Earlier(ms string) string {
	return "strftime(" + instantFormat + ", 'now', printf('%+.3f seconds', (" + ms + ") / -1000.0))"
}

func (Statement) Age(at string) string {
	return "CAST(round((julianday('now') - julianday(" + at + ")) * 86400000) AS INTEGER)"
}

func (Statement) Limit(n string, skip int) string { return statement.LimitOffset(n, skip) }

func (Statement) Bytes(column string) string { return "length(CAST(" + column + " AS BLOB))" }

func (Statement) AnyInt(s *statement.Statement, expr string, list []int64) string {
	return expr + " IN (SELECT value FROM json_each(" + s.Arg(statement.AsJSON(list)) + "))"
}

func (Statement) AnyText(s *statement.Statement, expr string, list []string) string {
	return expr + " IN (SELECT value FROM json_each(" + s.Arg(statement.AsJSON(list)) + "))"
}

func (Statement) Table(param, alias string, fields []statement.Field) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = "json_extract(value, '$." + f.Name + "') AS " + f.Name
	}
	return "(SELECT " + strings.Join(columns, ", ") + " FROM json_each(" + param + ")) AS " + alias
}

func (Statement) Lock(bool) (hint, suffix string) { return "", "" }
