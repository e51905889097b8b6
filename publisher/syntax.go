package publisher

import "strconv"

// syntax is how an engine writes what every statement needs. It has no state. All instants are UTC and the database's own.
type syntax interface {
	// quote returns name as a quoted identifier.
	quote(name string) string
	// param returns the n-th parameter, n from 1, and what is bound to it. A list may have any length.
	param(n int, v any, list bool) (text string, bound any)
	// now is the clock at the statement; later is it plus an expression of milliseconds, earlier the same minus.
	now() string
	later(ms string) string
	earlier(ms string) string
	// age is how many milliseconds an instant lies back, as an integer; negative in the future.
	age(at string) string
	// limit stands behind ORDER BY, which must be there. It passes over skip rows.
	limit(n string, skip int) string
	// bytes is the length of a text column in bytes, or a little less, found without reading it where that is possible.
	bytes(column string) string
	// anyInt and anyText are that an expression is one of a list, which is one parameter; MySQL writes the list out.
	anyInt(s *statement, expr string, list []int64) string
	anyText(s *statement, expr string, list []string) string
	// table is a table expression over a parameter that holds a JSON array of objects.
	table(param, alias string, fields []field) string
	// lock makes a SELECT of one table lock its rows until the transaction ends: hint stands behind the table and its alias,
	// suffix at the end of the statement. skip leaves rows out that are locked already.
	lock(skip bool) (hint, suffix string)
}

// field is a member of the objects in a JSON array.
type field struct {
	name string
	text bool // varchar(1000) at most; otherwise a bigint
}

// limitOffset is limit for engines that have LIMIT.
func limitOffset(n string, skip int) string {
	if skip == 0 {
		return " LIMIT " + n
	}
	return " LIMIT " + n + " OFFSET " + strconv.Itoa(skip)
}

// forUpdate is the suffix of lock for engines that have FOR UPDATE.
func forUpdate(skip bool) string {
	if skip {
		return " FOR UPDATE SKIP LOCKED"
	}
	return " FOR UPDATE"
}
