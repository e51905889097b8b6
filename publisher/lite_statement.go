package publisher

import (
	"strconv"
	"strings"
)

// liteStatement is how SQLite 3.38 and later writes statements. A transaction begins immediate: it is the only writer from its
// beginning, so that nothing has to be locked. Instants are text, to a millisecond: the clock shows no more.
type liteStatement struct{}

const liteTime = "'%Y-%m-%d %H:%M:%f'"

func (liteStatement) quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func (liteStatement) param(n int, v any, _ bool) (string, any) { return "?" + strconv.Itoa(n), v }

func (liteStatement) now() string { return "strftime(" + liteTime + ", 'now')" }

func (liteStatement) later(ms string) string {
	return "strftime(" + liteTime + ", 'now', printf('%+.3f seconds', (" + ms + ") / 1000.0))"
}

func (liteStatement) earlier(ms string) string {
	return "strftime(" + liteTime + ", 'now', printf('%+.3f seconds', (" + ms + ") / -1000.0))"
}

func (liteStatement) age(at string) string {
	return "CAST(round((julianday('now') - julianday(" + at + ")) * 86400000) AS INTEGER)"
}

func (liteStatement) limit(n string, skip int) string { return limitOffset(n, skip) }

func (liteStatement) bytes(column string) string { return "length(CAST(" + column + " AS BLOB))" }

func (liteStatement) anyInt(s *statement, expr string, list []int64) string {
	return expr + " IN (SELECT value FROM json_each(" + s.arg(asJSON(list)) + "))"
}

func (liteStatement) anyText(s *statement, expr string, list []string) string {
	return expr + " IN (SELECT value FROM json_each(" + s.arg(asJSON(list)) + "))"
}

func (liteStatement) table(param, alias string, fields []field) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = "json_extract(value, '$." + f.name + "') AS " + f.name
	}
	return "(SELECT " + strings.Join(columns, ", ") + " FROM json_each(" + param + ")) AS " + alias
}

func (liteStatement) lock(bool) (hint, suffix string) { return "", "" }
