package statement

import (
	"strconv"
	"time"
)

// Syntax is how an engine writes what every statement needs. It has no state. All instants are UTC and the database's
// own.
type Syntax interface {
	// Quote returns name as a quoted identifier.
	Quote(name string) string
	// Param returns the n-th parameter, n from 1, and what is bound to it. A list may have any length.
	Param(n int, v any, list bool) (text string, bound any)
	// Now is the clock at the statement; later is it plus an expression of milliseconds, earlier the same minus.
	Now() string
	Later(ms string) string
	Earlier(ms string) string
	// Age is how many milliseconds an instant lies back, as an integer; negative in the future.
	Age(at string) string
	// Limit stands after ORDER BY, which must be there. It passes over skip rows.
	Limit(n string, skip int) string
	// Bytes is the length of a text column in bytes, or a little less, found without reading it where that is
	// possible.
	Bytes(column string) string
	// AnyInt and anyText are that an expression is one of a list, which is one parameter; MySQL writes the list out.
	AnyInt(s *Statement, expr string, list []int64) string
	AnyText(s *Statement, expr string, list []string) string
	// Table is a table expression over a parameter that holds a JSON array of objects.
	Table(param, alias string, fields []Field) string
	// Lock makes a SELECT of one table lock its rows until the transaction ends: hint stands after the table and its
	// alias, suffix at the end of the statement. skip leaves rows out that are locked already.
	Lock(skip bool) (hint, suffix string)
}

// Field is a member of the objects in a JSON array.
type Field struct {
	Name string
	Text bool // varchar(1000) at most; otherwise a bigint
}

// LimitOffset is limit for engines that have LIMIT.
func LimitOffset(n string, skip int) string {
	if skip == 0 {
		return " LIMIT " + n
	}
	return " LIMIT " + n + " OFFSET " + strconv.Itoa(skip)
}

// ForUpdate is the suffix of lock for engines that have FOR UPDATE.
func ForUpdate(skip bool) string {
	if skip {
		return " FOR UPDATE SKIP LOCKED"
	}
	return " FOR UPDATE"
}

// Text is a field of text.
func Text(name string) Field { return Field{name, true} }

// Int is a field of integers.
func Int(name string) Field { return Field{name, false} }

// updateFrom is an UPDATE with a join for engines that have UPDATE … FROM.
func updateFrom(table, alias, set, from, where string) string {
	return "UPDATE " + table + " AS " + alias + " SET " + set + " FROM " + from + " WHERE " + where
}

// UpdateWhere begins an UPDATE of the rows whose column is one of list, for engines that do not lock what a statement
// only looks at.
func UpdateWhere(s *Statement, table Name, set func() string, column string, list []int64) {
	s.Add("UPDATE ", table.String(), " SET ", set(), " WHERE ")
	s.Add(s.Syntax.AnyInt(s, column, list))
}

// Seconds are those of a duration, rounded up.
func Seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
