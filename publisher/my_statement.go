package publisher

import (
	"strconv"
	"strings"
)

// myStatement is how MySQL 8.0.17 and MariaDB 10.6 and later write statements, in a session that is in UTC and READ COMMITTED.
type myStatement struct{}

// myExact is a collation that compares byte by byte, trailing blanks included; each family has its own name for it, and reads
// the other's comment as a comment.
const myExact = "/*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */"

func (myStatement) quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (myStatement) param(_ int, v any, _ bool) (string, any) { return "?", v }

func (myStatement) now() string { return "UTC_TIMESTAMP(6)" }

func (myStatement) later(ms string) string {
	return "UTC_TIMESTAMP(6) + INTERVAL (" + ms + ") * 1000 MICROSECOND"
}

func (myStatement) earlier(ms string) string {
	return "UTC_TIMESTAMP(6) - INTERVAL (" + ms + ") * 1000 MICROSECOND"
}

func (myStatement) age(at string) string {
	return "TIMESTAMPDIFF(MICROSECOND, " + at + ", UTC_TIMESTAMP(6)) DIV 1000"
}

func (myStatement) limit(n string, skip int) string { return limitOffset(n, skip) }

func (myStatement) bytes(column string) string { return "OCTET_LENGTH(" + column + ")" }

// anyInt writes the numbers out: what the driver would do with parameters, too.
func (myStatement) anyInt(_ *statement, expr string, list []int64) string {
	if len(list) == 0 {
		return "1 = 0"
	}
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return expr + " IN (" + strings.Join(texts, ",") + ")"
}

func (myStatement) anyText(s *statement, expr string, list []string) string {
	if len(list) == 0 {
		return "1 = 0"
	}
	params := make([]string, len(list))
	for i, text := range list {
		params[i] = s.arg(text)
	}
	return expr + " IN (" + strings.Join(params, ", ") + ")"
}

func (myStatement) table(param, alias string, fields []field) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		typ := "BIGINT"
		if f.text {
			typ = "VARCHAR(1000) CHARACTER SET utf8mb4"
		}
		columns[i] = f.name + " " + typ + " PATH '$." + f.name + "'"
	}
	return "JSON_TABLE(" + param + ", '$[*]' COLUMNS (" + strings.Join(columns, ", ") + ")) AS " + alias
}

func (myStatement) lock(skip bool) (hint, suffix string) { return "", forUpdate(skip) }
