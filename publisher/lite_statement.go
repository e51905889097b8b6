package publisher

import (
	"github.com/rowrelay/rowrelay/engine/statement"
	"strconv"
	"strings"
)

// liteStatement is how SQLite 3.38 and later writes statements. A transaction begins immediate: it is the only writer from its
// beginning, so that nothing has to be locked. Instants are text, to a millisecond: the clock shows no more.
type liteStatement struct{}

const liteTime = "'%Y-%m-%d %H:%M:%f'"

func (liteStatement) Quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func (liteStatement) Param(n int, v any, _ bool) (string, any) { return "?" + strconv.Itoa(n), v }

func (liteStatement) Now() string { return "strftime(" + liteTime + ", 'now')" }

func (liteStatement) Later(ms string) string {
	return "strftime(" + liteTime + ", 'now', printf('%+.3f seconds', (" + ms + ") / 1000.0))"
}

func (liteStatement) Earlier(ms string) string {
	return "strftime(" + liteTime + ", 'now', printf('%+.3f seconds', (" + ms + ") / -1000.0))"
}

func (liteStatement) Age(at string) string {
	return "CAST(round((julianday('now') - julianday(" + at + ")) * 86400000) AS INTEGER)"
}

func (liteStatement) Limit(n string, skip int) string { return statement.LimitOffset(n, skip) }

func (liteStatement) Bytes(column string) string { return "length(CAST(" + column + " AS BLOB))" }

func (liteStatement) AnyInt(s *statement.Statement, expr string, list []int64) string {
	return expr + " IN (SELECT value FROM json_each(" + s.Arg(statement.AsJSON(list)) + "))"
}

func (liteStatement) AnyText(s *statement.Statement, expr string, list []string) string {
	return expr + " IN (SELECT value FROM json_each(" + s.Arg(statement.AsJSON(list)) + "))"
}

func (liteStatement) Table(param, alias string, fields []statement.Field) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = "json_extract(value, '$." + f.Name + "') AS " + f.Name
	}
	return "(SELECT " + strings.Join(columns, ", ") + " FROM json_each(" + param + ")) AS " + alias
}

func (liteStatement) Lock(bool) (hint, suffix string) { return "", "" }
